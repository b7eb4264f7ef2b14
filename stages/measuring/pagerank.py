"""PageRank of a stored graph, as the stage `centrality` computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.artifacts import Batches, Centrality, CompressedGraph, Partition
from gravel.stages.context import Context, written
from gravel.stages.errors import StageError
from gravel.stages.measuring.flow import flow_of, is_weighted
from gravel.stages.measuring.graph import put_together
from gravel.stages.traversal.graph import permutation_of
from gravel.stages.traversal.parameters import VertexSources
from gravel.stages.turning import direction_in

if TYPE_CHECKING:
    from gravel.stages.measuring.graph import Stored
    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.stage import Machine


def pagerank_of(
    context: Context, parameters: CentralityParameters, stored: Stored, machine: Machine
) -> tuple[Centrality, Batches]:
    """Compute the ranks of all vertices; raises `StageError` where they do not converge."""
    import numpy

    from gravel.kernels.pagerank import NotConverged, pagerank
    from gravel.stages.traversal.preparation import check_sources

    if isinstance(stored, Partition) or (
        isinstance(stored, CompressedGraph) and stored.subgraphs is not None
    ):
        stored = put_together(stored, permutation_of(stored))
        context.log("the ranks' subgraphs were put together again")
    chosen, jumps = None, None
    if isinstance(parameters.personalization, VertexSources):
        chosen = check_sources(parameters.personalization.vertices, stored.vertex_count)
        jumps = numpy.zeros(stored.vertex_count)
        jumps[chosen] = 1.0
    direction = direction_in(stored, parameters.direction)
    try:
        weighted = is_weighted(stored, parameters.by)
        flow = flow_of(stored, direction, machine, weighted=weighted)
        context.log(f"rows of layout {flow.rows.layout} are pulled, by {'weights' if weighted else 'arcs'}")
        found = pagerank(
            flow.rows,
            flow.outgoing,
            flow.weights,
            damping=parameters.damping,
            tolerance=parameters.tolerance,
            max_iterations=parameters.max_iterations,
            personalization=flow.in_rows(jumps),
            progress=lambda done, total: context.progress(done, total, "iterations"),
        )
    except NotConverged as error:
        raise StageError(str(error), hint="allow more max_iterations, or a larger tolerance") from None
    except ValueError as error:
        raise StageError(str(error), hint="take `by: arcs`, or change the weights") from None
    context.log(f"converged after {found.iterations} iterations with the residual {found.residual:.3g}")
    values = flow.in_order(found.rank)
    ranks = Centrality(
        measure=parameters.measure,
        value=written(context, values),
        vertex_count=stored.vertex_count,
        direction=direction,
        convergence={
            "iterations": found.iterations,
            "residual": found.residual,
            "damping": parameters.damping,
            "tolerance": parameters.tolerance,
            "by": "weights" if weighted else "arcs",
            "personalization": None if chosen is None else chosen.tolist(),
        },
    )
    whole = {"sources": len(values), "began": 0.0, "milliseconds": found.milliseconds, "worker": 0}
    return ranks, Batches(
        measure=parameters.measure,
        backend=machine.backend,
        form="pull",
        batches=[{**whole, "resumed": False}],
    )
