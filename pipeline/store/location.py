"""Where the cache lies."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.errors import RequestError

MARKS = (".gravel", "pyproject.toml", ".git")


def find_cache(option: str | None = None) -> Path:
    """Choose the cache folder: the option, else `GRAVEL_CACHE`, else `.gravel` of the project around us.

    The project is the nearest ancestor of the current directory that holds `.gravel`, `pyproject.toml` or
    `.git`; without one it is the current directory. The folder need not exist yet. Raises `RequestError`
    for a URL and for a path that is not a folder.
    """
    named = option or os.environ.get("GRAVEL_CACHE")
    if named and "://" in named:
        raise RequestError(
            f"the cache is given as the URL {named}, and only local folders are served",
            hint="give --cache a local folder; caches in object stores come with a later version",
        )
    root = Path(named).expanduser() if named else _project() / ".gravel"
    if not root.is_absolute():
        root = Path.cwd() / root
    if root.exists() and not root.is_dir():
        raise RequestError(
            f"the cache {root} is a file, and a folder is needed",
            hint="choose another with --cache, or move the file away",
        )
    return root


def _project() -> Path:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if any((folder / mark).exists() for mark in MARKS):
            return folder
    return here
