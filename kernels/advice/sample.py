"""Samples of a graph: rows from everywhere, and balls of vertices that lie near each other.

Neither rests on chance: equal graphs give equal samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.jit import serial
from gravel.kernels.order.renumber import Renumbering

RANGES = 64
"""Places of a graph where rows are taken."""

ROW_ARCS = 1 << 20
"""Arcs of all rows taken together; the bits per arc of 2^20 lie within 1 % of the whole graph's."""

STARTS = 64
"""Vertices, evenly spread, that a ball may begin at again where a component ends before it is full."""

FAN = 64
"""Neighbours of a vertex that a ball takes up at most, so that a hub does not fill it with strangers."""


class Rows(NamedTuple):
    """A graph: int64 offsets from 0 (rows + 1,), and sorted columns (arcs,)."""

    row_offsets: NDArray[numpy.int64]
    columns: NDArray[Any]


class Part(NamedTuple):
    """Rows that stand one behind the other in a graph, of which `first_row` is the first one's number."""

    first_row: int
    row_offsets: NDArray[numpy.int64]
    columns: NDArray[Any]


def some_rows(row_offsets: NDArray[numpy.int64], columns: Any, *, arcs: int = ROW_ARCS) -> list[Part]:
    """Take rows from `RANGES` places that lie evenly among the arcs; all rows of a small graph.

    `columns` may be a stored array: only the rows that are taken are read. A row that is longer than a
    place's share is cut, which leaves its gaps as they are.
    """
    return [
        Part(
            first, _cut(row_offsets, first, last, end), numpy.asarray(columns[int(row_offsets[first]) : end])
        )
        for first, last, end in _ranges(row_offsets, arcs)
    ]


def some_rows_renumbered(
    row_offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    permutation: NDArray[Any],
    *,
    arcs: int = ROW_ARCS,
) -> list[Part]:
    """Take rows in the same way from a graph renumbered by `permutation[old] = new`; only they are made."""
    renumbering = Renumbering(row_offsets, columns, permutation)
    new = renumbering.row_offsets
    return [
        Part(first, _cut(new, first, last, end), renumbering.rows(first, last)[: end - int(new[first])])
        for first, last, end in _ranges(new, arcs)
    ]


def _ranges(row_offsets: NDArray[numpy.int64], arcs: int) -> list[tuple[int, int, int]]:
    """Choose rows first to last, and the arc where the last of them is cut."""
    n, m = len(row_offsets) - 1, int(row_offsets[-1])
    if m <= arcs:
        return [(0, n, m)]
    share = arcs // RANGES
    found = []
    for place in range(RANGES):
        low = place * (m - share) // (RANGES - 1)
        first = int(numpy.searchsorted(row_offsets, low, side="right")) - 1
        begin = int(row_offsets[first])
        last = min(max(int(numpy.searchsorted(row_offsets, begin + share, side="right")) - 1, first + 1), n)
        found.append((first, last, min(int(row_offsets[last]), begin + share)))
    return found


def _cut(row_offsets: NDArray[numpy.int64], first: int, last: int, end: int) -> NDArray[numpy.int64]:
    offsets: NDArray[numpy.int64] = numpy.minimum(row_offsets[first : last + 1], end) - row_offsets[first]
    return offsets


def ball(row_offsets: NDArray[numpy.int64], columns: NDArray[Any], *, symmetric: bool, arcs: int) -> Rows:
    """Cut out the rows of vertices near each other, whose full rows have about `arcs` arcs in all.

    They are found breadth-first from the middle vertex, following at most `FAN` neighbours of each, and keep
    their order among each other. Arcs that leave them are dropped, and a directed graph's are taken both
    ways. Takes a byte and an index per vertex of the graph while it runs.
    """
    graph, n = Rows(row_offsets, columns), len(row_offsets) - 1
    inside = numpy.zeros(n, numpy.uint8)
    queue = numpy.empty(n, index_dtype(n))
    found = added = 0
    for place in range(STARTS):
        start = linked_from(row_offsets, (STARTS // 2 + place) * n // STARTS % max(1, n))
        if start < 0 or added >= arcs:
            break
        found, more = _grow(graph, start, arcs - added, FAN, inside, queue, found)
        added += more
    vertices = numpy.sort(queue[:found]).astype(numpy.int64)
    offsets = numpy.zeros(found + 1, numpy.int64)
    _count_inside(graph, vertices, inside, offsets)
    kept = numpy.empty(int(offsets[-1]), index_dtype(found))
    _keep_inside(graph, vertices, inside, offsets, kept)
    if symmetric:
        return Rows(offsets, kept)
    from gravel.kernels.csr import build

    source = numpy.repeat(numpy.arange(found, dtype=kept.dtype), numpy.diff(offsets))
    built = build(source, kept, found, keep_duplicates=True)
    return Rows(built.row_offsets, built.column_indices)


@serial
def linked_from(row_offsets: NDArray[Any], first: int) -> int:
    """Return the first vertex with arcs from `first` on, around the end; -1 if there is none."""
    n = len(row_offsets) - 1
    for step in range(n):
        vertex = (first + step) % n
        if row_offsets[vertex] < row_offsets[vertex + 1]:
            return vertex
    return -1


@serial
def _grow(
    graph: Rows, start: int, most_arcs: int, fan: int, inside: NDArray[Any], queue: NDArray[Any], found: int
) -> tuple[int, int]:
    """Add a ball to the queue and mark it; returns the new end of the queue, and arcs of what was added."""
    row_offsets, columns = graph
    arcs = 0
    place = found
    if not inside[start]:
        inside[start] = 1
        queue[found] = start
        found += 1
        arcs = row_offsets[start + 1] - row_offsets[start]
    while place < found and arcs < most_arcs:
        vertex = numpy.int64(queue[place])
        place += 1
        first = row_offsets[vertex]
        degree = row_offsets[vertex + 1] - first
        followed = min(degree, fan)
        for i in range(followed):
            neighbour = numpy.int64(columns[first + i * degree // followed])
            if not inside[neighbour]:
                inside[neighbour] = 1
                queue[found] = neighbour
                found += 1
                arcs += row_offsets[neighbour + 1] - row_offsets[neighbour]
    return found, arcs


@serial
def _count_inside(
    graph: Rows, vertices: NDArray[numpy.int64], inside: NDArray[Any], offsets: NDArray[numpy.int64]
) -> None:
    row_offsets, columns = graph
    for place in range(len(vertices)):
        vertex = vertices[place]
        count = 0
        for i in range(row_offsets[vertex], row_offsets[vertex + 1]):
            count += inside[numpy.int64(columns[i])]
        offsets[place + 1] = offsets[place] + count


@serial
def _keep_inside(
    graph: Rows,
    vertices: NDArray[numpy.int64],
    inside: NDArray[Any],
    offsets: NDArray[numpy.int64],
    kept: NDArray[Any],
) -> None:
    row_offsets, columns = graph
    for place in range(len(vertices)):
        vertex = vertices[place]
        at = offsets[place]
        low: Any = 0
        for i in range(row_offsets[vertex], row_offsets[vertex + 1]):
            neighbour = numpy.int64(columns[i])
            if inside[neighbour]:
                # Lists ascend, so what is sought lies behind the last one found.
                low += numpy.searchsorted(vertices[low:], neighbour)
                kept[at] = low
                at += 1
