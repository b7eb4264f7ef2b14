"""The values of each measure, from batches of searches."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.distances.measures import DISTANCE_MEASURES
from gravel.stages.context import differs
from gravel.stages.measuring.batches import Arrays, Batch, Batches, one_by_one
from gravel.stages.measuring.searcher import (
    SUMS,
    SUMS_OF_VERTICES,
    Here,
    Shares,
    dtype_of,
    searcher_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.distances.aggregates import Aggregates
    from gravel.stages.context import Context
    from gravel.stages.measuring.graph import MeasuredGraph
    from gravel.stages.measuring.over_workers import Workers
    from gravel.stages.measuring.parameters import CentralityParameters

Over = Callable[[int], "Workers"]
"""Makes workers ready for so many sources."""


@dataclass(frozen=True)
class Found:
    """Values, the batches that found them, and their form; of edges with their `ends`, (2, edges).

    `error` has the largest standard errors of values that a sample estimates.
    """

    value: NDArray[Any]
    batches: Batches
    form: str
    ends: NDArray[Any] | None = None
    estimate: dict[str, float | None] | None = None
    error: NDArray[Any] | None = None


def sizes_of(graph: MeasuredGraph) -> tuple[int, int]:
    """Return what of a graph a checkpoint states."""
    return graph.vertex_count, graph.arc_count


def of_vertices(
    context: Context,
    parameters: CentralityParameters,
    graph: MeasuredGraph,
    starts: NDArray[Any],
    memory: int,
    over: Over | None,
) -> Found:
    """Find the measure of each start, from a search of its own."""
    from gravel.kernels.distances.aggregates import Aggregates
    from gravel.kernels.distances.in_step import in_step_of_rows

    found = Aggregates.empty(len(starts), dtype=dtype_of(graph))
    batches = Batches(context, len(starts), sizes=sizes_of(graph))
    form = "none"
    if len(starts):
        together = graph.symmetric and graph.weights is None
        order = in_step_of_rows(graph.rows, starts) if together else None
        sources = starts if order is None else starts[order]

        def take(first: int, last: int, sums: Arrays) -> None:
            for name in SUMS:
                getattr(found, name)[first:last] = sums[name]

        with _searches(graph, parameters, len(starts), memory, over) as there:
            form, batches.names = there.form, there.names
            batches.run(
                len(sources),
                there.searched(sources, take),
                lambda done: {name: getattr(found, name)[:done] for name in SUMS},
                lambda done, state: take(0, done, state),
                there.rounding,
            )
        if order is not None:
            found = found.back(order)
    value = DISTANCE_MEASURES[parameters.measure].values(found, graph.vertex_count)
    estimate = None
    if parameters.measure == "average_path_length":
        estimate = _estimate(found, parameters.confidence, graph)
    return Found(value, batches, form, estimate=estimate)


def estimated(
    context: Context,
    parameters: CentralityParameters,
    graph: MeasuredGraph,
    sources: NDArray[Any],
    memory: int,
    over: Over | None,
) -> Found:
    """Estimate the closeness of all vertices in the order of the rows, from sources that rows number."""
    import numpy

    from gravel.kernels.distances.aggregates import VertexAggregates
    from gravel.kernels.distances.closeness import estimate

    n = graph.vertex_count
    sums, batches = (
        VertexAggregates.empty(n, dtype_of(graph)),
        Batches(context, len(sources), sizes=sizes_of(graph)),
    )
    form, first = "none", numpy.diff(graph.first_offsets) > 0
    candidates = first
    if graph.permutation is not None:
        candidates = numpy.empty_like(first)
        candidates[graph.permutation] = first
    if not len(sources):
        return Found(numpy.zeros(n), batches, form)

    def restore(done: int, state: Arrays) -> None:
        sums.forget()
        sums.add(VertexAggregates(*(state[name] for name in SUMS_OF_VERTICES)))

    with _searches(graph, parameters, len(sources), memory, over) as there:
        form, batches.names = there.form, there.names
        batches.run(
            len(sources),
            there.searched(sources, lambda first, last, found: sums.add(VertexAggregates(**found))),
            lambda done: {name: getattr(sums, name) for name in SUMS_OF_VERTICES},
            restore,
            there.rounding,
        )
    value, error = estimate(sums, sources, candidates, least=1.0 if graph.weights is None else 0.0)
    exact = len(sources) == numpy.count_nonzero(candidates)
    return Found(value, batches, form, error=None if exact else error)


def _searches(
    graph: MeasuredGraph, parameters: CentralityParameters, sources: int, memory: int, over: Over | None
) -> AbstractContextManager[Here | Workers]:
    """Return what searches from so many sources: the workers, or this process."""
    if over is not None:
        return over(sources)
    return nullcontext(Here(searcher_of(graph, parameters, sources, memory)))


def _estimate(found: Aggregates, confidence: float, graph: MeasuredGraph) -> dict[str, float | None]:
    import math

    import numpy

    from gravel.kernels.distances.average import mean_distance

    candidates = int(numpy.count_nonzero(numpy.diff(graph.first_offsets)))
    bounds = zip(("value", "low", "high"), mean_distance(found, candidates, confidence), strict=True)
    finite = {name: each if math.isfinite(each) else None for name, each in bounds}
    return {**finite, "confidence": confidence}


def all_eccentricities(context: Context, graph: MeasuredGraph, memory: int) -> Found:
    """Find the eccentricities of all vertices by bounds, in the order of the rows.

    A batch is what a step decides, by searches that bound others or by searches from the undecided.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.distances.eccentricity import eccentricities_of_rows

    checkpoint, batches = (
        context.checkpoint(),
        Batches(context, graph.vertex_count, "vertices", sizes_of(graph)),
    )
    found = checkpoint.load()
    began = time.time()

    def progress(done: int, total: int) -> None:
        nonlocal began
        now = time.time()
        batches.note(Batch(done, began, (now - began) * 1e3))
        began = now

    def keep(lower: Any, upper: Any) -> None:
        checkpoint.save(lambda: {"lower": on_host(lower), "upper": on_host(upper), "sizes": batches.stated()})

    known = None
    bounds = dict.fromkeys(("lower", "upper"), numpy.empty(graph.vertex_count, numpy.int64))
    if found is not None and not batches.is_of(found):
        checkpoint.drop("is of a graph of another size")
    elif found is not None and (name := differs(found, {**bounds, "sizes": found["sizes"]})) is not None:
        checkpoint.drop(f"has {name!r} of another size than this graph")
    elif found is not None:
        known = found["lower"], found["upper"]
        batches.begin([Batch(int(numpy.count_nonzero(known[0] == known[1])), 0.0, 0.0)])
    values = eccentricities_of_rows(
        graph.rows,
        in_parts=True,
        memory=memory,
        split=graph.split,
        progress=progress,
        known=known,
        keep=keep,
    )
    value: NDArray[Any] = on_host(values)
    return Found(value, batches, "bounds")


def all_betweenness(
    context: Context,
    parameters: CentralityParameters,
    graph: MeasuredGraph,
    sources: NDArray[Any],
    candidates: int,
    memory: int,
    over: Over | None,
) -> Found:
    """Find the betweenness of all vertices in the order of the rows, or of edges, from some `candidates`.

    Vertices without arcs are no candidates: they have no share in any path.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.betweenness.edges import sums_of_edges
    from gravel.kernels.betweenness.sums import arranged, sampling_error, scale

    of_arcs = parameters.measure == "edge_betweenness"
    batches, form = Batches(context, len(sources), sizes=sizes_of(graph)), "none"
    rows = graph.columns
    total = numpy.zeros(graph.arc_count if of_arcs else graph.vertex_count)
    if len(sources):
        if graph.symmetric:
            sources = arranged(rows, rows, sources)
        if over is None:
            sums = Shares(graph, parameters, len(sources), memory).sums
            batches.run(
                len(sources),
                one_by_one(len(sources), sums.batch, lambda first, last: sums.run(sources[first:last])),
                lambda done: {"sums": sums.get()},
                lambda done, state: sums.set(state["sums"]),
                sums.form,
            )
            form, total = sums.form, sums.get()
        else:
            with over(len(sources)) as there:
                form, batches.names = there.form, there.names
                batches.run(
                    len(sources),
                    there.searched(sources, lambda first, last, found: _add_up(total, found["parts"])),
                    lambda done: {"sums": total},
                    lambda done, state: numpy.copyto(total, state["sums"]),
                    there.rounding,
                )
        factor = scale(
            graph.vertex_count,
            normalized=parameters.normalized,
            directed=not graph.symmetric,
            endpoints=parameters.endpoints,
            of_arcs=of_arcs,
            sampled=len(sources) / candidates,
        )
        total *= factor

    def error_of(values: NDArray[Any]) -> NDArray[Any] | None:
        if len(sources) == candidates:
            return None
        most = graph.vertex_count - (1 if of_arcs or parameters.endpoints else 2)
        return sampling_error(values, factor, most, len(sources), candidates)

    if not of_arcs:
        return Found(total, batches, form, error=error_of(total))
    ends, values = sums_of_edges(
        on_host(rows[0]),
        on_host(rows[1]),
        total,
        directed=not graph.symmetric,
        permutation=graph.permutation,
    )
    return Found(values, batches, form, ends=ends, error=error_of(values))


def _add_up(total: NDArray[Any], parts: NDArray[Any]) -> None:
    """Add the sums of parts in their order: any other is rounded differently."""
    for part in parts:
        total += part
