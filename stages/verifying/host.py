"""Checks on all threads of the CPU, with one search in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gravel.kernels.arrays import on_host
from gravel.stages.verifying.checks import verified_components, verified_searches

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import Centrality, Graph, Traversal, Verification
    from gravel.stages.context import Context

__all__ = ["ON", "on_host", "verify_on_host"]

ON = "cpu"


def verify_on_host(context: Context, graph: Graph, traversal: Traversal) -> Verification:
    """Check a traversal; raises `VerificationFailed`, and ValueError where it is not of this graph."""
    from gravel.kernels.threads import set_threads

    set_threads(context.machine.threads)
    if traversal.algorithm == "components":
        return _verify_components(graph, traversal)
    if traversal.algorithm == "strong_components":
        return _verify_strong_components(graph, traversal)
    if traversal.algorithm == "shortest_paths":
        return verified_searches(context, traversal, _checked_paths(graph, traversal), ON)
    return verified_searches(context, traversal, _checked_searches(graph, traversal), ON)


def _checked_searches(graph: Graph, traversal: Traversal) -> Iterator[list[Check]]:
    import numpy

    from gravel.kernels.row_blocks import row_blocks
    from gravel.kernels.verify import check_bfs

    row_offsets, columns = on_host(graph.row_offsets), on_host(graph.column_indices)
    blocks = row_blocks(row_offsets)
    for search, source in enumerate(on_host(traversal.sources).tolist()):
        yield check_bfs(
            row_offsets,
            columns,
            source,
            None
            if traversal.distance is None
            else on_host(traversal.distance[search]).astype(numpy.int32, copy=False),
            None if traversal.predecessor is None else on_host(traversal.predecessor[search]),
            symmetric=graph.symmetric,
            max_depth=traversal.max_depth,
            is_sorted=graph.sorted,
            blocks=blocks,
        )


def _checked_paths(graph: Graph, traversal: Traversal) -> Iterator[list[Check]]:
    """Check one search after another; raises ValueError where they are not of this graph."""
    from gravel.kernels.verify.sssp import check_sssp

    offsets, columns, weights = map(on_host, (graph.row_offsets, graph.column_indices, graph.weights))
    for search, source in enumerate(on_host(traversal.sources).tolist()):
        predecessor = None if traversal.predecessor is None else on_host(traversal.predecessor[search])
        distance = on_host(traversal.distance[search])  # type: ignore[index]
        yield check_sssp(offsets, columns, weights, source, distance, predecessor)


def _verify_strong_components(graph: Graph, traversal: Traversal) -> Verification:
    """Check strongly connected components, on one thread."""
    from gravel.kernels.verify.strong_components import check_strong_components

    rows = on_host(graph.row_offsets), on_host(graph.column_indices)
    checks = check_strong_components(*rows, on_host(traversal.component))
    return verified_components(checks, ON, algorithm=traversal.algorithm)


def _verify_components(graph: Graph, traversal: Traversal) -> Verification:
    from gravel.kernels.verify import check_components, check_parts

    arrays = tuple(on_host(each) for each in (graph.row_offsets, graph.column_indices, traversal.component))
    halved = graph.symmetric and graph.sorted
    if traversal.converged:
        return verified_components(check_components(*arrays, symmetric=halved), ON)
    checks, whole = check_parts(*arrays, symmetric=halved)
    return verified_components(checks, ON, whole)


def verify_pagerank(graph: Graph, ranks: Centrality) -> Verification:
    """Check ranks against the graph in the direction that they flow; raises as `verify_on_host` does."""
    import numpy

    from gravel.kernels.verify.pagerank import check_pagerank

    record = ranks.convergence
    weights = graph.weights if record["by"] == "weights" else None
    if record["by"] == "weights" and weights is None:
        raise ValueError("the graph has no weights, by which the ranks were found")
    jumps = record["personalization"]
    checks = check_pagerank(
        on_host(graph.row_offsets),
        on_host(graph.column_indices),
        on_host(weights),
        on_host(ranks.value),
        damping=record["damping"],
        tolerance=record["tolerance"],
        personalization=None if jumps is None else numpy.array(jumps),
    )
    return verified_components(checks, ON, algorithm="pagerank", what="the ranks")
