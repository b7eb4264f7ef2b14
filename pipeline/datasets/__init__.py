"""Batches: the data sets of a workflow's section `datasets`, their downloads, status and changes.

The section itself, and catalogue files, are read by `gravel.pipeline.workflow.datasets` and
`gravel.pipeline.workflow.catalogue`. `downloads` keeps files from the web under the cache, `summary` says how
each data set of a run fared, `changes` which files came and went since the last run.
"""

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
    from gravel.stages.addresses import shown
    from gravel.stages.errors import StageError

    found = local_copy(cache_root, url)
    if found is None:
        raise StageError(f"{shown(url)} is not fetched yet")
    return found
