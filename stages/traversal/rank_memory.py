"""Memory that ranks take, of partitions and of distributed graphs; on GPUs by tables of kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.kernels.buffers import Buffer, Table, table, total, vertex_type
from gravel.kernels.partition import buffers
from gravel.kernels.partition.options import CULLING
from gravel.kernels.partition.runs import putting_in_order
from gravel.kernels.placement.plan import DoesNotFit
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.buffers import decoded_bytes, is_renumbered, label_bytes, search_count, width_of
from gravel.stages.traversal.memory import LABEL_BYTES, NO_WEIGHTS, NO_WEIGHTS_OF_RANKS_HINT

if TYPE_CHECKING:
    from gravel.stages.traversal.parameters import TraverseParameters


COMPILED_RANKS, COMPILED_ROW_RANKS, COMPILED_JOINING_RANKS = 74 << 20, 84 << 20, 103 << 20
"""Measured: what Numba takes to compile the kernels of a partition's search, of one with the decoder of a
layout, or of its components, and to be there at all (48 MiB where they are in the cache on disk)."""

COMPILED_PATHS = 80 << 20
"""Measured: the same of searches by weights."""

COMPILED_UNIONS = 18 << 20
"""Measured: the same of components, beside what it takes to make a distributed graph."""

DELEGATE_SHARE = 1 / 16
"""Of the vertices at most, where the threshold is chosen by `partition`."""


def searching_rank(
    vertices: int,
    normal_arcs: int,
    ranks: int,
    *,
    relays: bool = False,
    arrivals: bool = False,
    uniquify: bool = False,
) -> Table:
    """Return the table of each of `ranks` GPUs beside subgraphs; `normal_arcs` are of the whole graph.

    It is more if vertices go by way of mates (`relays`), are asked for (`arrivals`, by NCCL), or if what was
    sent is remembered (`uniquify`).
    """
    own, normal = -(-vertices // ranks), -(-normal_arcs // ranks)
    delegates, vertex = int(DELEGATE_SHARE * vertices), vertex_type(vertices)
    size = buffers.Size(
        ranks,
        own,
        own,
        delegates,
        -(-own // 32),
        normal,
        buffers.ANY,
        vertex,
        relayed=normal * relays,
        dn=delegates,
        dd=delegates,
        uniquify=uniquify,
        fronts=True,
    )
    return (
        *buffers.shared(size),
        *buffers.search(size),
        *buffers.row_tables(size, normal),
        *buffers.joined(own, vertex),
        Buffer("arrivals", "u4", (2, normal * arrivals)),
    )


def joining_rank(vertices: int, hooks: int, ranks: int) -> Table:
    """Return the table of each of `ranks` GPUs that finds components; `hooks` are those of nn arcs."""
    own, vertex = -(-vertices // ranks), vertex_type(vertices)
    nodes = own + int(DELEGATE_SHARE * vertices)
    return *buffers.components(nodes, nodes + hooks // ranks, vertex), Buffer("joined", vertex, nodes)


def ranks_on_cpu(graph: Extent, *, search: bool, together: bool, culled: bool = False) -> Table:
    """Return the table of all ranks on the CPU beside subgraphs, for a `search` or else for components.

    A search may send all arcs between normal vertices in a level, which may be `culled` before they are
    sorted. Ranks of components take turns, or find them `together`.
    """
    n, p, vertex = graph.vertices, max(1, graph.ranks), vertex_type(graph.vertices)
    arcs = graph.arcs if graph.normal_arcs is None else graph.normal_arcs
    delegates = 0 if graph.striped else p * int(DELEGATE_SHARE * n)
    if search and culled:
        # Every rank has a bitmask of all vertices.
        own = *buffers.search_on_cpu(n, delegates), *buffers.culling_on_cpu(p * (n // 64 + p))
        return *own, *buffers.nn_queue_on_cpu(arcs, vertex), *buffers.bins(arcs)
    if search:
        return *buffers.search_on_cpu(n, delegates), *buffers.search_messages_on_cpu(arcs, p)
    # All unions that are under way may come to one rank: an arc and its reverse are one.
    unions = arcs if graph.directed else arcs // 2
    messages = min(p * buffers.messages_of(p), n + delegates, unions + delegates)
    return (
        *buffers.components_on_cpu(n, delegates, vertex, messages),
        *buffers.trees_on_cpu(n, delegates, vertex),
        *buffers.unions_on_cpu(messages * (p if together else 1), vertex),
    )


def rank_device_bytes(graph: Extent, ranks: int, **ways: bool) -> int:
    """State what each of `ranks` GPUs takes of a partition; `ways` are those of `searching_rank`."""
    ranks = max(1, ranks)
    normal = graph.arcs if graph.striped else graph.normal_arcs or 0
    return graph.bytes // ranks + total(searching_rank(graph.vertices, normal, ranks, **ways))


def component_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of a partition: subgraphs, labels, and hooks along nn arcs."""
    ranks, hooks = max(1, ranks), (graph.normal_arcs or 0) if graph.directed else 0
    return graph.bytes // ranks + total(joining_rank(graph.vertices, hooks, ranks))


def ranks_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    """State what the ranks of a partition take, each on a worker of its own or all in one process."""
    bfs, labels = parameters.algorithm == "bfs", label_bytes(parameters, graph.vertices) * graph.vertices
    # Ranks on workers decode their part once more.
    # Components of a compressed one are found where it was decoded.
    ranked = graph.kind == "Partition" or bfs
    group_size = graph.ranks if ranked and graph.ranks > 1 and (bfs or not graph.striped) else 0
    ranks = max(1, group_size)
    brought = min(LABEL_BYTES, 12 * graph.vertices * search_count(parameters))
    decoded = decoded_bytes(graph)
    compiled = COMPILED_RANKS if graph.kind == "Partition" else COMPILED_ROW_RANKS
    compiled = compiled if bfs else COMPILED_JOINING_RANKS
    counting = table("host", offsets=("i8", graph.vertices), lengths=("u4", (3, graph.vertices)))
    culled = any(name in parameters.tuning for name in CULLING)
    searching = total(ranks_on_cpu(graph, search=bfs, together=False, culled=culled), "host")
    own = decoded + total(ranks_on_cpu(graph, search=bfs, together=True, culled=culled), "host")
    working = max(searching, group_size and own // ranks + brought)
    # Labels of a search on the host, and what maps them back.
    after = 2 * labels
    after += (8 + 2 * width_of(graph.vertices)) * graph.vertices + labels if is_renumbered(graph) else 0
    host = compiled + decoded + total(counting, "host") + after + working
    # Labels come back where ranks see no common folder; else they are put in order, and written.
    ordered = total(putting_in_order(graph.vertices, "i8"), "host")
    each = group_size and compiled + (own + brought) // ranks + ordered
    on_gpus = parameters.backend == "cuda" and machine.backend == "cuda" and (bfs or not graph.striped)
    need = Need(host, 0, (), workers=group_size, each_host_bytes=each)
    if not on_gpus:
        return replace(need, note=_why_ranks_on_cpu(parameters, graph, machine))
    if bfs:
        return _over_gpus(parameters, graph, machine, need)
    return replace(need, device_bytes=component_bytes(graph, group_size))


def paths_of_ranks(graph: Extent, *, tree: bool) -> Table:
    """Return the table of all ranks that search by weights, beside subgraphs; words are at most 64 bits."""
    n, p, vertex = graph.vertices, max(1, graph.ranks), vertex_type(graph.vertices)
    arcs = graph.arcs if graph.normal_arcs is None else graph.normal_arcs
    delegates, heads = p * int(DELEGATE_SHARE * n), min(arcs, p * n)
    name = (vertex if n < 1 << 31 else "u8") if tree else ""
    return (
        *buffers.paths_on_cpu(n, delegates, heads, "u8", tree=name),
        *buffers.heads_on_cpu(arcs, heads),
        *buffers.sorting_heads(arcs, vertex),
        *buffers.round_of_paths(n, delegates, heads, "u8", tree=name),
    )


def rank_paths_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    """State what the ranks of a partition take that search by weights, on workers or all in one process."""
    n, ranks = graph.vertices, max(1, graph.ranks)
    labels = label_bytes(parameters, n) * n
    brought = min(LABEL_BYTES, 16 * n * search_count(parameters)) if ranks > 1 else 0
    counting = table("host", offsets=("i8", n), lengths=("u4", (3, n)))
    own = total(paths_of_ranks(graph, tree=parameters.output != "distance"), "host")
    # Labels of all ranks are put together, and written.
    host = COMPILED_PATHS + total(counting, "host") + 2 * labels + own + brought
    need = Need(
        host,
        0,
        (),
        workers=ranks if ranks > 1 else 0,
        each_host_bytes=COMPILED_PATHS + (own + 2 * brought) // ranks if ranks > 1 else 0,
    )
    if not graph.weighted:
        return replace(need, refusal=f"{NO_WEIGHTS}; {NO_WEIGHTS_OF_RANKS_HINT}")
    on_gpus = machine.backend == "cuda" and parameters.backend != "cpu"
    return replace(need, note="on the CPU: shortest paths over ranks have no CUDA form" if on_gpus else "")


def _why_ranks_on_cpu(parameters: TraverseParameters, graph: Extent, machine: Machine) -> str:
    if machine.backend != "cuda":
        return ""
    if parameters.backend == "cpu":
        return "on the CPU: `backend: cpu` asks for it"
    if graph.striped and parameters.algorithm == "components":
        return "on the CPU: components of stripes have no CUDA form"
    return "on the CPU: ranks of a partition are; `backend: cuda` asks for GPUs"


def _over_gpus(parameters: TraverseParameters, graph: Extent, machine: Machine, need: Need) -> Need:
    """Complete the need of ranks on GPUs by their columns, wherever those lie."""
    from gravel.stages.ranks.placement import plan_ranks

    gpus = max(1, need.workers)
    relays = parameters.tuning.get("local_all_to_all") is True
    arrivals = parameters.transport == "nccl"
    uniquify = parameters.tuning.get("uniquify") is True
    whole = rank_device_bytes(graph, gpus, relays=relays, arrivals=arrivals, uniquify=uniquify)
    columns = min(graph.bytes, width_of(graph.vertices) * graph.arcs) // gpus
    try:
        plan = plan_ranks(parameters, machine, base=whole - columns, columns=columns, gpus=gpus)
    except DoesNotFit as error:
        named = parameters.device_memory is not None or parameters.host_memory is not None
        return replace(need, device_bytes=whole, refusal=f"{error}; {error.hint}" if named else "")
    host = need.host_bytes + gpus * plan.host_bytes
    return replace(need, host_bytes=host, device_bytes=plan.device_bytes)


def distributed_need(parameters: TraverseParameters, graph: Extent, machine: Machine) -> Need:
    """State what all ranks take on the host, and each on its GPU: to make the graph, or to search it."""
    from gravel.stages import distribute

    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    components, vertex = parameters.algorithm == "components", vertex_type(n)
    normal = m if graph.normal_arcs is None else graph.normal_arcs
    labels = label_bytes(parameters, n) * n
    # Ranks put labels in order, and write them.
    back = 5 * labels if components else labels
    compiled = distribute.COMPILED + (COMPILED_UNIONS if components else 0)
    if machine.backend == "cuda" and parameters.backend != "cpu":
        own = -(-n // p)
        rank = buffers.subgraphs(own, int(DELEGATE_SHARE * n), m // p, vertex)
        if components:
            # Offsets of nn and nd are widened, labels are there in several rounds.
            widened = table(widened=("i8", (2, own)), rounds=(vertex, (4, own)))
            rank += *widened, *joining_rank(n, 0, p), *known(n, vertex, "device")
        else:
            arrivals = parameters.transport == "nccl"
            rank += *searching_rank(n, normal, p, arrivals=arrivals), *known(n, "i4", "device")
        device = max(total(rank), distribute.device_bytes(n, m, p))
        need = Need(compiled + back, device, ())
    else:
        checking = known(p * n, vertex if components else "i4", "host")
        size = replace(graph, normal_arcs=normal)
        own_rows = buffers.subgraphs(n, p * int(DELEGATE_SHARE * n), m, vertex, "host")
        searching = total(
            (*own_rows, *ranks_on_cpu(size, search=not components, together=True), *checking), "host"
        )
        need = Need(compiled + max(distribute.host_bytes(n, m, p), searching) + back, 0, ())
    return replace(need, workers=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)


def known(vertices: int, dtype: str, place: str) -> Table:
    """Return the table of a rank that checks: labels of all vertices, and those of a rank as they come."""
    return table(place, known=(dtype, vertices), coming=("u2", vertices * (place == "host")))
