"""What was downloaded of a URL, for those that do not download."""

from __future__ import annotations

from pathlib import Path

__all__ = ["fetched_copy", "local_copy"]


def local_copy(cache_root: Path, url: str) -> str | None:
    """Return the path of what was downloaded of a URL, whatever its server has now; None if nothing was."""
    from gravel.pipeline.datasets.downloads import Downloads

    found = Downloads(cache_root).find(url)
    return None if found is None else str(found.path)


def fetched_copy(cache_root: Path, url: str) -> str:
    """Return the same; raises StageError where nothing was, so that sizes are not asked of the network."""
    from gravel.stages.errors import StageError
    from gravel.stages.urls import shown

    found = local_copy(cache_root, url)
    if found is None:
        raise StageError(f"{shown(url)} is not fetched yet")
    return found
