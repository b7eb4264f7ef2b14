"""What verification takes on a device, and how many searches at a time fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.kernels.arrays import backend_of

MAX_VERTICES = (1 << 31) - 1
"""The kernels count vertices in 32 bits and leave room for two marks."""

MAX_WORDS = 16
"""32-bit words of a vertex's labels: two sectors of memory, 64 searches of less than 255 levels."""

CHUNK = 4
"""Searches whose distances come together: one word of labels."""

LONG = 2048
"""Arcs of the longest row that one warp examines (long_rows.cuh)."""

LIST_BYTES = 4 + 8 + 2 * 16
"""Of LONG arcs of long rows: a row and its pieces, as they are listed, and at most two pieces."""

STAGE_BYTES = 4 << 20
"""Of a pinned buffer, in which a piece of an array is sent."""

MAX_THREADS = 8
"""That send: one alone does not fill the link (docs/tuning.md)."""

LEAST_PART = 1 << 20
"""Arcs of the smallest part of the rows that is worth an upload of its own."""

PATH_WEIGHT = 4
"""Bytes of an arc's weight."""

MARGIN = 4 << 20
"""For counts, sources and what the memory pool rounds up."""


@dataclass(frozen=True)
class GraphSize:
    """The graph as it comes to the device: its index type is of `width` bytes; 0 bytes if it is there."""

    vertices: int
    arcs: int
    width: int
    resident: bool = False


@dataclass(frozen=True)
class LabelSize:
    """Bytes of one label; 0 where a search has none. `searches` counts all of them."""

    searches: int
    distance: int
    predecessor: int


@dataclass(frozen=True)
class Batch:
    """Labels of a vertex take so many `words`; `arcs` of rows are on the device at once, None for all."""

    words: int
    arcs: int | None
    device_bytes: int


def graph_size(row_offsets: Any, column_indices: Any) -> GraphSize:
    """Say how large a graph is, and whether it is on the device."""
    return GraphSize(
        vertices=len(row_offsets) - 1,
        arcs=len(column_indices),
        width=column_indices.dtype.itemsize,
        resident=backend_of(column_indices) == "cuda",
    )


def label_size(searches: int, distance: Any, predecessor: Any) -> LabelSize:
    """Say how large the labels of one search are."""
    each = [0 if array is None else array.dtype.itemsize for array in (distance, predecessor)]
    return LabelSize(searches, *each)


def plan_searches(graph: GraphSize, labels: LabelSize, symmetric: bool, room: int) -> Batch | None:
    """Choose the largest batch that fits `room` bytes; None where none does.

    Rows come in parts only where they do not fit whole beside one word of labels: each batch reads them
    again.
    """
    if graph.vertices > MAX_VERTICES:
        return None
    widths = [words for words in (16, 8, 4, 2, 1) if words == 1 or words * CHUNK < 2 * labels.searches]
    for words in widths:
        size = search_bytes(graph, labels, symmetric, words) + graph_bytes(graph, None)
        if size <= room:
            return Batch(words, None, size)
    for words in widths if not graph.resident else ():
        arcs = _arcs_within(graph, room - search_bytes(graph, labels, symmetric, words))
        if arcs >= _least_part(graph):
            size = search_bytes(graph, labels, symmetric, words) + graph_bytes(graph, arcs)
            return Batch(words, arcs, size)
    return None


def plan_components(graph: GraphSize, label_width: int, room: int) -> Batch | None:
    """Say what checking components takes within `room` bytes; None where it does not fit."""
    if graph.vertices > MAX_VERTICES:
        return None
    # Labels as they came and as 32-bit numbers, parents, marks, and bits of offenders.
    labels = graph.vertices * (label_width + 4 + 4 + 1 + 1) + MARGIN
    whole = labels + graph_bytes(graph, None)
    if whole <= room:
        return Batch(0, None, whole)
    arcs = _arcs_within(graph, room - labels)
    if graph.resident or arcs < _least_part(graph):
        return None
    return Batch(0, arcs, labels + graph_bytes(graph, arcs))


def plan_strong_components(graph: GraphSize, label_width: int, room: int) -> Batch | None:
    """Say what checking strongly connected components takes within `room` bytes; None where it is more.

    Rows of predecessors lie beside those of successors, so that neither comes in parts.
    """
    if graph.vertices > MAX_VERTICES:
        return None
    n, m = graph.vertices, graph.arcs
    # 32-bit labels, bits of offenders, bits of what was reached twice, and tasks.
    kept = n * (4 + 1 + 1 + 8) + 16 * (m // LONG + 1) + MARGIN
    # Labels as they come, rows of predecessors, or members of labels and arcs that enter them.
    passes = max(label_width * n, 8 * n + graph.width * m, (8 + 4 + 8) * n)
    size = kept + passes + graph_bytes(graph, None)
    return Batch(0, None, size) if size <= room else None


def plan_paths(graph: GraphSize, labels: LabelSize, room: int) -> Batch | None:
    """Say what checking shortest paths takes within `room` bytes, one search at a time; None if it is more.

    Weights come with the columns, 4 bytes an arc.
    """
    if graph.vertices > MAX_VERTICES:
        return None
    # Labels, faults and bits; of a tree ancestors with their steps, levels, marks of arcs, and bits twice.
    each = labels.distance + labels.predecessor + 5 + (8 + 4 + 1 + 1 if labels.predecessor else 0)
    beside = graph.vertices * each + MARGIN
    whole = beside + graph_bytes(graph, None) + PATH_WEIGHT * graph.arcs
    if whole <= room:
        return Batch(0, None, whole)
    if graph.resident:
        return None
    weighted = GraphSize(graph.vertices, graph.arcs, graph.width + PATH_WEIGHT)
    arcs = _arcs_within(weighted, room - beside)
    if arcs < _least_part(graph):
        return None
    return Batch(0, arcs, beside + graph_bytes(weighted, arcs))


def search_bytes(graph: GraphSize, labels: LabelSize, symmetric: bool, words: int) -> int:
    """Count bytes beside the graph for a batch whose labels take `words` of each vertex."""
    at_once = min(CHUNK * words, labels.searches)
    # Distances as they come, twice a few, or levels counted along predecessors.
    each = min(2 * CHUNK, at_once) * labels.distance or min(CHUNK, at_once) * 4
    table = 4 * words
    # Ancestors with their steps and bits of offenders; without predecessors, bits alone.
    tree = at_once * labels.predecessor + (9 if labels.predecessor else 1)
    nearer = 4 * words if not (symmetric or labels.predecessor) else 0
    long_rows = graph.arcs // LONG * (4 * words)
    return graph.vertices * (each + table + tree + nearer) + long_rows + MARGIN


def _least_part(graph: GraphSize) -> int:
    """Count the arcs that a part must have room for: no row is longer, unless it has duplicates."""
    return min(graph.arcs, max(graph.vertices, LEAST_PART))


def _arcs_within(graph: GraphSize, room: int) -> int:
    """Count the arcs of a part of the rows that takes `room` bytes at most, offsets included."""
    rest = room - graph_bytes(graph, 0)
    return min(graph.arcs, rest * LONG // (graph.width * LONG + LIST_BYTES))


def graph_bytes(graph: GraphSize, arcs: int | None) -> int:
    """Count bytes of the rows with so many arcs at once, None for all, and of the pieces of long ones."""
    if graph.resident:
        return graph.arcs // LONG * LIST_BYTES
    several = graph.arcs if arcs is None else arcs
    return 8 * (graph.vertices + 1) + graph.width * several + several // LONG * LIST_BYTES
