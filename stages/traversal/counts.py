"""What a search reached and gathered, counted outside of the measured time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.kernels.placement.device_copies import on_host
from gravel.stages.traversal.sizes import COUNTED_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult, Search
    from gravel.stages.traversal.graph import SearchedGraph


def reached(
    graph: SearchedGraph,
    source: int,
    result: BFSResult,
    distance: NDArray[Any] | None,
    predecessor: NDArray[Any] | None,
) -> dict[str, Any]:
    """Count what a search reached; source and labels are in `symmetrize`'s numbering."""
    import numpy

    from gravel.kernels.strategy import backend_of

    if distance is None:
        from gravel.kernels.level_statistics import distances_of_tree

        distance = numpy.empty(graph.vertex_count, numpy.int32)
        distances_of_tree(predecessor, source, distance)
    if backend_of(distance) == "cuda":
        vertices, arcs, summed = _sums_on_device(graph, distance)
    else:
        from gravel.kernels.level_statistics import level_sums

        depth = int(distance.max())
        vertices, arcs = numpy.zeros(depth + 1, numpy.int64), numpy.zeros(depth + 1, numpy.int64)
        extra = numpy.empty(0, numpy.int32) if graph.extra_ends is None else on_host(graph.extra_ends)
        summed = level_sums(distance, graph.first_offsets, extra, vertices, arcs)
    pulled = [level for level, way in enumerate(result.directions[: len(vertices)]) if way == "pull"]
    total = int(arcs.sum())
    edges = (total + int(summed)) // 2 if graph.symmetric else total
    return {
        "reached": int(vertices.sum()),
        "arcs": total,
        "edges": edges,
        "depth": len(vertices) - 1,
        "levels": {
            "vertices": vertices.tolist(),
            "arcs": arcs.tolist(),
            "pulled": pulled,
        },
    }


def _sums_on_device(graph: SearchedGraph, distance: Any) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Sum levels there; where rows do not fit, neither may what is counted of all vertices."""
    import numpy

    from gravel.kernels.level_statistics_cuda import level_sums

    if graph.placed is None:
        vertices, arcs, summed = level_sums(distance, *graph.counts_on_device)
        return vertices, arcs, summed
    parts = []
    for first in range(0, graph.vertex_count, COUNTED_AT_ONCE):
        last = min(first + COUNTED_AT_ONCE, graph.vertex_count)
        parts.append(level_sums(distance[first:last], *graph.counts_of(first, last)))
    levels = max(len(vertices) for vertices, _, _ in parts)
    sums = numpy.zeros((2, levels), numpy.int64)
    for vertices, arcs, _ in parts:
        sums[:, : len(vertices)] += vertices, arcs
    return sums[0], sums[1], sum(summed for _, _, summed in parts)


def add_statistics(
    graph: SearchedGraph,
    search: Search,
    starts: Sequence[int],
    records: Sequence[dict[str, Any]],
    max_depth: int | None,
) -> list[str]:
    """Search once more from every source and add what a counting search tells; returns notes.

    `search` was prepared with statistics. Where it counts, each record gets `expanded`,
    `redundant_expansion` and `levels["expanded"]`; that of the first search gets `levels["distinct"]`, the
    vertices that its edge frontiers hold, each once.
    """
    from gravel.kernels.strategy import strategies_in

    strategy = strategies_in("gravel.kernels.bfs")[search.strategy]
    counting = graph.backend in strategy.counts
    for place, (start, record) in enumerate(zip(starts, records, strict=True)):
        if place and not counting:
            break
        result = search.run(start)
        if place == 0:
            record["levels"]["distinct"] = _distinct(graph, start, result)
        if result.expanded is not None:
            followed = sum(record["levels"]["arcs"][:max_depth])
            record["expanded"] = sum(result.expanded)
            record["redundant_expansion"] = record["expanded"] / followed if followed else None
            record["levels"]["expanded"] = list(result.expanded)
    if counting:
        return []
    return [f"{search.strategy} does not count the arcs that it gathers on {graph.backend}"]


def _distinct(graph: SearchedGraph, start: int, result: BFSResult) -> list[int]:
    """Count the vertices that are in each level's edge frontier, without duplicates."""
    import numpy

    from gravel.kernels.level_statistics import distances_of_tree, distinct_neighbours

    distance = on_host(result.distance)
    if distance is None:
        distance = numpy.empty(graph.vertex_count, numpy.int32)
        distances_of_tree(on_host(result.predecessor), start, distance)
    distance = numpy.ascontiguousarray(distance)
    counts = numpy.zeros(int(distance.max()) + 1, numpy.int64)
    order = numpy.argsort(distance, kind="stable")[int((distance < 0).sum()) :]
    offsets, columns = on_host(graph.row_offsets), graph.host_columns()
    distinct_neighbours(order, distance, offsets, columns, counts)
    return counts.tolist()
