"""Shortest paths, checked on all threads of the CPU with one search in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gravel.kernels.arrays import on_host

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import Graph, Traversal


def checked_paths(graph: Graph, traversal: Traversal) -> Iterator[list[Check]]:
    """Check one search after another; raises ValueError where they are not of this graph."""
    from gravel.kernels.verify.sssp import check_sssp

    offsets, columns, weights = map(on_host, (graph.row_offsets, graph.column_indices, graph.weights))
    for search, source in enumerate(on_host(traversal.sources).tolist()):
        predecessor = None if traversal.predecessor is None else on_host(traversal.predecessor[search])
        distance = on_host(traversal.distance[search])  # type: ignore[index]
        yield check_sssp(offsets, columns, weights, source, distance, predecessor)
