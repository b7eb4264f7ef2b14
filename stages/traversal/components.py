"""Components of a graph, weak or strong ones: measured, and labelled in `symmetrize`'s numbering."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.kernels.algorithms import strategies_for
from gravel.kernels.strategy import COLUMNS, ENCODED
from gravel.stages.errors import StageError
from gravel.stages.traversal.records import asked_of, encoded_record, executed, placement_record, ran_record
from gravel.stages.traversal.strategy import checked_tuning, machine_name
from gravel.stages.traversal.strong import prepared_strong

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.strategy import Ran
    from gravel.stages.artifacts import Measurement, Traversal
    from gravel.stages.context import Context
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

RUNS = 3
"""How often components are found and timed, after one run that compiles."""


def find_components(
    context: Context, graph: SearchedGraph, parameters: TraverseParameters
) -> tuple[Traversal, Measurement]:
    """Label the components once to warm up and `RUNS` times on the clock.

    Raises `StageError` for a strategy or a tuning constant that does not exist for this graph.
    """
    from gravel.kernels.cuda.wake import wake
    from gravel.stages.artifacts import Measurement, Traversal

    strategy, tuning = parameters.strategy, parameters.tuning
    times = []
    exchange: dict[str, Any] = {}
    backend, reason = graph.backend, "asked for" if strategy != "auto" else "it is the default"
    if graph.partition is not None:
        from gravel.stages.ranks.components import prepare_components

        ranked, notes = prepare_components(context, graph, parameters)
        found, times, exchange = ranked.several(1 + RUNS)
        backend, reason, preparing = ranked.backend, ranked.reason, ranked.prepare_milliseconds
        ran = executed(ranked, backend)
        context.progress(1 + RUNS, 1 + RUNS, "runs")
    else:
        ready = prepared_strong if parameters.algorithm == "strong_components" else prepared_find
        find, preparing, notes, code = ready(graph, strategy, tuning)
        ran = ran_record(code, backend)
        for run in range(1 + RUNS):
            if backend == "cuda":
                # Labels may have been copied or graphs read before, and an idle GPU lowers its clocks.
                wake()
            found = find()
            times.append(found.milliseconds)
            context.progress(run + 1, 1 + RUNS, "runs")
            if run < RUNS:
                del found  # so that the next run's labels take no more
    component, back = _labels_back(graph, found.component)
    notes = [*notes, *_passes_notes(found)]
    sink = context.sink(component.dtype)
    sink.append(component)
    ends = graph.arc_count + (0 if graph.extra_ends is None else int(graph.extra_ends.sum()))
    record: dict[str, Any] = {
        "source": None,
        "map_back_milliseconds": back,
        "batch": 1,
        "reached": graph.vertex_count,
        "arcs": graph.arc_count,
        "edges": ends // 2 if graph.symmetric else graph.arc_count,
        "depth": 0,
        "levels": {"vertices": [], "arcs": [], "pulled": []},
        **({"exchange": exchange} if exchange else {}),
    }
    traversal = Traversal(
        algorithm=parameters.algorithm,
        component=sink.close(),
        vertex_count=graph.vertex_count,
        max_depth=None,
        converged=found.converged,
    )
    measurement = Measurement(
        algorithm=parameters.algorithm,
        strategy=found.strategy,
        reason=reason,
        backend=backend,
        hardware=machine_name(context.machine, backend, parameters.threads),
        prepare_milliseconds=preparing,
        searches=[record | {"milliseconds": milliseconds} for milliseconds in times[1:]],
        notes=[*graph.notes, *notes],
        graph=graph.described(),
        ran=ran,
        asked=asked_of(parameters) | placement_record(graph) | encoded_record(graph),
    )
    return traversal, measurement


def _labels_back(graph: SearchedGraph, component: Any) -> tuple[Any, float]:
    """Bring labels to `symmetrize`'s numbering where the search ran, and then to the host; with that time."""
    on_device = graph.backend == "cuda"
    back = 0.0
    if graph.permutation is not None and on_device:
        from gravel.kernels.components.cuda.relabel import components_back as back_on_device

        component, back = back_on_device(graph.permutation, component)
    elif graph.permutation is not None:
        import numpy

        from gravel.kernels.relabel import components_back

        smallest, result = numpy.empty_like(component), numpy.empty_like(component)
        started = time.perf_counter()
        components_back(graph.permutation, component, smallest, result)
        component, back = result, (time.perf_counter() - started) * 1e3
    return component.get() if on_device else component, back


def _passes_notes(found: ComponentsResult) -> list[str]:
    """Say what a strategy that passes over all arcs did."""
    if found.passes is None:
        return []
    passes = f"{found.passes} pass{'' if found.passes == 1 else 'es'} over all arcs"
    if found.converged:
        return [passes]
    return [f"{passes} left components in parts: the labels are not those of whole components"]


def prepared_find(
    graph: SearchedGraph, strategy: str, tuning: dict[str, Any]
) -> tuple[Callable[[], ComponentsResult], float, list[str], Ran]:
    """Return what finds the components, the milliseconds to make it ready, sentences, and what it runs."""
    in_parts = graph.placed is not None and graph.placement == "streamed"
    name = _default(graph, in_parts) if strategy == "auto" else strategy
    if in_parts and name != "streamed":
        raise StageError(
            f"strategy {name!r} does not search rows of placement streamed",
            hint="leave strategy out, or ask for streamed",
        )
    rows, planned = graph.rows, {}
    if in_parts and graph.placed:
        planned = {"buffer_bytes": graph.placed.plan.buffer_bytes}
    elif graph.placed and graph.placed.plan.heads and name == "afforest":
        plan = graph.placed.plan
        rows, planned = _as_rows(graph), {"rounds": plan.heads, "keep": plan.keep}
    layout = COLUMNS if rows is None else ENCODED
    try:
        constants, notes = checked_tuning("components", name, graph.backend, tuning, layout)
        ran = strategies_for("components", layout)[name].ran(graph.backend, planned | constants)
        if rows is not None:
            from gravel.kernels.components import prepare_rows

            given: dict[str, Any] = {"symmetric": graph.symmetric, "strategy": name, **planned, **constants}
            # What compiles while rows are made ready must not count as their preparation.
            prepare_rows(rows, **given)
            search = prepare_rows(rows, **given)
            return search.run, search.prepare_milliseconds, notes + getattr(search, "notes", []), ran
    except ValueError as error:
        raise StageError(str(error)) from None
    return partial(_run, graph, name, planned | constants), 0.0, notes, ran


def _as_rows(graph: SearchedGraph) -> EncodedRows:
    """Columns as rows, of which the device keeps first neighbours; encoded rows are themselves."""
    import numpy

    from gravel.kernels.layouts import EncodedRows

    if graph.rows is not None:
        return graph.rows
    arrays = {"row_offsets": graph.row_offsets, "column_indices": graph.columns}
    dtype = numpy.dtype(graph.columns.dtype)
    return EncodedRows("csr", graph.vertex_count, graph.arc_count, dtype, arrays)


def _default(graph: SearchedGraph, in_parts: bool) -> str:
    from gravel.kernels.components import default_on

    if in_parts:
        return "streamed"
    if graph.placed and graph.placed.plan.heads:
        return "afforest"
    return default_on(graph.backend, graph.vertex_count) if graph.rows is None else "afforest"


def _run(graph: SearchedGraph, strategy: str, constants: dict[str, Any]) -> ComponentsResult:
    from gravel.kernels.components import components

    try:
        return components(
            graph.row_offsets, graph.columns, symmetric=graph.symmetric, strategy=strategy, **constants
        )
    except ValueError as error:
        raise StageError(str(error)) from None
