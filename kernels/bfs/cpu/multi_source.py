"""Up to 64 searches at once on one CPU thread, with one bit for each in a word per vertex.

Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014, section 3.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.buffers import MAX_SEARCHES, Size, batch_on_host
from gravel.kernels.bfs.query import Query
from gravel.kernels.bfs.result import BatchResult, BFSResult, check_batch
from gravel.kernels.bits import trailing_zeros
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.spans import readable, span, values_of

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)


class MultiSource:
    """Rows made ready: the words of their vertices, two queues and the labels of a batch.

    `batch` is how many searches may run at once, 1 to 64; `symmetric` does not matter. Raises ValueError for
    a batch that cannot be.
    """

    strategy = "multi_source"
    reason = ""

    def __init__(self, rows: EncodedRows, query: Query, *, batch: int = MAX_SEARCHES) -> None:
        started = time.perf_counter()
        self._max_depth = query.depth
        if not 1 <= batch <= MAX_SEARCHES:
            raise ValueError(f"batch is {batch}; it can be 1 to {MAX_SEARCHES} searches")
        row_offsets, columns = readable(rows)
        self.vertices = rows.vertex_count
        self.batch = batch
        wanted, item = (query.tree, query.distance), numpy.dtype(rows.dtype).itemsize
        size = Size(self.vertices, rows.arc_count, *wanted, batch=batch, item=item)
        made = make(batch_on_host(size), numpy)
        self._distance, self._predecessor = made.pop("distance"), made.pop("predecessor")
        self._arrays = row_offsets, columns, *made.values()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex, as a batch of one; raises ValueError if there is no such vertex."""
        return self.run_many([source]).searches()[0]

    def run_many(self, sources: Sequence[int]) -> BatchResult:
        """Search from several vertices at once; `gravel.kernels.bfs.result.BatchResult` says what comes back.

        Raises ValueError for a vertex that does not exist, for none, and for more than `batch`.
        """
        checked = check_batch(sources, self.batch, self.vertices)
        count = len(checked)
        distance, predecessor = self._distance[:count], self._predecessor[:count]
        start = numpy.array(checked, numpy.int64)
        started = time.perf_counter()
        # As unsigned numbers none is larger than any.
        labels = distance, predecessor.view(f"u{predecessor.itemsize}")
        levels = search_together(*self._arrays, start, *labels, self._max_depth)
        milliseconds = (time.perf_counter() - started) * 1e3
        return BatchResult(
            checked,
            distance if len(distance) else None,
            predecessor if len(predecessor) else None,
            milliseconds,
            ("push",) * levels,
        )


@serial
def search_together(
    row_offsets: NDArray[Any],
    columns: Any,
    seen: NDArray[Any],
    news: NDArray[Any],
    offers: NDArray[Any],
    queue: NDArray[Any],
    following: NDArray[Any],
    sources: NDArray[Any],
    distance: NDArray[Any],
    predecessor: NDArray[Any],
    max_depth: int,
) -> int:
    """Search from all sources; returns the number of levels that were expanded.

    Bit i of `seen`, `news` (the frontier) and `offers` (the next one) belongs to search i. Labels are
    (searches, vertices), or have no rows. What one level offers is committed before the next, so that each
    predecessor is the smallest.
    """
    hops, claims = len(distance) > 0, len(predecessor) > 0
    values = values_of(columns)
    seen[:] = _ZERO
    offers[:] = _ZERO
    distance[:] = -1
    predecessor[:] = predecessor.dtype.type(numpy.int64(-1))
    tail = 0
    for i in range(len(sources)):
        v = sources[i]
        if offers[v] == _ZERO:
            queue[tail] = v
            tail += 1
        offers[v] |= _ONE << numpy.uint64(i)
    level = 0
    while tail > 0:
        for i in range(tail):
            v = queue[i]
            news[v] = offers[v]
            offers[v] = _ZERO
            seen[v] |= news[v]
            bits = news[v]
            while hops and bits != _ZERO:
                distance[numpy.int64(trailing_zeros(bits)), v] = level
                bits &= bits - _ONE
        if level >= max_depth:
            return level
        end, tail = tail, 0
        for i in range(end):
            u = queue[i]
            low, high = span(columns, row_offsets, u, values)
            for k in range(low, high):
                v = values[numpy.uint64(k)]
                newly_visited = news[u] & ~seen[v]
                if newly_visited == _ZERO:
                    continue
                if offers[v] == _ZERO:
                    following[tail] = v
                    tail += 1
                offers[v] |= newly_visited
                while claims and newly_visited != _ZERO:
                    search = numpy.int64(trailing_zeros(newly_visited))
                    predecessor[search, v] = min(predecessor[search, v], u)
                    newly_visited &= newly_visited - _ONE
        queue, following = following, queue
        level += 1
    return level
