"""`remote.json`: the store elsewhere that a cache folder is the local tier of."""

from __future__ import annotations

import json
from pathlib import Path

from gravel.pipeline.store.files import LocalFiles

__all__ = ["TIE", "tie", "tied_to"]

TIE = "remote.json"


def tie(root: Path, url: str) -> Path:
    """Make a folder the local tier of a remote cache, and return it."""
    files = LocalFiles(root)
    if tied_to(files.read(TIE)) != url:
        files.replace(TIE, json.dumps({"format": 1, "url": url}).encode())
    return root


def tied_to(found: tuple[bytes, float] | None) -> str | None:
    """Return the URL that the text of a `remote.json` names, or None."""
    try:
        url = json.loads(found[0])["url"] if found is not None else None
    except (ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None
