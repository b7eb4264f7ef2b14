"""Sequential BFS on the CPU: one queue, one thread (Merrill, Garland, Grimshaw, TOPC 2015, algorithm 1).

It is the baseline that the papers state speedups over, so it is kept as plain as they have it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.buffers import Size, serial_on_host
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial


class SerialSearch:
    """A CSR graph made ready: its queue and labels. A search for predecessors keeps distances too.

    `symmetric` does not matter.
    """

    strategy = "serial"
    reason = ""

    def __init__(self, row_offsets: NDArray[Any], column_indices: NDArray[Any], query: Query) -> None:
        started = time.perf_counter()
        self._query = query
        n = self._vertices = len(row_offsets) - 1
        self._arrays = row_offsets, column_indices
        size = Size(n, len(column_indices), query.tree, item=column_indices.dtype.itemsize)
        self._queue, self._distance, self._predecessor = make(serial_on_host(size), numpy).values()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError if there is no such vertex."""
        check_source(source, self._vertices)
        started = time.perf_counter()
        levels = search(
            *self._arrays, source, self._query.depth, self._queue, self._distance, self._predecessor
        )
        milliseconds = (time.perf_counter() - started) * 1e3
        labels = self._query.wanted(self._distance, self._predecessor)
        return BFSResult(source, *labels, milliseconds, ("push",) * levels)


@serial
def search(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    source: int,
    max_depth: int,
    queue: NDArray[Any],
    distance: NDArray[Any],
    predecessor: NDArray[Any],
) -> int:
    """Search from one vertex and return the number of levels; `predecessor` may have no elements.

    `queue` has an element per vertex. A vertex keeps the smallest predecessor of the level that reaches it.
    """
    follow = len(predecessor) > 0
    distance[:] = -1
    predecessor[:] = -1
    distance[source] = 0
    queue[0] = source
    head, tail, levels = 0, 1, 0
    while head < tail:
        u = numpy.int64(queue[head])
        head += 1
        depth = distance[u] + 1
        if depth > max_depth:
            break
        levels = depth
        for k in range(row_offsets[u], row_offsets[u + 1]):
            v = numpy.int64(column_indices[k])
            if distance[v] == -1:
                distance[v] = depth
                queue[tail] = v
                tail += 1
                if follow:
                    predecessor[v] = u
            elif follow and distance[v] == depth and u < predecessor[v]:
                predecessor[v] = u
    return int(levels)
