"""What a search takes on a GPU beside the graph's rows, counted from the arrays of each strategy.

`tests/stages/statements` holds every strategy's to what it took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages.ordering.placing import DEVICE_BYTES_PER_ARC, DEVICE_BYTES_PER_ROW, community_bytes
from gravel.stages.traversal.sizes import COUNTED_AT_ONCE, batch_of, device_label_bytes, width_of

if TYPE_CHECKING:
    from gravel.stages.stage import Extent
    from gravel.stages.traverse import TraverseParameters

EDGE_QUEUES = ("contract_expand", "hybrid", "two_phase")
"""Strategies whose queues hold the arcs of a level, of which there may be all
(gravel.kernels.bfs.cuda.frontier_queues)."""

CHOSEN = ("direction_optimizing", "expand_contract", "hybrid", "persistent")
"""What `auto` stands for on a GPU (gravel.kernels.bfs.choice), by a look at the graph's levels."""

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
"""Arcs, and extra ends of edges, per vertex, by which levels are counted (gravel.stages.traversal.counts)."""

COUNTING_BYTES = 16
"""Row offsets of each vertex that is counted at once, and their differences."""

HUB_ARCS = 7 * 32
"""Arcs that a row has at least which all warps share (gravel.kernels.components.cuda.afforest_rows)."""

UNIT_BYTES = 256
"""Bytes of varint rows between checkpoints (gravel.kernels.layouts.varint)."""


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
        if stream is not None:
            return encoded_search_bytes(n, m, stream, width=width, labels=labels)
        tree = parameters.output != "distance"
        taken = search_bytes(
            parameters.strategy, n, m, width=width, labels=labels, tree=tree, batch=batch_of(parameters)
        )
        return taken + (LOG_BYTES if parameters.statistics else 0)
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
        return max(search_bytes(each, n, m, width=width, labels=labels, tree=tree) for each in CHOSEN)
    entries = n + m // ENTRY_ARCS
    if strategy == "multi_source":
        # Two words of a vertex, a queue, and entries twice with their vertices.
        return batch * labels * n + (16 + width) * n + (16 + width) * entries + SMALL_BYTES
    beside = labels * n + n // 8 + SMALL_BYTES
    if strategy == "direction_optimizing":
        # First neighbours, three bitmaps, entries with the vertices that they were found from, long rows.
        behind = min(PLANES * PLANE_HEADS * width * n, width * m // 2)
        return beside + 2 * width * n + behind + n // 4 + (8 + width) * entries + width * (m // ENTRY_ARCS)
    if strategy in EDGE_QUEUES:
        return beside + width * n + width * m * (2 if tree else 1)
    if strategy == "persistent":
        return beside + (RECORD_HEADS + 1) * width * n + PERSISTENT_BYTES
    return beside + width * n


def encoded_search_bytes(vertices: int, arcs: int, stream: int, *, width: int, labels: int) -> int:
    """Count what a search of encoded rows takes beside them: `gravel.kernels.bfs.cuda.search`."""
    # Entries of a row's units, and checkpoints of the units; the rest is as for columns.
    units = 8 * vertices + stream // 8
    behind = min(PLANES * PLANE_HEADS * width * vertices, width * arcs // 2)
    return (labels + 2 * width) * vertices + behind + vertices // 2 + units + SMALL_BYTES


def ordering_bytes(vertices: int, arcs: int, *, width: int) -> int:
    """Count what timing an order takes beside the graph: that in its first numbering, and in its own again.

    Any order may have made the graph; those by communities take most.
    """
    first = 8 * vertices + width * arcs
    # What was given is counted in both.
    finding = community_bytes(vertices, arcs) - width * arcs
    applying = DEVICE_BYTES_PER_ROW * vertices + (width + DEVICE_BYTES_PER_ARC) * arcs
    return first + width * vertices + max(finding, applying)
