"""A bounded search on the host, which tells how deep a graph is."""

from __future__ import annotations

from typing import Any

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
