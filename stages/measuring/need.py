"""Memory that a centrality takes at its peak, and the arrays on the host that the run reckons by, too."""

from __future__ import annotations

from dataclasses import replace

from gravel.kernels.betweenness import buffers as betweenness
from gravel.kernels.buffers import Buffer, Table, exact, table, total
from gravel.kernels.distances.buffers import (
    bounds,
    least_device_bytes,
    own_search,
    own_weighted_search,
    sums_of_sources,
    sums_of_vertices,
    widest,
)
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS
from gravel.stages.measuring.flow import ARCS_HINT, WEIGHTED_RANKS, flow_need
from gravel.stages.measuring.over_ranks import need_of_ranks
from gravel.stages.measuring.parameters import CentralityParameters, count_chosen
from gravel.stages.measuring.rows import Sizes, made_on_host, sizes_of_extent
from gravel.stages.measuring.spreading import need_of_workers, share_of, sums_bytes
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.turning import COMPILED as TURNING
from gravel.stages.turning import turned_extent, with_turning

COMPILED = 126 << 20
"""Measured (tests/drills/stopped.py, scale 14): what Numba takes to compile the searches, and what importing
it does."""

COMPILED_WEIGHTED = 104 << 20
"""The same of searches by weights, and of what reads weights."""

COMPILED_PATHS = 74 << 20
"""The same of betweenness, which compiles one search: 66 MiB with a graph of scale 12, compiled anew."""

BYTES_OF_EDGE = 74
"""Measured: bytes of an arc while `numpy.unique` sorts arcs by their edges; ends, keys, their order twice."""

COPIES = 2
"""Of what a checkpoint has, while it is saved."""


def estimate(parameters: CentralityParameters, stored: Extent, machine: Machine) -> Need:
    """State what the stage takes for a graph."""
    need = _stated(parameters, stored, machine)
    by_weight = parameters.weighted_paths if parameters.measure != "pagerank" else parameters.by != "arcs"
    if stored.kind == "Partition" and stored.weighted and by_weight:
        return replace(need, refusal=f"{WEIGHTED_RANKS}; {ARCS_HINT}")
    return need


def _stated(parameters: CentralityParameters, stored: Extent, machine: Machine) -> Need:
    if parameters.measure == "pagerank":
        weighted = stored.weighted and parameters.by != "arcs"
        personalized = parameters.personalization != "all"
        need = flow_need(stored, parameters.direction, machine, weighted=weighted, personalized=personalized)
        return need_of_ranks(parameters, stored, machine, need)
    read = replace(stored, weighted=stored.weighted and parameters.weighted_paths)
    graph = turned_extent(read, parameters.searched)
    sources = sources_asked(parameters, graph.vertices)
    share = share_of(parameters, machine)
    state, compiled = _distances, COMPILED_WEIGHTED if parameters.weighted_paths else COMPILED
    if parameters.of_paths:
        state, compiled = _betweenness, COMPILED_PATHS
    stated = state(parameters, graph, sources, share)
    if graph.weighted and graph.kind == "CompressedGraph":
        stated = replace(stated, host_bytes=stated.host_bytes + 4 * graph.arcs)
    need = with_turning(stated, read, parameters.searched, compiled=compiled)
    return need_of_workers(parameters, graph, sources, machine, need)


def _outputs(vertices: int, rows: float) -> tuple[Extent, ...]:
    return Extent(kind="Centrality", vertices=vertices, bytes=int(16 * rows)), Extent(kind="Batches", bytes=0)


def _distances(parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine) -> Need:
    n, sizes = graph.vertices, sizes_of_extent(graph)
    outputs = _outputs(n, n if parameters.estimated else sources)
    width = sizes.width
    results = host_bytes(parameters, n, sources)
    if machine.backend == "cuda":
        results += made_on_host(graph, sizes, decoded=False)
        refusal = _too_little(parameters, least_device_bytes(n, width))
        return replace(_on_gpu(parameters, sizes, sources, machine, results, outputs), refusal=refusal)
    made = made_on_host(graph, sizes, decoded=True)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes - made))
    sums = exact(sums_of_vertices(n)) if parameters.estimated else 0
    if parameters.weighted_paths:
        # Whether weights are integers is not known, and both take 8 bytes.
        own = exact(own_weighted_search(n, width, is_float=True))
        threads = max(1, min(machine.threads, sources, (limit - sums) // max(1, own)))
        searches = threads * own + sums
        return Need(results + made + searches, 0, outputs, refusal=_too_little(parameters, own + sums))
    _, _, batch = widest(n, width, max(1, sources), machine.threads, limit, sums)
    own = exact(own_search(n, width)) + sums
    searches = max(batch, machine.threads * own, exact(bounds(n)))
    return Need(results + made + searches, 0, outputs, refusal=_too_little(parameters, own))


def _on_gpu(
    parameters: CentralityParameters,
    sizes: Sizes,
    sources: int,
    machine: Machine,
    host: int,
    outputs: tuple[Extent, ...],
) -> Need:
    """State what rows take where `Sizes.where` puts them, and batches beside them; `host` is the rest."""
    memory, vertices = machine.device_memory, sizes.vertices
    where = sizes.where(memory, max(0, machine.host_memory - host))
    rows = {"decoded": sizes.decoded, "encoded": sizes.encoded}.get(where, 8 * (vertices + 1))
    limit = int(parameters.memory or max(0, memory - rows))
    batch = sizes.batch(sources, encoded=where != "decoded", sums=parameters.estimated)
    if where == "split":
        host, batch = host + sizes.body, batch + sizes.body
    elif where == "streamed":
        host, batch = host + BUFFERS * BUFFER_BYTES, batch + BUFFERS * BUFFER_BYTES
    device = rows + max(exact(bounds(vertices)), min(batch, limit))
    if where == "decoded" and sizes.stream is not None:
        device = max(device, sizes.encoded + sizes.decoded)
    return Need(host, device, outputs)


def _too_little(parameters: CentralityParameters, least: int) -> str:
    """Say that not even one search fits into the memory that is allowed; nothing where it does.

    Bounds of eccentricities may leave nothing to search.
    """
    if parameters.memory is None or least <= parameters.memory or parameters.bounded:
        return ""
    return f"a search takes {least:,} bytes beside the graph, and `memory` is {int(parameters.memory):,}"


def _betweenness(parameters: CentralityParameters, graph: Extent, sources: int, machine: Machine) -> Need:
    n, sources, size = graph.vertices, max(1, sources), sums_bytes(parameters, graph) // 8
    of_edges, sampled = parameters.measure == "edge_betweenness", parameters.sources != "all"
    outputs = _outputs(n, (2 if sampled else 3 / 2) * size if of_edges else n)
    sizes = sizes_of_extent(graph)
    width, rows = sizes.width, sizes.decoded
    # Rows of predecessors, and the tails of arcs that they are made of.
    one_way = graph.directed and not parameters.weighted_paths
    back, tails = (rows, TURNING + width * graph.arcs) if one_way else (0, 0)
    results = back + exact(of_paths(n, size if of_edges else None, sampled=sampled))
    if machine.backend == "cuda":
        results += made_on_host(graph, sizes, decoded=of_edges)
        symmetric = not graph.directed
        batch = total(betweenness.on_device(n, graph.arcs, width, sources, size, symmetric=symmetric))
        limit = int(parameters.memory or max(0, machine.device_memory - rows - back))
        refusal = _too_little(parameters, exact(betweenness.one_by_one(n, width, 1)) + 8 * size)
        device = max(rows + back + min(batch, limit), rows + sizes.encoded)
        return Need(results + tails, device, outputs, refusal=refusal)
    made = made_on_host(graph, sizes, decoded=True)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes - made - back))
    each = exact(betweenness.workspace(n, width, size))
    if parameters.weighted_paths:
        each = exact(betweenness.weighted_workspace(n, width, size, is_float=True))
    threads = max(1, min(machine.threads, sources, (limit - 8 * size) // max(1, each)))
    refusal = _too_little(parameters, each + 8 * size)
    host = results + made + max(tails, threads * each + 8 * size)
    return Need(host, 0, outputs, refusal=refusal)


def sources_asked(parameters: CentralityParameters, vertices: int) -> int:
    """Count the sources of a graph with so many vertices."""
    chosen = parameters.sources if parameters.of_paths or parameters.estimated else parameters.vertices
    return vertices if isinstance(chosen, str) else min(vertices, count_chosen(chosen))


def compiled(nbytes: int) -> Table:
    """What Numba takes, as it was measured."""
    return (Buffer("compiled", "u1", nbytes, place="host"),)


def of_sources(vertices: int, sources: int) -> Table:
    """What is found of each source, in the order of searches and in that of sources, and saved."""
    found = sums_of_sources(sources)
    first_offsets = table("host", first_offsets=("i8", vertices))
    return (*first_offsets, *(2 + COPIES) * found)


def of_sample(vertices: int) -> Table:
    """What is found of each vertex over sampled sources, of all and of a batch, and saved; or estimates."""
    found, number = sums_of_vertices(vertices), ("f8", vertices)
    names = (
        *("own", "others", "asked", "there", "mean", "value", "error", "spread", "part", "product"),
        *("kept_value", "kept_error", "rounded"),
    )
    estimates = table("host", **dict.fromkeys(names, number))
    more = max((1 + COPIES) * found, estimates, key=lambda each: sum(row.nbytes for row in each))
    first_offsets = table("host", first_offsets=("i8", vertices), candidates=("u1", (2, vertices)))
    return (*first_offsets, *found, *more)


def of_paths(vertices: int, arcs: int | None, *, sampled: bool) -> Table:
    """What betweenness has beside its searches: of vertices, or of so many arcs, which are sorted by edges.

    The errors of a `sampled` one are found when nothing is saved.
    """
    number = ("i8", vertices)
    rows = table("host", first_offsets=number, sources=number, value=("f8", vertices))
    if arcs is not None:
        error = table("host", error=("f8", 2 * arcs if sampled else 0))
        sorting = (Buffer("sorting", "u1", BYTES_OF_EDGE * arcs, place="host"),)
        return (*compiled(COMPILED_PATHS), *rows, *sorting, *error)
    return (*compiled(COMPILED_PATHS), *rows, *table("host", saved=("f8", (1 + COPIES, vertices))))


def host_bytes(parameters: CentralityParameters, vertices: int, sources: int) -> int:
    """State what a measure by distances takes on the host beside rows and searches."""
    found = of_sample(vertices) if parameters.estimated else of_sources(vertices, sources)
    return exact((*compiled(COMPILED_WEIGHTED if parameters.weighted_paths else COMPILED), *found))
