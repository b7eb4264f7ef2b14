"""PageRank of a stored graph, as the stage `centrality` computes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Batches, Centrality, CompressedGraph, Partition
from gravel.stages.context import Context, written
from gravel.stages.errors import StageError
from gravel.stages.measuring.flow import flow_of, is_weighted
from gravel.stages.measuring.graph import put_together
from gravel.stages.measuring.need import estimate
from gravel.stages.measuring.over_ranks import scores_of
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.traversal.graph import permutation_of
from gravel.stages.traversal.parameters import VertexSources
from gravel.stages.turning import direction_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.pagerank import PageRank
    from gravel.stages.measuring.graph import Stored
    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.stage import Machine


def pagerank_of(
    context: Context, parameters: CentralityParameters, stored: Stored, machine: Machine
) -> tuple[Centrality, Batches]:
    """Compute the ranks of all vertices; raises `StageError` where they do not converge."""
    from gravel.kernels.pagerank import NotConverged
    from gravel.stages.traversal.preparation import check_sources

    chosen = None
    if isinstance(parameters.personalization, VertexSources):
        chosen = check_sources(parameters.personalization.vertices, stored.vertex_count)
    direction = direction_in(stored, parameters.direction)
    try:
        weighted = is_weighted(stored, parameters.by)
        if isinstance(stored, Partition) and _is_over_ranks(context, parameters, stored, machine):
            form = "ranks"
            found, values = _over_ranks(context, parameters, stored, chosen)
        else:
            form = "pull"
            found, values = _in_one_place(context, parameters, stored, machine, chosen, weighted=weighted)
    except NotConverged as error:
        raise StageError(str(error), hint="allow more max_iterations, or a larger tolerance") from None
    except ValueError as error:
        raise StageError(str(error), hint="take `by: arcs`, or change the weights") from None
    context.log(f"converged after {found.iterations} iterations with the residual {found.residual:.3g}")
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
        form=form,
        batches=[{**whole, "resumed": False}],
    )


def _is_over_ranks(
    context: Context, parameters: CentralityParameters, stored: Partition, machine: Machine
) -> bool:
    """Say whether ranks find the scores, as the plan stated."""
    striped = stored.scheme == "striped"
    extent = replace(extent_of(stored), ranks=stored.ranks, striped=striped)
    need = estimate(parameters, extent, machine)
    if need.note:
        context.log(need.note)
    return need.workers > 0


def _over_ranks(
    context: Context, parameters: CentralityParameters, stored: Partition, chosen: NDArray[Any] | None
) -> tuple[PageRank, NDArray[Any]]:
    import numpy

    permutation = permutation_of(stored)
    if chosen is not None:
        chosen = numpy.sort(chosen if permutation is None else permutation[chosen])
    where = "on a worker of its own" if context.reserved >= stored.ranks else "in this process"
    context.log(f"each of {stored.ranks} ranks pushes the scores of its vertices, {where}")
    found = scores_of(
        context,
        stored,
        damping=parameters.damping,
        tolerance=parameters.tolerance,
        max_iterations=parameters.max_iterations,
        chosen=chosen,
    )
    return found, found.rank if permutation is None else found.rank[permutation]


def _in_one_place(
    context: Context,
    parameters: CentralityParameters,
    stored: Stored,
    machine: Machine,
    chosen: NDArray[Any] | None,
    *,
    weighted: bool,
) -> tuple[PageRank, NDArray[Any]]:
    import numpy

    from gravel.kernels.pagerank import pagerank

    if isinstance(stored, Partition) or (
        isinstance(stored, CompressedGraph) and stored.subgraphs is not None
    ):
        stored = put_together(stored, permutation_of(stored))
        context.log("the ranks' subgraphs were put together again")
    jumps = None
    if chosen is not None:
        jumps = numpy.zeros(stored.vertex_count)
        jumps[chosen] = 1.0
    flow = flow_of(stored, direction_in(stored, parameters.direction), machine, weighted=weighted)
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
    return found, flow.in_order(found.rank)
