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
    for a URL and for a path that is not a folder or cannot be read.
    """
    named = option or os.environ.get("GRAVEL_CACHE")
    if named and "://" in named:
        raise RequestError(
            f"the cache is given as the URL {named}, and only local folders are served",
            hint="give --cache a local folder; caches in object stores come with a later version",
        )
    # An unknown user's ~name is left as it is.
    root = Path(os.path.expanduser(named)) if named else _project() / ".gravel"  # noqa: PTH111
    if not root.is_absolute():
        root = Path.cwd() / root
    for folder in (root, *root.parents):
        if folder.exists() and not folder.is_dir():
            raise RequestError(
                f"the cache {root} is a file, and a folder is needed"
                if folder == root
                else f"the cache {root} cannot be made, since {folder} is a file",
                hint="choose another with --cache, or move the file away",
            )
    if root.is_dir() and not os.access(root, os.R_OK | os.X_OK):
        raise RequestError(
            f"the cache {root} cannot be read: permission denied", hint="choose another with --cache"
        )
    return root


def _project() -> Path:
    here = Path.cwd()
    for folder in (here, *here.parents):
        if any((folder / mark).exists() for mark in MARKS):
            return folder
    return here
