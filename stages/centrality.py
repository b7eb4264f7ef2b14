"""centrality: measures of vertices by their distances to all others, from many searches at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.betweenness import sizes as betweenness_sizes
from gravel.kernels.distances.sizes import device_bytes, queue_bytes, widest
from gravel.stages.artifacts import Graph
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.measuring.spreading import demanded, need_of_workers, share_of, sums_bytes
from gravel.stages.stage import Extent, Machine, Need, Slot, Stage
from gravel.stages.traversal.parameters import RandomSources, VertexSources
from gravel.stages.turning import COMPILED as TURNING
from gravel.stages.turning import direction_in, turned_extent, with_turning

if TYPE_CHECKING:
    from gravel.stages.artifacts import Batches, Centrality
    from gravel.stages.context import Context

COMPILED = 126 << 20
"""Measured (tests/drills/stopped.py, scale 14): what Numba takes to compile the searches, and what importing
it does."""

BETWEENNESS_COMPILED = 74 << 20
"""The same for betweenness, which compiles one search: 66 MiB with a graph of scale 12, compiled anew."""

EDGES = 74
"""Measured: bytes of an arc while arcs are sorted by their edges; ends, keys, their order twice, values."""

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
    from gravel.stages.measuring.over_workers import over_reserved
    from gravel.stages.measuring.searcher import read_turned
    from gravel.stages.measuring.values import all_betweenness, all_eccentricities, of_vertices
    from gravel.stages.traversal.opening import check_sources, draw_sources

    set_threads(context.machine.threads)
    asked, chosen = parameters.vertices, None
    graph = read_turned(input, parameters.direction, context.machine)
    if isinstance(asked, RandomSources):
        chosen = numpy.sort(draw_sources(graph.first_offsets, asked.random, asked.seed))
    elif isinstance(asked, VertexSources):
        chosen = check_sources(asked.vertices, graph.vertex_count)
    everything = numpy.arange(graph.vertex_count) if chosen is None else chosen
    starts = everything if graph.permutation is None else graph.permutation[everything]
    memory = parameters.memory or _free(graph, context.machine, parameters)
    over = over_reserved(context, parameters, input, graph, memory)
    bounded = parameters.measure == "eccentricity" and chosen is None and graph.symmetric
    try:
        if parameters.of_paths:
            candidates = numpy.flatnonzero(numpy.diff(graph.first_offsets))
            sources = candidates
            if isinstance(parameters.sources, RandomSources):
                drawn = draw_sources(graph.first_offsets, parameters.sources.random, parameters.sources.seed)
                sources = numpy.sort(drawn)
            if graph.permutation is not None:
                sources = graph.permutation[sources]
            found = all_betweenness(context, parameters, graph, sources, len(candidates), memory, over)
        elif bounded:
            found = all_eccentricities(context, graph, memory)
        else:
            found = of_vertices(context, parameters, graph, starts, memory, over)
    except TooNarrow as error:
        raise StageError(str(error), hint="allow more memory, or use a machine that has it") from None
    except TooManyPaths as error:
        raise StageError(str(error), hint="measure closeness or harmonic centrality instead") from None
    value, batches = found.value, found.batches
    if bounded or parameters.measure == "betweenness":
        value = value[starts]
    vertex, target = (chosen, None) if found.ends is None else found.ends

    def kept(array: Any) -> Any:
        if array is None:
            return None
        sink = context.sink(array.dtype, rows=len(array))
        sink.append(array)
        return sink.close()

    measured = Centrality(
        measure=parameters.measure,
        value=kept(value),
        vertex=kept(vertex),
        target=kept(target),
        vertex_count=graph.vertex_count,
        hops=parameters.hops,
        sources=batches.total if parameters.of_paths else None,
        estimate=found.estimate,
        direction=direction_in(input, parameters.direction),
    )
    return measured, Batches(
        measure=parameters.measure,
        backend=graph.backend,
        form=found.form,
        batches=batches.records(),
        workers=batches.names,
    )


def _free(graph: Any, machine: Machine, parameters: CentralityParameters) -> int:
    there = machine.device_memory if machine.backend == "cuda" else machine.host_memory
    backward = parameters.of_paths and not graph.symmetric
    return int(there - (2 if backward else 1) * (graph.row_offsets.nbytes + graph.columns.nbytes))


def _estimate(
    parameters: CentralityParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    read = replace(inputs["input"][0], weighted=False)
    graph = turned_extent(read, parameters.direction)
    asked = parameters.sources if parameters.of_paths else parameters.vertices
    sources = graph.vertices if asked == "all" else _count(asked)
    share = share_of(parameters, machine)
    state, compiled = _distances, COMPILED
    if parameters.of_paths:
        state, compiled = _betweenness, BETWEENNESS_COMPILED
    stated = state(parameters, graph, sources, share)
    need = with_turning(stated, read, parameters.direction, compiled=compiled)
    return need_of_workers(parameters, graph, sources, machine, need)


def _outputs(vertices: int, rows: int) -> tuple[Extent, ...]:
    return Extent(kind="Centrality", vertices=vertices, bytes=16 * rows), Extent(kind="Batches", bytes=0)


def _distances(parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine) -> Need:
    n, outputs = graph.vertices, _outputs(graph.vertices, sources)
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


def _betweenness(parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine) -> Need:
    n, sources, size = graph.vertices, max(1, sources), sums_bytes(parameters, graph) // 8
    of_edges = parameters.measure == "edge_betweenness"
    outputs = _outputs(n, 3 * size // 2 if of_edges else n)
    width = 4 if n < 1 << 32 else 8
    rows = 8 * n + width * graph.arcs
    # Rows of predecessors, and the tails of arcs that they are made of.
    back, tails = (rows, TURNING + width * graph.arcs) if graph.directed else (0, 0)
    # Sources, values, and the sums of a checkpoint, copied twice; or arcs are sorted by their edges.
    results = BETWEENNESS_COMPILED + graph.bytes + back + 8 * n + 16 * n
    results += EDGES * size if of_edges else 24 * n
    if machine.backend == "cuda":
        batch = betweenness_sizes.device_bytes(
            n, graph.arcs, width, sources, size, symmetric=not graph.directed
        )
        limit = int(parameters.memory or max(0, machine.device_memory - rows - back))
        refusal = _too_little(parameters, betweenness_sizes.block_bytes(n, width) + 8 * size)
        return Need(results + tails, rows + back + min(batch, limit), outputs, refusal=refusal)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes - back))
    each = betweenness_sizes.thread_bytes(n, width, size)
    threads = max(1, min(machine.threads, sources, (limit - 8 * size) // max(1, each)))
    refusal = _too_little(parameters, each + 8 * size)
    return Need(results + max(tails, threads * each + 8 * size), 0, outputs, refusal=refusal)


def _count(asked: RandomSources | VertexSources | Sequence[int] | str) -> int:
    return asked.random if isinstance(asked, RandomSources) else len(getattr(asked, "vertices", ()))


STAGE = Stage(
    name="centrality",
    version=3,
    about="Computes centralities of vertices or edges, eccentricities, neighbourhoods and mean distances.",
    parameters=CentralityParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph, directed or not")},
    outputs=("Centrality", "Batches"),
    run=centrality,
    estimate=_estimate,
    cuda=True,
    ranks=demanded,
    hidden=frozenset({"memory", "workers"}),
    added=frozenset({"direction"}),
)
