"""Sums of reciprocal distances, added one by one in a given order and so rounded as those of NetworkX.

`gravel.kernels.distances.many` adds those of a level at once, which is faster and rounds otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


def reciprocal_sums(
    rows: tuple[NDArray[numpy.int64], NDArray[Any]],
    sources: NDArray[numpy.int64],
    counted: NDArray[numpy.bool_],
    *,
    by_source: bool,
) -> NDArray[numpy.float64]:
    """Return for each vertex the sum of 1 / distance from the sources, float64 (vertices,).

    `rows` are (row_offsets, column_indices). Only vertices that are `counted` get a sum; `by_source` gives it
    to the source instead, over all of them.
    """
    n = len(rows[0]) - 1
    total = numpy.zeros(n, numpy.float64)
    queue, visited = numpy.empty(n, numpy.int64), numpy.zeros(n, numpy.uint8)
    _add(*rows, sources, counted, by_source, queue, visited, total)
    return total


@serial
def _add(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    sources: NDArray[Any],
    counted: NDArray[Any],
    by_source: bool,
    queue: NDArray[Any],
    visited: NDArray[Any],
    total: NDArray[Any],
) -> None:
    for source in sources:
        queue[0] = source
        visited[source] = 1
        head, tail, level = 0, 1, 0
        while head < tail:
            end = tail
            level += 1
            for i in range(head, end):
                for k in range(row_offsets[queue[i]], row_offsets[queue[i] + 1]):
                    v = numpy.int64(column_indices[k])
                    if visited[v] == 0:
                        visited[v] = 1
                        queue[tail] = v
                        tail += 1
                        if counted[v]:
                            total[source if by_source else v] += 1.0 / level
            head = end
        for i in range(tail):
            visited[queue[i]] = 0
