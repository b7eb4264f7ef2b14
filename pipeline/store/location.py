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
    for a path that is not a folder or cannot be read, and for a URL that names no remote cache.

    For the URL of a remote cache (`s3://bucket/prefix`) it is the folder of its local tier, which is made and
    tied to it: below `GRAVEL_LOCAL_TIER`, else `$XDG_CACHE_HOME/gravel`, else `~/.cache/gravel`.
    """
    named = option or os.environ.get("GRAVEL_CACHE")
    if named and "://" in named:
        from pipeline.store.objects import check_url
        from pipeline.store.remote import tie

        url = check_url(named)
        return tie(_usable(_tier(url)), url)
    # An unknown user's ~name is left as it is.
    root = Path(os.path.expanduser(named)) if named else _project() / ".gravel"  # noqa: PTH111
    if not root.is_absolute():
        root = Path.cwd() / root
    return _usable(root)


def _tier(url: str) -> Path:
    """Return the folder of a remote cache's local tier; the same URL at another endpoint has another."""
    from blake3 import blake3

    base = os.environ.get("GRAVEL_LOCAL_TIER")
    if not base:
        base = f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/gravel"
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    words = url.removeprefix("s3://").replace("/", "-")[:80]
    name = f"{words}-{blake3(f'{endpoint} {url}'.encode()).hexdigest()[:8]}"
    return Path.cwd() / Path(base).expanduser() / name


def _usable(root: Path) -> Path:
    if root.is_symlink() and not root.exists():
        raise RequestError(
            f"the cache {root} is a link to {os.readlink(root)}, which is not there",  # noqa: PTH115 (a text)
            hint="make what it leads to, or choose another with --cache",
        )
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
