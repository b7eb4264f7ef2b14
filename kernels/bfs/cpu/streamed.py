"""Search of rows that are read part by part while it runs, on the CPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.buffers import Size, streamed_on_host
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.bits import trailing_zeros
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.host_parts import count_in_part, host_parts, span_in_part, values_of_part
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


class StreamedSearch:
    """Rows made ready that are read while they are searched, through buffers in memory.

    Parameters
    ----------
    rows : of a square graph, in any layout; offsets NumPy. The array that grows with the arcs, columns or a
        stream, is any that has a length and a dtype and can be sliced. A slice is read when a level needs it,
        and may be read again in a later level.
    query : of which `symmetric` does not matter.
    buffer_bytes, buffers : how much is read at once, and how many buffers there are, at least 2, so that one
        is filled while another is searched. An encoded row must fit a buffer.

    Raises ValueError for a value that a parameter cannot have, for offsets that do not ascend within the
    stream, and for an encoded row that fits no buffer.

    """

    strategy = "streamed"
    reason = ""

    def __init__(
        self, rows: EncodedRows, query: Query, *, buffer_bytes: int = BUFFER_BYTES, buffers: int = BUFFERS
    ) -> None:
        started = time.perf_counter()
        self._query = query
        self._parts = host_parts(rows, buffer_bytes, buffers)
        n = self.vertices = rows.vertex_count
        self.progress: Callable[[int, int], None] | None = None
        made = make(streamed_on_host(Size(n, rows.arc_count, query.tree, query.distance)), numpy)
        self._visited, self._frontier, self._next, self._distance, self._predecessor = made.values()
        self._needed = numpy.zeros(self._parts.count, numpy.bool_)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time covers all reading. `progress` gets parts read of each level's.

        Raises ValueError for a vertex that does not exist and for a row that is damaged, and whatever reading
        raises.
        """
        check_source(source, self.vertices)
        started = time.perf_counter()
        for array in (self._visited, self._frontier, self._next):
            array[:] = 0
        self._distance[:] = -1
        self._predecessor[:] = -1
        self._distance[source : source + 1] = 0
        bit = _ONE << numpy.uint64(source & 63)
        self._visited[source >> 6] = self._frontier[source >> 6] = bit
        level, found = 0, 1
        while found and level < self._query.depth:
            level += 1
            self._expand(level)
            found = turn(self._visited, self._frontier, self._next)
        return BFSResult(
            source,
            *self._query.wanted(self._distance, self._predecessor),
            (time.perf_counter() - started) * 1e3,
            ("push",) * level,
        )

    def _expand(self, depth: int) -> None:
        """Read the parts that hold rows of the frontier, and search them."""
        self._needed[:] = False
        self._parts.mark(self._frontier, self._needed)
        parts = numpy.flatnonzero(self._needed).tolist()
        for done, (rows, low, high) in enumerate(self._parts.read(parts), 1):
            bad = expand_part(
                rows, low, high, self._frontier, self._visited, self._next,
                self._distance, self._predecessor, depth,
            )  # fmt: skip
            if bad >= 0:
                from gravel.kernels.layouts.streams import BROKEN, refuse

                refuse(bad, BROKEN)
            if self.progress is not None:
                self.progress(done, len(parts))


@serial
def expand_part(
    rows: Any,
    low: int,
    high: int,
    frontier: NDArray[Any],
    visited: NDArray[Any],
    following: NDArray[Any],
    distance: NDArray[Any],
    predecessor: NDArray[Any],
    depth: int,
) -> Any:
    """Claim what a part has of frontier rows `low` to below `high`; returns a row that is damaged, or -1.

    Rows ascend here, and parts from call to call, so the first claim is the smallest predecessor.
    """
    hops, claims = len(distance) > 0, len(predecessor) > 0
    values = values_of_part(rows)
    for word in range(low >> 6, min((high >> 6) + 1, len(frontier))):
        bits = frontier[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            row = numpy.int64(v)
            if row < low or row >= high:
                continue
            count = count_in_part(rows, row)
            if count < 0:
                return row
            if count > len(values):
                values = numpy.empty(2 * count, values.dtype)
            begin, end = span_in_part(rows, row, values)
            if end - begin < count:
                return row
            for k in range(begin, end):
                w = numpy.uint64(values[numpy.uint64(k)])
                place, bit = w >> _SIX, _ONE << (w & _63)
                if (visited[place] | following[place]) & bit:
                    continue
                following[place] |= bit
                if hops:
                    distance[w] = depth
                if claims:
                    predecessor[w] = v
    return -1


@serial
def turn(visited: NDArray[Any], frontier: NDArray[Any], following: NDArray[Any]) -> bool:
    """End a level; returns whether it found anything."""
    some = False
    for word in range(len(visited)):
        bits = following[word]
        some |= bits != 0
        visited[word] |= bits
        frontier[word] = bits
        following[word] = 0
    return some
