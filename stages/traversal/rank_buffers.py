"""Memory that ranks take on a GPU, by the tables of their kernels, and ranks of distributed graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.kernels.bfs.buffers import NARROW, labels
from gravel.kernels.buffers import Buffer, Table, total, vertex_type
from gravel.kernels.partition import buffers
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.placing import width_of

if TYPE_CHECKING:
    from gravel.stages.stage import Extent
    from gravel.stages.traversal.parameters import TraverseParameters


LABEL_BYTES = 256 << 20
"""Of the labels that one call of a group of ranks brings back; they pass through memory twice."""

DELEGATE_SHARE = 1 / 16
"""Of the vertices at most, where the threshold is chosen by `partition`."""

SEARCH_BYTES_PER_ARC = 60
"""Of a level on the CPU, as it arrives and is sorted."""

LEVEL_BYTES = 4
"""Of each vertex of the graph on every rank that checks."""

OFFSET_BYTES = 16
"""Of an own vertex on a GPU: offsets of nn and nd, where they have to be widened."""

LABEL_BYTES_PER_ARC = 44
"""Of the first round of components on the CPU, as it arrives and is sorted."""

LABEL_BYTES_PER_VERTEX = 64
"""Of the same: labels, their labels, what was sent, the look-up's order; of each delegate on every rank."""


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
    width = width_of(n)
    components = parameters.algorithm == "components"
    rows = width * m + 12 * n + int(8 * DELEGATE_SHARE * n) * p
    normal = m if graph.normal_arcs is None else graph.normal_arcs
    back = min(2 * LABEL_BYTES, 2 * label_bytes * n * searches) + label_bytes * n
    if components:
        # All labels come in one call.
        back = 3 * label_bytes * n
    delegates = int(DELEGATE_SHARE * n)
    # Levels of all vertices, or labels and then a forest, on every rank that checks.
    known = width if components else LEVEL_BYTES
    making, device = distribute.host_bytes(n, m, p), 0
    compiled = distribute.COMPILED
    if machine.backend == "cuda" and parameters.backend != "cpu":
        if components:
            device = (rows + (OFFSET_BYTES + 4 * width) * n) // p + total(joining_rank(n, 0, p)) + known * n
        else:
            arrivals = parameters.transport == "nccl"
            device = rows // p + total(searching_rank(n, normal, p, arrivals=arrivals)) + known * n
        device = max(device, distribute.device_bytes(n, m, p))
        making = searching = 0
    elif components:
        searching = rows + LABEL_BYTES_PER_VERTEX * n + LABEL_BYTES_PER_ARC * normal
        searching += p * (LABEL_BYTES_PER_VERTEX * delegates + (known + 2) * n)
    else:
        searching = rows + 40 * n + SEARCH_BYTES_PER_ARC * normal
        searching += p * (known + 2) * n
    host = compiled + max(making, searching) + back
    return Need(host, device, outputs, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)


def verifying(graph: Extent, traversal: Extent, outputs: tuple[Extent, ...]) -> Need:
    """State what ranks take that check labels; nothing where they have checked them before."""
    from gravel.stages import distribute

    if traversal.bytes == 0:
        return Need(distribute.COMPILED, 0, outputs)
    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    if traversal.searches == 0:
        # Every rank reads all labels, some at a time, and keeps its own with what it compares them to.
        width = width_of(n)
        checking = p * (width + 2) * n + 6 * width * n
    else:
        labels = 3 * (traversal.bytes // traversal.searches)
        checking = p * (LEVEL_BYTES + 2) * n + labels
    compiled = distribute.COMPILED
    host = compiled + distribute.host_bytes(n, m, p) + checking
    return Need(host, 0, outputs, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)
