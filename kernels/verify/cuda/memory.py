"""What verification takes on a device, and how many searches at a time fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.buffers import Table, exact, table, total

MAX_VERTICES = (1 << 31) - 1
"""The kernels count vertices in 32 bits and leave room for two marks."""

MAX_WORDS = 16
"""32-bit words of a vertex's labels: two sectors of memory, 64 searches of less than 255 levels."""

CHUNK = 4
"""Searches whose distances come together: one word of labels."""

LONG = 2048
"""Arcs of the longest row that one warp examines (long_rows.cuh)."""

LIST_BYTES = 4 + 8 + 2 * 16
"""Of LONG arcs of long rows: a row and its pieces, as they are listed, and at most two pieces; see `rows`."""

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
        size = exact((*searches(graph, labels, symmetric, words), *rows(graph, None)))
        if size <= room:
            return Batch(words, None, size)
    for words in widths if not graph.resident else ():
        beside = exact(searches(graph, labels, symmetric, words))
        arcs = _arcs_within(graph, room - beside)
        if arcs >= _least_part(graph):
            return Batch(words, arcs, beside + exact(rows(graph, arcs)))
    return None


def plan_components(graph: GraphSize, label_width: int, room: int) -> Batch | None:
    """Say what checking components takes within `room` bytes; None where it does not fit."""
    if graph.vertices > MAX_VERTICES:
        return None
    beside = exact(components(graph.vertices, label_width))
    return _batch(graph, beside, room)


def plan_strong_components(graph: GraphSize, label_width: int, room: int) -> Batch | None:
    """Say what checking strongly connected components takes within `room` bytes; None where it is more.

    Rows of predecessors lie beside those of successors, so that neither comes in parts.
    """
    if graph.vertices > MAX_VERTICES:
        return None
    checked = strong_components(graph.vertices, graph.arcs, graph.width, label_width)
    size = total(checked + rows(graph, None))
    return Batch(0, None, size) if size <= room else None


def plan_paths(graph: GraphSize, labels: LabelSize, room: int) -> Batch | None:
    """Say what checking shortest paths takes within `room` bytes, one search at a time; None if it is more.

    Weights come with the columns, 4 bytes an arc.
    """
    if graph.vertices > MAX_VERTICES:
        return None
    return _batch(graph, exact(paths(graph.vertices, labels)), room, weight=PATH_WEIGHT)


def _batch(graph: GraphSize, beside: int, room: int, *, weight: int = 0) -> Batch | None:
    """Take rows with their weights whole where they fit beside, else in parts; None where those do not."""
    whole = beside + exact(rows(graph, None)) + weight * graph.arcs
    if whole <= room:
        return Batch(0, None, whole)
    parts = replace(graph, width=graph.width + weight)
    arcs = _arcs_within(parts, room - beside)
    if graph.resident or arcs < _least_part(graph):
        return None
    return Batch(0, arcs, beside + exact(rows(parts, arcs)))


def searches(graph: GraphSize, labels: LabelSize, symmetric: bool, words: int) -> Table:
    """What a batch takes beside the graph whose labels take `words` of each vertex."""
    n, at_once, tree = graph.vertices, min(CHUNK * words, labels.searches), labels.predecessor > 0
    types = f"i{labels.distance}", f"i{labels.predecessor}"
    return (
        *label_table(n, words, nearer=not (symmetric or tree)),
        *brought(n, at_once, *types, levels=not labels.distance),
        *(ancestors(n) if tree else ()),
        *table(bits=("u1", n), seen=("u4", (graph.arcs // LONG, words)), margin=("u1", MARGIN)),
    )


def label_table(vertices: int, words: int, *, nearer: bool, per_word: int = 4) -> Table:
    """Labels of a batch side by side, `per_word` in a word, and for which of them a neighbour is nearer."""
    size = vertices * words
    return table(labels=("u4", size, 0), nearer=("u1", per_word * size * nearer))


def brought(vertices: int, at_once: int, distance: str, predecessor: str, *, levels: bool) -> Table:
    """Predecessors as they come, and distances, twice a few, or `levels` counted along predecessors."""
    some = min(CHUNK if levels else 2 * CHUNK, at_once)
    raw = ("i4" if levels else distance, (some, vertices))
    return table(raw=raw, above=(predecessor, (at_once, vertices)))


def ancestors(vertices: int) -> Table:
    """An ancestor of each vertex, and the steps to it."""
    return table(up=("u8", vertices))


def components(vertices: int, label_width: int) -> Table:
    """Labels as they came and as 32-bit numbers, parents, marks, and bits of offenders."""
    number, given = ("u4", vertices), (f"u{label_width}", vertices)
    checked = table(labels=number, parents=number, unlike=("u1", vertices, 0))
    return checked + table(given=given, bits=("u1", vertices), margin=("u1", MARGIN))


def strong_components(vertices: int, arcs: int, width: int, label_width: int) -> Table:
    """32-bit labels, bits of offenders and of what was reached twice, tasks; and what comes one by one.

    That are labels as they come, rows of predecessors, or members of labels and arcs that enter them.
    """
    n, tasks, ends = vertices, ("u8", vertices + 2 * (arcs // LONG + 1)), ("i8", vertices + 1)
    return (
        *table(labels=("u4", n), bits=("u1", n), tasks=tasks, seen=("u4", (2, -(-n // 32)))),
        *table("device", "labels", given=(f"u{label_width}", n)),
        *table("device", "predecessors", ends=ends, tails=(f"u{width}", arcs)),
        *table("device", "members", entering=("u8", n), first=ends, members=("u4", n)),
        *table(margin=("u1", MARGIN)),
    )


def paths(vertices: int, labels: LabelSize) -> Table:
    """Labels, faults and bits; of a tree ancestors, levels, marks of arcs, and bits twice."""
    n, tree = vertices, labels.predecessor > 0
    there = table(distance=(f"i{labels.distance}", n), predecessor=(f"i{labels.predecessor}", n))
    of_tree = ancestors(n) + table(lost=("u1", n)) if tree else ()
    return *checked_paths(n, tree=tree), *there, *of_tree, *table(margin=("u1", MARGIN))


def checked_paths(vertices: int, *, tree: bool) -> Table:
    """What checks of shortest paths keep from one search to the next."""
    n, kept = vertices, vertices if tree else 0
    return table(faults=("u4", n), bits=("u1", n), levels=("i4", kept), has=("u1", max(1, kept)))


def rows(graph: GraphSize, arcs: int | None) -> Table:
    """Rows with so many arcs at once, None for all, and the pieces of long ones; nothing of resident rows."""
    several = graph.arcs if arcs is None or graph.resident else arcs
    listed = table(long_rows=("u1", (several // LONG, LIST_BYTES)))
    if graph.resident:
        return listed
    return table(offsets=("i8", graph.vertices + 1), columns=(f"u{graph.width}", several)) + listed


def _least_part(graph: GraphSize) -> int:
    """Count the arcs that a part must have room for: no row is longer, unless it has duplicates."""
    return min(graph.arcs, max(graph.vertices, LEAST_PART))


def _arcs_within(graph: GraphSize, room: int) -> int:
    """Count the arcs of a part of the rows that takes `room` bytes at most, offsets included."""
    rest = room - exact(rows(graph, 0))
    return min(graph.arcs, rest * LONG // (graph.width * LONG + LIST_BYTES))
