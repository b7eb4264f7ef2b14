"""Searching rows that do not lie whole in the memory of the backend, and what is recorded of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.traversal.strategy import checked_tuning

if TYPE_CHECKING:
    from gravel.kernels.bfs import Search
    from gravel.kernels.placement import Placed
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traverse import TraverseParameters


def placement_record(graph: SearchedGraph) -> dict[str, Any]:
    """Return the placement for a measurement, unless rows lay in host memory for a search on the CPU."""
    if graph.placed is None and graph.backend == "cpu":
        return {}
    return {"placement": "device" if graph.placed is None else graph.placement}


def prepare_placed(
    graph: SearchedGraph, placed: Placed, parameters: TraverseParameters
) -> tuple[Search, list[str]]:
    """Return a search of pinned or streamed rows and sentences about what it leaves out.

    Raises `StageError` for a strategy or a tuning constant that does not fit.
    """
    from gravel.kernels.strategy import strategies_in

    plan = placed.plan
    name = "streamed" if plan.placement == "streamed" else "host_rows"
    if parameters.strategy not in ("auto", "host_rows", "streamed"):
        raise StageError(
            f"strategy {parameters.strategy!r} does not search rows of placement {plan.placement}",
            hint=f"leave strategy out, or ask for {name}",
        )
    planned: dict[str, Any] = {}
    if plan.placement == "streamed":
        planned = {"buffer_bytes": plan.buffer_bytes}
    elif plan.placement == "split":
        planned = {"heads": plan.heads if graph.symmetric else 0, "keep": plan.keep}
    strategy = strategies_in("gravel.kernels.bfs")[name]
    try:
        constants, notes = checked_tuning("gravel.kernels.bfs", name, graph.backend, parameters.tuning)
        search: Search = strategy.load(graph.backend)(
            graph.row_offsets,
            graph.columns,
            output=parameters.output,
            symmetric=graph.symmetric,
            max_depth=parameters.max_depth,
            **(planned | constants),
        )
    except ValueError as error:
        raise StageError(str(error)) from None
    search.strategy = name
    search.ran = strategy.ran(graph.backend, planned | constants)
    search.reason = plan.reason if parameters.strategy == "auto" else "asked for"
    return search, notes
