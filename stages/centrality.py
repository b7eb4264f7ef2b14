"""centrality: measures of vertices by their distances to all others, from many searches at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.betweenness import sizes as betweenness_sizes
from gravel.kernels.distances.sizes import device_bytes, queue_bytes, widest
from gravel.stages.artifacts import Graph
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.stage import Extent, Machine, Need, Slot, Stage
from gravel.stages.traversal.parameters import RandomSources, VertexSources
from gravel.stages.turning import COMPILED as TURNING
from gravel.stages.turning import direction_in, turned_extent, turned_on_host, with_turning

if TYPE_CHECKING:
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.context import Context

COMPILED = 116 << 20
"""Measured: what Numba takes to compile the searches, and what importing it does."""

BETWEENNESS_COMPILED = 84 << 20
"""The same for betweenness, which compiles one search."""

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

    Distances of a directed graph are those from a vertex along arcs with `direction: out`, and those to it
    with `in`. NetworkX's closeness and harmonic centrality of a directed graph are those of `in`. Its
    eccentricity is that of `out`, which NetworkX defines if every vertex reaches all others. Betweenness is
    the same in both of these directions.

    Raises `StageError` for a vertex that does not exist, memory that is too small, and more shortest paths
    than a float64 holds.
    """
    import numpy

    from gravel.kernels.betweenness.interface import TooManyPaths
    from gravel.kernels.distances.interface import TooNarrow
    from gravel.kernels.threads import set_threads
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.errors import StageError
    from gravel.stages.measuring.values import all_betweenness, all_eccentricities, of_vertices
    from gravel.stages.traversal.opening import check_sources, draw_sources, read_graph

    set_threads(context.machine.threads)
    asked, chosen = parameters.vertices, None
    # Distances are counted in arcs.
    direction = direction_in(input, parameters.direction)
    searched = turned_on_host(replace(input, weights=None), direction)
    graph = read_graph(searched, context.machine)
    if isinstance(asked, RandomSources):
        chosen = numpy.sort(draw_sources(graph.first_offsets, asked.random, asked.seed))
    elif isinstance(asked, VertexSources):
        chosen = check_sources(asked.vertices, graph.vertex_count)
    everything = numpy.arange(graph.vertex_count) if chosen is None else chosen
    starts = everything if graph.permutation is None else graph.permutation[everything]
    memory = parameters.memory or _free(graph, context.machine, parameters)
    bounded = parameters.measure == "eccentricity" and chosen is None and graph.symmetric
    try:
        if parameters.measure == "betweenness":
            candidates = numpy.flatnonzero(numpy.diff(graph.first_offsets))
            sources = candidates
            if isinstance(parameters.sources, RandomSources):
                drawn = draw_sources(graph.first_offsets, parameters.sources.random, parameters.sources.seed)
                sources = numpy.sort(drawn)
            if graph.permutation is not None:
                sources = graph.permutation[sources]
            found = all_betweenness(context, parameters, graph, sources, len(candidates), memory)
        elif bounded:
            found = all_eccentricities(context, graph, memory)
        else:
            found = of_vertices(context, parameters, graph, starts, memory)
    except TooNarrow as error:
        raise StageError(str(error), hint="allow more memory, or use a machine that has it") from None
    except TooManyPaths as error:
        raise StageError(str(error), hint="measure closeness or harmonic centrality instead") from None
    value, batches, form = found
    if bounded or parameters.measure == "betweenness":
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
        direction=direction,
    )
    return measured, Batches(
        measure=parameters.measure, backend=graph.backend, form=form, batches=batches.records()
    )


def _free(graph: Any, machine: Machine, parameters: CentralityParameters) -> int:
    there = machine.device_memory if machine.backend == "cuda" else machine.host_memory
    backward = parameters.measure == "betweenness" and not graph.symmetric
    return int(there - (2 if backward else 1) * (graph.row_offsets.nbytes + graph.columns.nbytes))


def _estimate(
    parameters: CentralityParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    read = replace(inputs["input"][0], weighted=False)
    graph = turned_extent(read, parameters.direction)
    n, asked = graph.vertices, parameters.vertices
    sources = n if asked == "all" else _count(asked)
    outputs = (Extent(kind="Centrality", vertices=n, bytes=16 * sources), Extent(kind="Batches", bytes=0))
    state, compiled = _distances, COMPILED
    if parameters.measure == "betweenness":
        state, compiled = _betweenness, BETWEENNESS_COMPILED
    need = state(parameters, graph, machine, outputs)
    return with_turning(need, read, parameters.direction, compiled=compiled)


def _distances(
    parameters: CentralityParameters, graph: Extent, machine: Machine, outputs: tuple[Extent, ...]
) -> Need:
    n, sources = graph.vertices, outputs[0].bytes // 16
    width = 4 if n < 1 << 32 else 8
    # A checkpoint copies the sums of the sources twice.
    results = COMPILED + graph.bytes + 8 * n + (64 + 2 * 32) * sources
    if machine.backend == "cuda":
        batch = device_bytes(n, graph.arcs, width, sources)
        rows = 8 * n + width * graph.arcs
        limit = int(parameters.memory or max(0, machine.device_memory - rows))
        refusal = _too_little(parameters, n // 8 + width * n)
        return Need(results, rows + max(BOUNDS * n, min(batch, limit)), outputs, refusal=refusal)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes))
    _, _, batch = widest(n, width, max(1, sources), machine.threads, limit)
    own = machine.threads * queue_bytes(n, width)
    refusal = _too_little(parameters, queue_bytes(n, width))
    return Need(results + max(batch, own, BOUNDS * n), 0, outputs, refusal=refusal)


def _too_little(parameters: CentralityParameters, least: int) -> str:
    """Say that not even one search fits into the memory that is allowed; nothing where it does.

    Bounds of eccentricities may leave nothing to search.
    """
    bounded = parameters.measure == "eccentricity" and parameters.vertices == "all"
    if parameters.memory is None or least <= parameters.memory or bounded:
        return ""
    return f"a search takes {least:,} bytes beside the graph, and `memory` is {int(parameters.memory):,}"


def _betweenness(
    parameters: CentralityParameters, graph: Extent, machine: Machine, outputs: tuple[Extent, ...]
) -> Need:
    n, asked = graph.vertices, parameters.sources
    sources = max(1, n if asked == "all" else _count(asked))
    width = 4 if n < 1 << 32 else 8
    rows = 8 * n + width * graph.arcs
    # Rows of predecessors, and the tails of arcs that they are made of.
    back, tails = (rows, TURNING + width * graph.arcs) if graph.directed else (0, 0)
    # Sources, values, and the sums of a checkpoint, copied twice.
    results = BETWEENNESS_COMPILED + graph.bytes + back + 8 * n + 16 * n + 24 * n
    if machine.backend == "cuda":
        batch = betweenness_sizes.device_bytes(n, graph.arcs, width, sources, n, symmetric=not graph.directed)
        limit = int(parameters.memory or max(0, machine.device_memory - rows - back))
        refusal = _too_little(parameters, betweenness_sizes.block_bytes(n, width) + 8 * n)
        return Need(results + tails, rows + back + min(batch, limit), outputs, refusal=refusal)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes - back))
    each = betweenness_sizes.thread_bytes(n, width, n)
    threads = max(1, min(machine.threads, sources, (limit - 8 * n) // max(1, each)))
    refusal = _too_little(parameters, each + 8 * n)
    return Need(results + max(tails, threads * each + 8 * n), 0, outputs, refusal=refusal)


def _count(asked: RandomSources | VertexSources | Sequence[int] | str) -> int:
    return asked.random if isinstance(asked, RandomSources) else len(getattr(asked, "vertices", ()))


STAGE = Stage(
    name="centrality",
    version=2,
    about="Computes closeness, harmonic centrality, eccentricities, neighbourhood sizes or betweenness.",
    parameters=CentralityParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph, directed or not")},
    outputs=("Centrality", "Batches"),
    run=centrality,
    estimate=_estimate,
    cuda=True,
    hidden=frozenset({"memory"}),
    added=frozenset({"direction"}),
)
