"""Shortest paths between pairs of vertices of a graph that was read, in `symmetrize`'s numbering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.weights import unusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gravel.kernels.point_to_point.interface import PairQueries, Paths
    from gravel.stages.traversal.graph import SearchedGraph

HOST_BYTES = 90
"""Of each vertex, of a pair that a thread of the CPU searches: words, rounds and marks of two, and queues."""

ANSWERED = 1 << 12
"""Pairs after which progress is reported."""


def pair_bytes(vertices: int, arcs: int, backend: str) -> int:
    """Count what each pair takes that is searched side by side with others, with the widest words."""
    if backend != "cuda":
        return HOST_BYTES * vertices
    from gravel.kernels.point_to_point.cuda import bytes_of_pair

    return bytes_of_pair(vertices, arcs, 4 if vertices < 1 << 32 else 8, 8)


def prepare_pairs(
    graph: SearchedGraph, weights: Any | None, room: int, direction: str = "out"
) -> PairQueries:
    """Make a graph ready, with the weights of its arcs or None to count arcs.

    `room` is the bytes that pairs may take, on the device or the host. `direction` is that in which the graph
    was turned, for errors. Raises `StageError` where not one
    fits, for rows that are not whole in memory, and for weights that are negative or NaN.
    """
    import numpy

    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.point_to_point import prepare
    from gravel.stages.turning import backward_rows

    if graph.placed is not None:
        raise StageError(
            f"paths need rows that lie whole in memory, and they are {graph.placement}",
            hint="give the run more memory, or search with backend: cpu",
        )
    each = pair_bytes(graph.vertex_count, graph.arc_count, graph.backend)
    at_once = room // max(1, each)
    if at_once < 1:
        raise StageError(
            f"the search of a pair takes {each:,} bytes, and {max(0, room):,} are free",
            hint="allow more memory, or use a machine that has it",
        )
    rows: tuple[Any, Any, Any] = graph.row_offsets, graph.columns, weights
    there = on_device if graph.backend == "cuda" else numpy.asarray
    reverse = None if graph.symmetric else backward_rows(*rows)
    if weights is not None:
        rows = (*rows[:2], there(weights))
    try:
        return prepare(*rows, reverse=reverse, at_once=at_once)
    except ValueError as error:
        raise unusable(error, graph.permutation, direction) from None


def find_between(
    graph: SearchedGraph,
    queries: PairQueries,
    sources: Any,
    targets: Any,
    *,
    path: bool,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Paths:
    """Search between pairs; vertices of paths come back in the numbering that the pairs have."""
    import numpy

    from gravel.kernels.point_to_point.interface import Paths
    from gravel.kernels.relabel import invert

    ends = numpy.asarray(sources, numpy.int64), numpy.asarray(targets, numpy.int64)
    if graph.permutation is not None:
        ends = graph.permutation[ends[0]].astype(numpy.int64), graph.permutation[ends[1]].astype(numpy.int64)
    found: list[Any] = []
    for low in range(0, max(1, len(ends[0])), ANSWERED):
        found.append(queries.run(*(each[low : low + ANSWERED] for each in ends), path=path))
        progress(min(low + ANSWERED, len(ends[0])), len(ends[0]))
    length = numpy.concatenate([part.length for part in found])
    milliseconds = sum(part.milliseconds for part in found)
    if not path:
        return Paths(length, None, None, milliseconds)
    sizes = numpy.concatenate([[0], *(numpy.diff(part.offsets) for part in found)])
    vertices = numpy.concatenate([part.vertices for part in found])
    if graph.permutation is not None:
        inverse = numpy.empty_like(graph.permutation)
        invert(graph.permutation, inverse)
        vertices = inverse[vertices].astype(numpy.int64)
    return Paths(length, numpy.cumsum(sizes), vertices, milliseconds)
