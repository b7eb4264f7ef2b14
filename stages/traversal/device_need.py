"""What ranks take on a GPU, counted from their arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.placing import width_of

if TYPE_CHECKING:
    from gravel.stages.stage import Extent
    from gravel.stages.traversal.parameters import TraverseParameters


LABEL_BYTES = 256 << 20
"""Of the labels that one call of a group of ranks brings back; they pass through memory twice."""

BYTES_PER_VERTEX = 51
"""Of a rank: distance, predecessor, depth, key and the one expected, slot, queues and bitmaps, as much again
for the labels put together, and what `gravel.kernels.partition.cuda.row_tables` adds."""

WIDE_BYTES_PER_VERTEX = BYTES_PER_VERTEX + 12
"""From 2^32 vertices on."""

BYTES_PER_NORMAL_ARC = 20
"""A bin with ids and tails, a row, and the column by compact ids (8 from 2^32 vertices on)."""

BYTES_PER_RELAYED_ARC = 8
"""With local all-to-all: an id and a vertex (4 more from 2^32 vertices on) that a mate lists."""

BYTES_PER_DELEGATE = 73
"""On every rank: distance, key, queues, the first arcs of queued rows, columns, length and number."""

DELEGATE_SHARE = 1 / 16
"""Of the vertices at most, where the threshold is chosen by `partition`."""

STRIPE_BYTES_PER_VERTEX = 28
"""Of a rank: key or distance and place in the queue, and as much again for the labels put together."""

STRIPE_BYTES_PER_ENTRY = 8
"""Of a bin: a vertex and its predecessor."""

BYTES_PER_ARRIVAL = 8
"""Of an arc between normal vertices, beside what peers take: an id that comes, and a tail asked for."""

BYTES_PER_NODE = 28
"""Of a rank's vertices and of every delegate: parent, label, what was told last, what is published, a hook of
two vertices; and the labels put together."""

SEARCH_BYTES_PER_ARC = 60
"""Of a level on the CPU, as it arrives and is sorted."""

LEVEL_BYTES = 4
"""Of each vertex of the graph on every rank that checks."""

WIDE_BYTES_PER_NODE = 52
"""As `BYTES_PER_NODE`, where vertices take 64 bits."""

OFFSET_BYTES = 16
"""Of an own vertex on a GPU: offsets of nn and nd, where they have to be widened."""

LABEL_BYTES_PER_ARC = 44
"""Of the first round of components on the CPU, as it arrives and is sorted."""

LABEL_BYTES_PER_VERTEX = 64
"""Of the same: labels, their labels, what was sent, the look-up's order; of each delegate on every rank."""


def rank_device_bytes(graph: Extent, ranks: int, *, relays: bool = False) -> int:
    """State what each of `ranks` GPUs takes.

    Subgraphs and labels, what each nn arc takes, more if vertices go by way of mates, and the bits of all
    ranks' frontiers.
    """
    relayed = BYTES_PER_RELAYED_ARC + (4 if graph.vertices >= 1 << 32 else 0)
    normal = (BYTES_PER_NORMAL_ARC + relays * relayed) * (graph.normal_arcs or 0)
    shared = graph.bytes + vertex_bytes(graph.vertices) * graph.vertices + normal
    fronts = graph.vertices // 8
    return shared // max(1, ranks) + fronts + int(BYTES_PER_DELEGATE * DELEGATE_SHARE * graph.vertices)


def vertex_bytes(vertices: int) -> int:
    """State what a rank's GPU takes for each of its vertices, by how many the graph has."""
    return BYTES_PER_VERTEX if vertices < 1 << 32 else WIDE_BYTES_PER_VERTEX


def stripe_device_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of stripes: rows, labels, bins, and a bit for every vertex.

    Without the bitmask bins take more: room for every arc.
    """
    p, n = max(1, ranks), graph.vertices
    entries = min(graph.arcs // p, n)
    return (graph.bytes + STRIPE_BYTES_PER_VERTEX * n) // p + STRIPE_BYTES_PER_ENTRY * entries + n // 8


def component_bytes(graph: Extent, ranks: int) -> int:
    """State what each of `ranks` GPUs takes of a partition: subgraphs, labels, and hooks along nn arcs."""
    hooks = 8 * (graph.normal_arcs or 0) if graph.directed else 0
    shared = graph.bytes + BYTES_PER_NODE * graph.vertices + hooks
    return shared // max(1, ranks) + int(BYTES_PER_NODE * DELEGATE_SHARE * graph.vertices)


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
    making, held = distribute.host_bytes(n, m, p), 0
    compiled = distribute.COMPILED
    if machine.backend == "cuda" and parameters.backend != "cpu":
        if components:
            node = BYTES_PER_NODE if width == 4 else WIDE_BYTES_PER_NODE
            held = (rows + (node + OFFSET_BYTES + 4 * width) * n) // p + node * delegates + known * n
        else:
            arriving = BYTES_PER_ARRIVAL if parameters.transport == "nccl" else 0
            held = (rows + vertex_bytes(n) * n + (BYTES_PER_NORMAL_ARC + arriving) * normal) // p
            held += BYTES_PER_DELEGATE * delegates + known * n + n // 8
        held = max(held, distribute.device_bytes(n, m, p))
        making = searching = 0
    elif components:
        searching = rows + LABEL_BYTES_PER_VERTEX * n + LABEL_BYTES_PER_ARC * normal
        searching += p * (LABEL_BYTES_PER_VERTEX * delegates + (known + 2) * n)
    else:
        searching = rows + 40 * n + SEARCH_BYTES_PER_ARC * normal
        searching += p * (known + 2) * n
    host = compiled + max(making, searching) + back
    return Need(host, held, outputs, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)


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
