"""Where the page of a run lies.

A browser opens it with the rights of a local file, so it has to be one that this user's gravel made. In a
cache that a group shares, the folder of a run belongs to its maker; whoever else asks for the page has it
made among their own files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.report.policy import META
from gravel.pipeline.store.opening import open_file
from gravel.pipeline.store.sharing import is_own, keep_own


def page_path(folder: Path) -> Path:
    """Return where the page of the run of a folder is to be."""
    if is_own(folder.parents[1], folder):
        return folder / "report.html"
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:8]
    return base / "gravel" / "pages" / f"{folder.name}-{key}" / "report.html"


def find_page(folder: Path) -> Path | None:
    """Return the page of a run if it is there, this user's, and has a content security policy."""
    page = page_path(folder)
    try:
        if is_own(folder.parents[1], page):
            root = page.parents[2]
            with open_file(root, page.relative_to(root).as_posix()) as file:
                return page if META.encode() in file.read(1024) else None
    except (OSError, RequestError):
        pass
    return None


def put(path: Path, text: Iterable[str]) -> Path:
    """Write a file of a page's, whole, in place of an older one; `text` comes in pieces."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    root = path.parents[2]
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            if path.parent.parent.name == "runs":
                keep_own(root, unfinished)
            file.writelines(text)
        return unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
