"""The values of each measure, from batches of searches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gravel.stages.measuring.batches import Arrays, Batches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context
    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.traversal.graph import SearchedGraph


def of_vertices(
    context: Context,
    parameters: CentralityParameters,
    graph: SearchedGraph,
    starts: NDArray[Any],
    memory: int,
) -> tuple[NDArray[Any], Batches, str]:
    """Return the measure of each start, from a search of its own; the batches; and their form."""
    from gravel.kernels.distances import many
    from gravel.kernels.distances.aggregates import Aggregates
    from gravel.kernels.distances.closeness import closeness
    from gravel.kernels.distances.in_step import in_step

    found, batches = Aggregates.empty(len(starts)), Batches(context, len(starts))
    form = "none"
    if len(starts):
        order = in_step(graph.row_offsets, graph.columns, starts) if graph.symmetric else None
        sources = starts if order is None else starts[order]
        searches = many.prepare(
            graph.row_offsets,
            graph.columns,
            symmetric=graph.symmetric,
            sources=len(starts),
            max_depth=parameters.hops,
            memory=memory,
        )
        form = "one by one" if searches.independent else f"{searches.batch} together"

        def restore(done: int, state: Arrays) -> None:
            for name, array in _sums(found.part(0, done)).items():
                array[:] = state[name]

        batches.run(
            sources,
            searches.batch,
            lambda first, last: searches.run(sources[first:last], found.part(first, last)),
            lambda done: _sums(found.part(0, done)),
            restore,
            "sums of sources",  # they are the same in every form
        )
        if order is not None:
            found = found.back(order)
    value: NDArray[Any]
    if parameters.measure == "closeness":
        value = closeness(found, graph.vertex_count)
    else:
        name = {"harmonic": "reciprocal", "neighbourhood": "reached"}
        value = getattr(found, name.get(parameters.measure, parameters.measure))
    return value, batches, form


def _sums(found: Any) -> Arrays:
    return {name: getattr(found, name) for name in ("reached", "total", "reciprocal", "eccentricity")}


def all_eccentricities(
    context: Context, graph: SearchedGraph, memory: int
) -> tuple[NDArray[Any], Batches, str]:
    """Return the eccentricities of all vertices by bounds, in the order of the rows.

    A batch is what a step decides, by searches that bound others or by searches from the undecided.
    """
    import numpy

    from gravel.kernels.distances.eccentricity import eccentricities
    from gravel.kernels.placement.device_copies import on_host

    checkpoint, batches = context.checkpoint(), Batches(context, graph.vertex_count, "vertices")
    found = checkpoint.load()
    began = time.perf_counter()

    def progress(done: int, total: int) -> None:
        nonlocal began
        now = time.perf_counter()
        batches.note(done, (now - began) * 1e3)
        began = now

    def keep(lower: Any, upper: Any) -> None:
        checkpoint.save(lambda: {"lower": on_host(lower), "upper": on_host(upper)})

    known = None
    if found is not None:
        known = found["lower"], found["upper"]
        batches.begin([int(numpy.count_nonzero(known[0] == known[1]))], [0.0])
    values = eccentricities(
        graph.row_offsets,
        graph.columns,
        in_parts=True,
        memory=memory,
        progress=progress,
        known=known,
        keep=keep,
    )
    value: NDArray[Any] = on_host(values)
    return value, batches, "bounds"


def all_betweenness(
    context: Context,
    parameters: CentralityParameters,
    graph: SearchedGraph,
    sources: NDArray[Any],
    candidates: int,
    memory: int,
) -> tuple[NDArray[Any], Batches, str]:
    """Return the betweenness of all vertices in the order of the rows, from some of the `candidates`.

    Vertices without arcs are no candidates: they have no share in any path.
    """
    import numpy

    from gravel.kernels.betweenness.sums import arranged, prepare, scale
    from gravel.stages.turning import backward_rows

    batches = Batches(context, len(sources))
    if not len(sources):
        return numpy.zeros(graph.vertex_count), batches, "none"
    rows = graph.row_offsets, graph.columns
    back = rows if graph.symmetric else backward_rows(*rows)[:2]
    sources = arranged(rows, back, sources)
    sums = prepare(rows, back, sources=len(sources), endpoints=parameters.endpoints, memory=memory)
    batches.run(
        sources,
        sums.batch,
        lambda first, last: sums.run(sources[first:last]),
        lambda done: {"sums": sums.get()},
        lambda done, state: sums.set(state["sums"]),
        sums.form,
    )
    factor = scale(
        graph.vertex_count,
        normalized=parameters.normalized,
        directed=not graph.symmetric,
        endpoints=parameters.endpoints,
        sampled=len(sources) / candidates,
    )
    return sums.get() * factor, batches, sums.form
