"""`remote.json`: the store elsewhere that a cache folder is the local tier of."""

from __future__ import annotations

import json
from pathlib import Path

from gravel.pipeline.store.files import LocalFiles

__all__ = ["LINK_FILE", "link_remote", "linked_url"]

LINK_FILE = "remote.json"


def link_remote(root: Path, url: str) -> Path:
    """Make a folder the local tier of a remote cache, and return it."""
    files = LocalFiles(root)
    if linked_url(files.read(LINK_FILE)) != url:
        files.replace(LINK_FILE, json.dumps({"format": 1, "url": url}).encode())
    return root


def linked_url(found: tuple[bytes, float] | None) -> str | None:
    """Return the URL that the text of a `remote.json` names, or None."""
    try:
        url = json.loads(found[0])["url"] if found is not None else None
    except (ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None
