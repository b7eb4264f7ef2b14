"""What a search takes on a GPU beside the graph's rows, and what ranks take, counted from their arrays.

`tests/stages/statements` holds every strategy's to what it took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.kernels.bfs.choice import may_be_deep
from gravel.kernels.bfs.strategies import STRATEGIES
from gravel.stages.ordering.placing import DEVICE_BYTES_PER_ARC, DEVICE_BYTES_PER_ROW, community_bytes
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.placing import COUNTED_AT_ONCE, batch_of, device_label_bytes, width_of

if TYPE_CHECKING:
    from gravel.stages.stage import Extent
    from gravel.stages.traversal.parameters import TraverseParameters


ENTRY_ARCS = 128
"""Arcs of an entry of a queue: CHUNK of `direction_optimizing` and `multi_source`."""

PLANES, PLANE_HEADS = 2, 8
"""First neighbours behind the first two that `direction_optimizing` keeps of every vertex: at most so many
planes of so many, and no more than half of all arcs have."""

RECORD_HEADS = 8
"""Neighbours of a vertex's record in `persistent`, at most."""

PERSISTENT_BYTES = 20 << 20
"""Queues of its blocks, half as large as the shared memory of all multiprocessors: 15 MiB on an H100."""

SMALL_BYTES = 64 << 10
"""Of a search: counters, a short log, and what allocations are rounded up by."""

LOG_BYTES = 8 << 16
"""Of a search that counts the arcs of its levels: those of 2^16 levels."""

COUNTED_BYTES = 8
"""Arcs, and extra ends of edges, per vertex, by which levels are counted
(gravel.stages.traversal.records)."""

COUNTING_BYTES = 16
"""Row offsets of each vertex that is counted at once, and their differences."""

HUB_ARCS = 7 * 32
"""Arcs that a row has at least which all warps share (gravel.kernels.components.cuda.afforest_rows)."""

UNIT_BYTES = 256
"""Bytes of varint rows between checkpoints (gravel.kernels.layouts.varint)."""


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


def device_bytes(parameters: TraverseParameters, graph: Extent, stream: int | None) -> int:
    """Count what a traversal takes on a GPU where its rows lie there, beside them.

    `stream` are the bytes of encoded rows that are searched as they are, None for columns.
    """
    n, m = graph.vertices, graph.arcs
    width = width_of(n)
    taken = _search(parameters, graph, stream) + bringing_bytes(parameters, graph, whole=True)
    if parameters.statistics and graph.kind == "Ordering":
        taken = max(taken, ordering_bytes(n, m, width=width))
    return taken


def _search(parameters: TraverseParameters, graph: Extent, stream: int | None) -> int:
    n, m = graph.vertices, graph.arcs
    width = width_of(n)
    labels = device_label_bytes(parameters, width)
    if parameters.algorithm == "bfs":
        logged = LOG_BYTES if parameters.statistics else 0
        batch = batch_of(parameters)
        if stream is not None:
            sizes = {"width": width, "labels": labels, "batch": batch}
            return encoded_search_bytes(parameters.strategy, n, m, stream, **sizes) + logged
        tree = parameters.output != "distance"
        taken = search_bytes(parameters.strategy, n, m, width=width, labels=labels, tree=tree, batch=batch)
        return taken + logged
    # Labels, roots of tiles, long rows, and bits of who is alone.
    taken = width * (n + n // 8 + m // 4096) + n // 8 + SMALL_BYTES
    if stream is not None:
        # First two neighbours, bits of who has arcs, long rows; passes over all arcs have checkpoints.
        taken += max(2 * width * n + n // 8 + width * (m // HUB_ARCS), width * stream // UNIT_BYTES)
    return taken


def bringing_bytes(parameters: TraverseParameters, graph: Extent, *, whole: bool) -> int:
    """Count what bringing the labels of one search to the host takes, and counting its levels.

    What is counted stays there where rows are `whole` on the device; else it is there in parts.
    Labels of a renumbered graph go back through the permutation, with its inverse or with labels twice.
    Others leave as they are, but for halves of 64-bit keys, which CuPy gathers first.
    """
    n = graph.vertices
    width = width_of(n)
    renumbered = graph.kind in ("Ordering", "CompressedGraph", "Partition")
    if parameters.algorithm == "components":
        return 3 * width * n if renumbered else 0
    at_once = min(n, COUNTED_AT_ONCE)
    counted = COUNTED_BYTES * (n if whole else at_once) + COUNTING_BYTES * at_once
    if renumbered:
        return (2 * width + device_label_bytes(parameters, width)) * n + counted
    gathered = 4 * n if parameters.output != "distance" else 0
    return gathered + counted


def search_bytes(
    strategy: str, vertices: int, arcs: int, *, width: int, labels: int, tree: bool, batch: int = 1
) -> int:
    """Count what a search of columns takes beside them and their offsets, its labels included.

    Parameters
    ----------
    strategy : its name, or `auto`, which takes what the largest of those takes that it may stand for.
    width : bytes of a column.
    labels : bytes of a vertex's labels (gravel.kernels.bfs.cuda.labels); `tree` says whether predecessors
        are among them.
    batch : searches at once, of `multi_source`.

    """
    n, m = vertices, arcs
    if strategy == "auto":
        return max(
            search_bytes(name, n, m, width=width, labels=labels, tree=tree)
            for name, each in STRATEGIES.items()
            if "cuda" in each.automatic
        )
    entries = n + m // ENTRY_ARCS
    if strategy == "multi_source":
        # Two words of a vertex, a queue, and entries twice with their vertices.
        return batch * labels * n + (16 + width) * n + (16 + width) * entries + SMALL_BYTES
    beside = labels * n + n // 8 + SMALL_BYTES
    if strategy == "direction_optimizing":
        # First neighbours, three bitmaps, entries with the vertices that they were found from, long rows.
        behind = min(PLANES * PLANE_HEADS * width * n, width * m // 2)
        return beside + 2 * width * n + behind + n // 4 + (8 + width) * entries + width * (m // ENTRY_ARCS)
    if STRATEGIES[strategy].queues_arcs:
        return beside + width * n + width * m * (2 if tree else 1)
    if strategy == "persistent":
        return beside + (RECORD_HEADS + 1) * width * n + PERSISTENT_BYTES
    return beside + width * n


def encoded_search_bytes(
    strategy: str, vertices: int, arcs: int, stream: int, *, width: int, labels: int, batch: int = 1
) -> int:
    """Count what a search of encoded rows takes beside them; parameters as for `search_bytes`."""
    n = vertices
    if strategy == "auto" and may_be_deep(n, arcs):
        sizes = {"width": width, "labels": labels}
        names = "persistent", "direction_optimizing"
        return max(encoded_search_bytes(name, n, arcs, stream, **sizes) for name in names)
    # Entries of a row's units, and checkpoints of the units; the rest is as for columns.
    units = 8 * n + stream // 8
    if strategy == "multi_source":
        return batch * labels * n + (16 + width) * n + 2 * units + SMALL_BYTES
    if strategy == "persistent":
        # While records are made, rows are counted.
        checkpoints = width * (stream // UNIT_BYTES)
        return (
            (labels + RECORD_HEADS * width + COUNTING_BYTES) * n
            + checkpoints
            + PERSISTENT_BYTES
            + SMALL_BYTES
        )
    behind = min(PLANES * PLANE_HEADS * width * n, width * arcs // 2)
    return (labels + 2 * width) * n + behind + n // 2 + units + SMALL_BYTES


def ordering_bytes(vertices: int, arcs: int, *, width: int) -> int:
    """Count what timing an order takes beside the graph: that in its first numbering, and in its own again.

    Any order may have made the graph; those by communities take most.
    """
    first = 8 * vertices + width * arcs
    # What was given is counted in both.
    finding = community_bytes(vertices, arcs) - width * arcs
    applying = DEVICE_BYTES_PER_ROW * vertices + (width + DEVICE_BYTES_PER_ARC) * arcs
    return first + width * vertices + max(finding, applying)


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
