"""Memory that ranks take on a GPU, by the tables of their kernels, and ranks of distributed graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.kernels.bfs.buffers import NARROW, labels
from gravel.kernels.buffers import Buffer, Table, table, total, vertex_type
from gravel.kernels.partition import buffers
from gravel.stages.stage import Extent, Machine, Need

if TYPE_CHECKING:
    from gravel.stages.traversal.parameters import TraverseParameters


LABEL_BYTES = 256 << 20
"""Of the labels that one call of a group of ranks brings back; they pass through memory twice."""

DELEGATE_SHARE = 1 / 16
"""Of the vertices at most, where the threshold is chosen by `partition`."""


def searching_rank(
    vertices: int, normal_arcs: int, ranks: int, *, relays: bool = False, arrivals: bool = False
) -> Table:
    """Return the table of each of `ranks` GPUs beside subgraphs; `normal_arcs` are of the whole graph.

    It is more if vertices go by way of mates (`relays`) or are asked for (`arrivals`, by NCCL).
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


def stripe(vertices: int, arcs: int, ranks: int, *, bitmask: bool = True) -> Table:
    """Return the table of each of `ranks` GPUs over stripes; without bitmask bins have room for all arcs."""
    own, entries = -(-vertices // ranks), arcs // ranks
    room = min(entries, vertices) if bitmask else entries
    tree = 32 if vertices < NARROW else 33
    return (
        *labels(own, tree),
        *buffers.stripe(ranks, own, vertices, room, tree=True, bitmask=bitmask, huge=0),
        *buffers.joined(own, vertex_type(vertices)),
    )


def ranks_on_cpu(graph: Extent, *, search: bool, together: bool) -> Table:
    """Return the table of all ranks on the CPU beside subgraphs, for a `search` or else for components.

    A level may have all arcs between normal vertices. Ranks take turns, or prepare themselves `together`.
    """
    n, p, vertex = graph.vertices, max(1, graph.ranks), vertex_type(graph.vertices)
    arcs = graph.arcs if graph.normal_arcs is None else graph.normal_arcs
    if search and graph.striped:
        # Every rank has a bitmask of all vertices; a queue of a level, and its bins.
        return (
            *buffers.stripe_on_cpu(n, p * (n // 64 + p), tree=True),
            *buffers.stripe_queue(arcs, vertex, tree=True),
            *buffers.bins(arcs),
        )
    delegates = p * int(DELEGATE_SHARE * n)
    if search:
        # Ends of arcs, and those that are left when each counts once.
        return *buffers.search_on_cpu(n, delegates), *buffers.bins(arcs), *buffers.bins(arcs)
    return (
        *buffers.components_on_cpu(n, delegates, arcs),
        *buffers.sorting_on_cpu(arcs if together else arcs // p, vertex),
        *buffers.round_on_cpu(n, delegates, arcs, vertex, directed=graph.directed),
    )


def rank_device_bytes(graph: Extent, ranks: int, **ways: bool) -> int:
    """State what each of `ranks` GPUs takes of a partition; `ways` are those of `searching_rank`."""
    ranks = max(1, ranks)
    return graph.bytes // ranks + total(searching_rank(graph.vertices, graph.normal_arcs or 0, ranks, **ways))


def stripe_device_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of stripes."""
    ranks = max(1, ranks)
    return graph.bytes // ranks + total(stripe(graph.vertices, graph.arcs, ranks))


def component_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of a partition: subgraphs, labels, and hooks along nn arcs."""
    ranks, hooks = max(1, ranks), (graph.normal_arcs or 0) if graph.directed else 0
    return graph.bytes // ranks + total(joining_rank(graph.vertices, hooks, ranks))


def distributed_need(
    parameters: TraverseParameters,
    graph: Extent,
    machine: Machine,
    outputs: tuple[Extent, ...],
    searches: int,
    label_bytes: int,
) -> Need:
    """State what all ranks take on the host, and each on its GPU: to make the graph, or to search it."""
    from gravel.stages import distribute

    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    components, vertex = parameters.algorithm == "components", vertex_type(n)
    normal = m if graph.normal_arcs is None else graph.normal_arcs
    back = min(2 * LABEL_BYTES, 2 * label_bytes * n * searches) + label_bytes * n
    if components:
        # All labels come in one call.
        back = 3 * label_bytes * n
    compiled = distribute.COMPILED
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
        need = Need(compiled + back, device, outputs)
    else:
        checking = known(p * n, vertex if components else "i4", "host")
        size = replace(graph, normal_arcs=normal)
        own_rows = buffers.subgraphs(n, p * int(DELEGATE_SHARE * n), m, vertex, "host")
        searching = total(
            (*own_rows, *ranks_on_cpu(size, search=not components, together=True), *checking), "host"
        )
        need = Need(compiled + max(distribute.host_bytes(n, m, p), searching) + back, 0, outputs)
    return replace(need, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)


def known(vertices: int, dtype: str, place: str) -> Table:
    """Return the table of a rank that checks: labels of all vertices, and those of a rank as they come."""
    return table(place, known=(dtype, vertices), coming=("u2", vertices * (place == "host")))


def verifying(graph: Extent, traversal: Extent, outputs: tuple[Extent, ...]) -> Need:
    """State what ranks take that check labels; nothing where they have checked them before."""
    from gravel.stages import distribute

    if traversal.bytes == 0:
        return Need(distribute.COMPILED, 0, outputs)
    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    if traversal.searches == 0:
        # Every rank reads all labels, some at a time, and keeps its own with what it compares them to.
        vertex = vertex_type(n)
        checking = (*known(p * n, vertex, "host"), *table("host", read=(vertex, (6, n))))
    else:
        labels = traversal.bytes // traversal.searches
        checking = (*known(p * n, "i4", "host"), *table("host", read=("u1", (3, labels))))
    compiled = distribute.COMPILED
    host = compiled + distribute.host_bytes(n, m, p) + total(checking, "host")
    return Need(host, 0, outputs, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)
