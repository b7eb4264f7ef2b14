"""What a search looks at, counted on the host: levels of a bounded search, and arcs read in some order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.advice.buffers import growth
from gravel.kernels.advice.sample import Rows
from gravel.kernels.bfs.shape import Growth
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial

MAX_ARCS = 1 << 22
"""Arcs after which the search that tells a graph's depth stops."""

MAX_LEVELS = 1 << 14

ALPHA = 15
"""Go bottom-up once the frontier's arcs times this exceed the unvisited ones (Beamer et al., SC 2012)."""

BETA = 18
"""Go top-down again once the frontier has fewer than this part of the vertices (the same)."""


class Looked(NamedTuple):
    """What a direction-optimising search reads, and how deep it goes.

    `arcs` counts all arcs read; `beyond` those of bottom-up levels after a row's first two, which searches
    keep apart from the rows.
    """

    arcs: int
    beyond: int
    levels: int


def grow(row_offsets: NDArray[numpy.int64], columns: NDArray[Any], *, most_arcs: int = MAX_ARCS) -> Growth:
    """Search from the vertex of most arcs until `most_arcs` arcs were read or nothing is left."""
    n = len(row_offsets) - 1
    if n == 0 or int(row_offsets[-1]) == 0:
        return Growth((), (), complete=True)
    levels = numpy.zeros((2, MAX_LEVELS), numpy.int64)
    lengths = numpy.diff(row_offsets)
    start = int(lengths.argmax())
    queue, seen = make(growth(n, min(n, most_arcs + int(lengths[start]) + 1)), numpy).values()
    count, complete = _grow(Rows(row_offsets, columns), start, most_arcs, queue, seen, levels)
    return Growth(tuple(levels[0, :count].tolist()), tuple(levels[1, :count].tolist()), bool(complete))


def looked_at(row_offsets: NDArray[numpy.int64], columns: NDArray[Any], *, symmetric: bool = True) -> Looked:
    """Count what a search from the vertex of most arcs reads, with rows in the order that they have.

    A directed graph is searched top-down alone.
    """
    n = len(row_offsets) - 1
    if n == 0 or int(row_offsets[-1]) == 0:
        return Looked(0, 0, 0)
    start = int(numpy.diff(row_offsets).argmax())
    queue = numpy.empty(n, numpy.int64)
    distance = numpy.full(n, -1, numpy.int32)
    alpha = ALPHA if symmetric else 0
    return Looked(*_search(Rows(row_offsets, columns), start, alpha, BETA, queue, distance))


@serial
def _grow(
    rows: Rows,
    start: int,
    most_arcs: int,
    queue: NDArray[numpy.int64],
    seen: NDArray[numpy.uint8],
    levels: NDArray[numpy.int64],
) -> tuple[int, bool]:
    row_offsets, columns = rows
    queue[0] = start
    seen[start] = 1
    begin, end, level, read = 0, 1, 0, 0
    while begin < end and level < levels.shape[1]:
        arcs = 0
        for place in range(begin, end):
            arcs += row_offsets[queue[place] + 1] - row_offsets[queue[place]]
        levels[0, level] = end - begin
        levels[1, level] = arcs
        level += 1
        read += arcs
        # The first level is always followed: its one vertex may hold more arcs than all that are to be read.
        if level > 1 and read > most_arcs:
            return level, False
        stop = end
        for place in range(begin, stop):
            for i in range(row_offsets[queue[place]], row_offsets[queue[place] + 1]):
                neighbour = numpy.int64(columns[i])
                if not seen[neighbour]:
                    seen[neighbour] = 1
                    queue[end] = neighbour
                    end += 1
        begin = stop
    return level, begin == end


@serial
def _search(
    rows: Rows, start: int, alpha: int, beta: int, queue: NDArray[numpy.int64], distance: NDArray[numpy.int32]
) -> tuple[int, int, int]:
    row_offsets, columns = rows
    n = len(row_offsets) - 1
    queue[0] = start
    distance[start] = 0
    begin, end = 0, 1
    level, read, beyond = 0, 0, 0
    left = row_offsets[n]
    pulling = False
    while begin < end:
        frontier = 0
        for place in range(begin, end):
            frontier += row_offsets[queue[place] + 1] - row_offsets[queue[place]]
        left -= frontier
        pulling = (end - begin) * beta >= n if pulling else frontier * alpha > left
        stop = end
        if pulling:
            for vertex in range(n):
                if distance[vertex] >= 0:
                    continue
                first = row_offsets[vertex]
                for i in range(first, row_offsets[vertex + 1]):
                    read += 1
                    if i >= first + 2:
                        beyond += 1
                    if distance[numpy.int64(columns[i])] == level:
                        distance[vertex] = level + 1
                        queue[end] = vertex
                        end += 1
                        break
        else:
            read += frontier
            beyond += frontier
            for place in range(begin, stop):
                for i in range(row_offsets[queue[place]], row_offsets[queue[place] + 1]):
                    neighbour = numpy.int64(columns[i])
                    if distance[neighbour] < 0:
                        distance[neighbour] = level + 1
                        queue[end] = neighbour
                        end += 1
        begin = stop
        level += 1
    return read, beyond, level
