"""What a verifier refuses to look at: labels and sources that are not of the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def refuse_labels(shape: tuple[int, ...], *, holder: str = "graph", **labels: Any) -> None:
    """Raise ValueError for labels that are all None, or of another shape.

    The last axis of `shape` counts the vertices that the holder, a graph or a rank, has.
    """
    if all(array is None for array in labels.values()):
        raise ValueError(f"there is neither a {' nor a '.join(labels)} to check")
    for name, array in labels.items():
        if array is not None and tuple(array.shape) != shape:
            found = tuple(array.shape)[len(shape) - 1 :]
            raise ValueError(f"{name} has shape {found}; the {holder} has {shape[-1]} vertices")


def refuse_sources(sources: Iterable[int], vertices: int) -> None:
    """Raise ValueError for a source that is no vertex."""
    for source in sources:
        if not 0 <= source < vertices:
            raise ValueError(f"source {source} is not in the graph, which has {vertices} vertices")
