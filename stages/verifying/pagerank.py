"""PageRank checked on the CPU, by its residual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.kernels.arrays import on_host
from gravel.stages.verifying.checks import verified_components

if TYPE_CHECKING:
    from gravel.stages.artifacts import Centrality, Graph, Verification


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
    return verified_components(checks, "cpu", algorithm="pagerank", what="the ranks")
