"""Memory that a centrality takes at its peak, from the size of its graph and what is asked."""

from __future__ import annotations

from dataclasses import replace

from gravel.kernels.betweenness import buffers as betweenness
from gravel.kernels.buffers import exact, total
from gravel.kernels.distances.buffers import least_device_bytes, own_search, widest
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS
from gravel.stages.measuring.flow import flow_need
from gravel.stages.measuring.host_need import COMPILED, host_bytes, sources_asked
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.measuring.rows import Sizes, made_on_host, sizes_of_extent
from gravel.stages.measuring.spreading import need_of_workers, share_of, sums_bytes
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.turning import COMPILED as TURNING
from gravel.stages.turning import turned_extent, with_turning

BETWEENNESS_COMPILED = 74 << 20
"""The same as `host_need.COMPILED` for betweenness, which compiles one search: 66 MiB with a graph of scale
12, compiled anew."""

EDGES = 74
"""Measured: bytes of an arc while arcs are sorted by their edges; ends, keys, their order twice, values."""

BOUNDS = 96
"""Bytes of a vertex for one search and for the bounds of eccentricities, with copies while they change."""


def estimate(parameters: CentralityParameters, stored: Extent, machine: Machine) -> Need:
    """State what the stage takes for a graph."""
    if parameters.measure == "pagerank":
        weighted = stored.weighted and parameters.by != "arcs"
        personalized = parameters.personalization != "all"
        return flow_need(stored, parameters.direction, machine, weighted=weighted, personalized=personalized)
    read = replace(stored, weighted=False)
    graph = turned_extent(read, parameters.direction)
    sources = sources_asked(parameters, graph.vertices)
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
    n, outputs, sizes = graph.vertices, _outputs(graph.vertices, sources), sizes_of_extent(graph)
    width = sizes.width
    results = host_bytes(n, sources)
    if machine.backend == "cuda":
        results += made_on_host(graph, sizes, decoded=False)
        refusal = _too_little(parameters, least_device_bytes(n, width))
        return replace(_on_gpu(parameters, sizes, sources, machine, results, outputs), refusal=refusal)
    made = made_on_host(graph, sizes, decoded=True)
    limit = int(parameters.memory or max(0, machine.host_memory - graph.bytes - made))
    _, _, batch = widest(n, width, max(1, sources), machine.threads, limit)
    own = exact(own_search(n, width))
    refusal = _too_little(parameters, own)
    return Need(results + made + max(batch, machine.threads * own, BOUNDS * n), 0, outputs, refusal=refusal)


def _on_gpu(
    parameters: CentralityParameters,
    sizes: Sizes,
    sources: int,
    machine: Machine,
    host: int,
    outputs: tuple[Extent, ...],
) -> Need:
    """State what rows take where `Sizes.where` puts them, and batches beside them; `host` is the rest."""
    memory, bounds = machine.device_memory, BOUNDS * sizes.vertices
    where = sizes.where(memory, max(0, machine.host_memory - host))
    rows = {"decoded": sizes.decoded, "encoded": sizes.encoded}.get(where, 8 * (sizes.vertices + 1))
    limit = int(parameters.memory or max(0, memory - rows))
    batch = sizes.batch(sources, encoded=where != "decoded")
    if where == "split":
        host, batch = host + sizes.body, batch + sizes.body
    elif where == "streamed":
        host, batch = host + BUFFERS * BUFFER_BYTES, batch + BUFFERS * BUFFER_BYTES
    device = rows + max(bounds, min(batch, limit))
    if where == "decoded" and sizes.stream is not None:
        device = max(device, sizes.encoded + sizes.decoded)
    return Need(host, device, outputs)


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
    outputs, sizes = _outputs(n, 3 * size // 2 if of_edges else n), sizes_of_extent(graph)
    width, rows = sizes.width, sizes.decoded
    # Rows of predecessors, and the tails of arcs that they are made of.
    back, tails = (rows, TURNING + width * graph.arcs) if graph.directed else (0, 0)
    # Sources, values, and the sums of a checkpoint, copied twice; or arcs are sorted by their edges.
    results = BETWEENNESS_COMPILED + back + 8 * n + 16 * n
    results += EDGES * size if of_edges else 24 * n
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
    threads = max(1, min(machine.threads, sources, (limit - 8 * size) // max(1, each)))
    refusal = _too_little(parameters, each + 8 * size)
    host = results + made + max(tails, threads * each + 8 * size)
    return Need(host, 0, outputs, refusal=refusal)
