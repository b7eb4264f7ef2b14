"""centrality: measures of vertices by their distances to all others, from many searches at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.kernels.betweenness import sizes as betweenness_sizes
from gravel.kernels.distances.sizes import device_bytes, queue_bytes, widest
from gravel.stages.artifacts import Graph
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.measuring.spreading import demanded, need_of_workers, share_of
from gravel.stages.stage import Extent, Machine, Need, Slot, Stage
from gravel.stages.traversal.parameters import RandomSources, VertexSources

if TYPE_CHECKING:
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.context import Context

COMPILED = 126 << 20
"""Measured (tests/drills/stopped.py, scale 14): what Numba takes to compile the searches, and what importing
it does."""

BETWEENNESS_COMPILED = 84 << 20
"""The same for betweenness, which compiles one search."""

OF_ROWS = ("betweenness", "eccentricity")
"""Measures that are computed for all vertices together, in the order of the rows."""

BOUNDS = 96
"""Bytes of a vertex for one search and for the bounds of eccentricities, with copies while they change."""


def centrality(
    context: Context,
    parameters: CentralityParameters,
    *,
    input: Graph,  # noqa: A002
) -> tuple[Centrality, Batches]:
    """Search from all vertices asked for, in batches, and keep the measure of each.

    Every few seconds the batches that are done are kept as a checkpoint, which a later run goes on from.

    Raises `StageError` for a directed graph, a vertex that does not exist, memory that is too small, and more
    shortest paths than a float64 holds.
    """
    import numpy

    from gravel.kernels.betweenness.interface import TooManyPaths
    from gravel.kernels.distances.interface import TooNarrow
    from gravel.kernels.threads import set_threads
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.errors import StageError
    from gravel.stages.measuring.over_workers import over_reserved
    from gravel.stages.measuring.values import all_betweenness, all_eccentricities, of_vertices
    from gravel.stages.traversal.opening import check_sources, draw_sources, read_graph

    if not input.symmetric:
        raise StageError(
            f"{parameters.measure} is defined here for undirected graphs, and this one is directed",
            hint="symmetrize with direction: both",
        )
    set_threads(context.machine.threads)
    asked, chosen = parameters.vertices, None
    graph = read_graph(input, context.machine)
    if isinstance(asked, RandomSources):
        chosen = numpy.sort(draw_sources(graph.first_offsets, asked.random, asked.seed))
    elif isinstance(asked, VertexSources):
        chosen = check_sources(asked.vertices, graph.vertex_count)
    everything = numpy.arange(graph.vertex_count) if chosen is None else chosen
    starts = everything if graph.permutation is None else graph.permutation[everything]
    memory = parameters.memory or _free(graph, context.machine)
    over = over_reserved(context, parameters, input, graph, memory)
    try:
        if parameters.measure == "betweenness":
            candidates = numpy.flatnonzero(numpy.diff(graph.first_offsets))
            sources = candidates
            if isinstance(parameters.sources, RandomSources):
                drawn = draw_sources(graph.first_offsets, parameters.sources.random, parameters.sources.seed)
                sources = numpy.sort(drawn)
            if graph.permutation is not None:
                sources = graph.permutation[sources]
            found = all_betweenness(context, parameters, graph, sources, len(candidates), memory, over)
        elif parameters.measure == "eccentricity" and chosen is None:
            found = all_eccentricities(context, graph, memory)
        else:
            found = of_vertices(context, parameters, graph, starts, memory, over)
    except TooNarrow as error:
        raise StageError(str(error), hint="allow more memory, or use a machine that has it") from None
    except TooManyPaths as error:
        raise StageError(str(error), hint="measure closeness or harmonic centrality instead") from None
    value, batches, form = found
    if len(value) == graph.vertex_count and chosen is None and parameters.measure in OF_ROWS:
        value = value[starts]
    sinks = [context.sink(value.dtype, rows=len(value)), context.sink(numpy.int64, rows=len(starts))]
    sinks[0].append(value)
    if chosen is not None:
        sinks[1].append(chosen)
    measured = Centrality(
        measure=parameters.measure,
        value=sinks[0].close(),
        vertex=None if chosen is None else sinks[1].close(),
        vertex_count=graph.vertex_count,
        hops=parameters.hops,
        sources=batches.total if parameters.measure == "betweenness" else None,
    )
    return measured, Batches(
        measure=parameters.measure,
        backend=graph.backend,
        form=form,
        batches=batches.records(),
        workers=batches.names,
    )


def _free(graph: Any, machine: Machine) -> int:
    there = machine.device_memory if machine.backend == "cuda" else machine.host_memory
    return int(there - graph.row_offsets.nbytes - graph.columns.nbytes)


def _estimate(
    parameters: CentralityParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    asked = parameters.sources if parameters.measure == "betweenness" else parameters.vertices
    sources = graph.vertices if asked == "all" else _count(asked)
    need = _on_one(parameters, graph, sources, share_of(parameters, machine))
    return need_of_workers(parameters, graph, sources, machine, need)


def _on_one(parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine) -> Need:
    n = graph.vertices
    width = 4 if n < 1 << 32 else 8
    rows = n if parameters.measure == "betweenness" else sources
    outputs = (Extent(kind="Centrality", vertices=n, bytes=16 * rows), Extent(kind="Batches", bytes=0))
    if parameters.measure == "betweenness":
        return _betweenness(parameters, graph, max(1, sources), machine, outputs)
    # A checkpoint copies the sums of the sources twice.
    results = COMPILED + graph.bytes + 8 * n + (64 + 2 * 32) * sources
    if machine.backend == "cuda":
        batch = device_bytes(n, graph.arcs, width, sources)
        rows = 8 * n + width * graph.arcs
        limit = int(parameters.memory or max(0, machine.device_memory - rows))
        return Need(results, rows + max(BOUNDS * n, min(batch, limit)), outputs)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes))
    _, _, batch = widest(n, width, max(1, sources), machine.threads, limit)
    own = machine.threads * queue_bytes(n, width)
    return Need(results + max(batch, own, BOUNDS * n), 0, outputs)


def _betweenness(
    parameters: CentralityParameters,
    graph: Extent,
    sources: int,
    machine: Machine,
    outputs: tuple[Extent, ...],
) -> Need:
    n = graph.vertices
    width = 4 if n < 1 << 32 else 8
    # Sources, values, and the sums of a checkpoint, copied twice.
    results = BETWEENNESS_COMPILED + graph.bytes + 8 * n + 16 * n + 24 * n
    if machine.backend == "cuda":
        batch = betweenness_sizes.device_bytes(n, graph.arcs, width, sources, n)
        rows = 8 * n + width * graph.arcs
        limit = int(parameters.memory or max(0, machine.device_memory - rows))
        return Need(results, rows + min(batch, limit), outputs)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes))
    each = betweenness_sizes.thread_bytes(n, width, n)
    threads = max(1, min(machine.threads, sources, (limit - 8 * n) // max(1, each)))
    return Need(results + threads * each + 8 * n, 0, outputs)


def _count(asked: RandomSources | VertexSources | Sequence[int] | str) -> int:
    return asked.random if isinstance(asked, RandomSources) else len(getattr(asked, "vertices", ()))


STAGE = Stage(
    name="centrality",
    version=3,
    about="Computes closeness, harmonic centrality, eccentricities, neighbourhood sizes or betweenness.",
    parameters=CentralityParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the undirected graph")},
    outputs=("Centrality", "Batches"),
    run=centrality,
    estimate=_estimate,
    cuda=True,
    ranks=demanded,
    hidden=frozenset({"memory", "workers"}),
)
