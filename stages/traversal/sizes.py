"""Widths and counts that a traversal's parameters and its graph decide: of labels, columns and searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.traverse import TraverseParameters

MOST_SEARCHES = 64
"""Of one batch of `gravel.kernels.bfs.multi_source`, each with its labels."""

COUNTED_AT_ONCE = 1 << 22
"""Vertices whose arcs are counted at once on the device, from row offsets and their differences, 64 MiB."""


def width_of(vertices: int) -> int:
    """Bytes of a column, and of a permutation's or a component's number."""
    return 4 if vertices < 1 << 32 else 8


def device_label_bytes(parameters: TraverseParameters, width: int) -> int:
    """Bytes of a vertex's labels on the device: distances alone, or keys (gravel.kernels.bfs.cuda.labels)."""
    if parameters.algorithm == "components":
        return width
    return 4 if parameters.output == "distance" else 8 if width == 4 else 20


def label_bytes(parameters: TraverseParameters, width: int, tree: int) -> int:
    """Bytes of a vertex's labels in a result; `tree` is what a predecessor takes."""
    if parameters.output == "checks":
        return 0
    if parameters.algorithm == "components":
        return width
    return (4 if parameters.output != "predecessor" else 0) + (tree if parameters.output != "distance" else 0)


def batch_of(parameters: TraverseParameters) -> int:
    """Count the searches that a strategy makes room for at once: as many as come, or as its tuning says."""
    if parameters.strategy != "multi_source":
        return 1
    return min(search_count(parameters), int(parameters.tuning.get("batch", MOST_SEARCHES)), MOST_SEARCHES)


def search_count(parameters: TraverseParameters) -> int:
    """Count the searches, one for each source."""
    if parameters.algorithm == "components":
        return 1
    sources: Any = parameters.sources
    if isinstance(sources, tuple):
        return len(sources)
    if hasattr(sources, "file"):
        return int(sources.count())
    return int(sources.random) if hasattr(sources, "random") else len(sources.vertices)
