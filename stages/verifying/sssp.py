"""Shortest paths, checked on all threads of the CPU with one search in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gravel.kernels.placement.device_copies import on_host
from gravel.stages.verifying.checks import verified_searches
from gravel.stages.verifying.host import ON

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import Graph, Traversal, Verification
    from gravel.stages.context import Context


def verify_paths(context: Context, graph: Graph, traversal: Traversal) -> Verification:
    """Check shortest paths; raises `VerificationFailed`, and ValueError where they are not of this graph."""
    from gravel.kernels.threads import set_threads

    if graph.weights is None or traversal.distance is None:
        raise ValueError("the graph has no weights, by which the traversal's distances were found")
    set_threads(context.machine.threads)
    if context.machine.backend == "cuda":
        context.log("verifying on the CPU, which alone checks shortest paths")
    return verified_searches(context, traversal, _checked(graph, traversal), ON)


def _checked(graph: Graph, traversal: Traversal) -> Iterator[list[Check]]:
    from gravel.kernels.verify.sssp import check_sssp

    offsets, columns, weights = map(on_host, (graph.row_offsets, graph.column_indices, graph.weights))
    for search, source in enumerate(on_host(traversal.sources).tolist()):
        predecessor = None if traversal.predecessor is None else on_host(traversal.predecessor[search])
        distance = on_host(traversal.distance[search])  # type: ignore[index]
        yield check_sssp(offsets, columns, weights, source, distance, predecessor)
