"""Search of encoded rows that are read part by part while it runs, on the CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cpu import streamed as of_columns
from gravel.kernels.bfs.cpu.parted import PartedSearch
from gravel.kernels.bits import trailing_zeros
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.parts import cut_stream, host_offsets
from gravel.kernels.layouts.readers import columns_of, count_row, read_row, rows_class
from gravel.kernels.layouts.streams import BROKEN, largest_vertex, refuse
from gravel.kernels.placement.parts import RangeReader
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


def prepare(
    rows: EncodedRows,
    *,
    output: str = "both",
    symmetric: bool = False,
    max_depth: int | None = None,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
) -> StreamedRowsSearch | of_columns.StreamedSearch:
    """Make encoded rows ready whose stream is read while they are searched.

    Parameters
    ----------
    rows : of a square graph; `byte_offsets` NumPy, `stream` any array of bytes that has a length and can be
        sliced, padded or not. Columns (`csr`) are searched as `gravel.kernels.bfs` does.
    output, symmetric, max_depth : as for `gravel.kernels.bfs.prepare`; `symmetric` does not matter.
    buffer_bytes, buffers : how much is read at once, and how many buffers there are, at least 2, so that one
        is filled while another is decoded. A row must fit a buffer.

    Raises ValueError for a value that a parameter cannot have, for offsets that do not ascend within the
    stream, and for a row that fits no buffer.

    """
    started = time.perf_counter()
    if rows.layout == "csr":
        return of_columns.prepare(
            *columns_of(rows),
            output=output,
            max_depth=max_depth,
            buffer_bytes=buffer_bytes,
            buffers=buffers,
        )
    search = StreamedRowsSearch(
        rows, output=output, max_depth=max_depth, buffer_bytes=buffer_bytes, buffers=buffers
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


class StreamedRowsSearch(PartedSearch):
    """Rows made ready: offsets, bitmaps and labels in memory, and buffers for parts of the stream."""

    def __init__(
        self, rows: EncodedRows, *, output: str, max_depth: int | None, buffer_bytes: int, buffers: int
    ) -> None:
        self._source = PartSource(rows, buffer_bytes, buffers)
        super().__init__(rows.vertex_count, self._source.parts.count, output=output, max_depth=max_depth)

    def _mark(self, needed: NDArray[Any]) -> None:
        mark_parts(self._source.byte_offsets, self._source.parts.rows, self._frontier, needed)

    def _expand(self, parts: list[int], depth: int) -> Iterator[None]:
        rows = self._source.parts.rows
        for part, there in self._source.read(parts):
            bad = expand_part(
                there, int(rows[part]), int(rows[part + 1]), self._frontier, self._visited, self._next,
                self._distance, self._predecessor, depth,
            )  # fmt: skip
            if bad >= 0:
                refuse(bad, BROKEN)
            yield


class PartSource:
    """Parts of encoded rows as `read_row` and `count_row` take them, read ahead of whoever works on them."""

    def __init__(self, rows: EncodedRows, buffer_bytes: int, buffers: int) -> None:
        self.byte_offsets = host_offsets(rows)
        stream = rows.arrays["stream"]
        self.parts = cut_stream(self.byte_offsets, len(stream), buffer_bytes=buffer_bytes, buffers=buffers)
        dtype = numpy.dtype(rows.dtype)
        self._kind = rows_class(rows.layout)
        self._described = numpy.empty(0, dtype), 0, largest_vertex(max(rows.vertex_count, 1), dtype)
        longest = max((last - first for first, last in self.parts.ranges), default=0)
        # Whole words of a part are looked at, and what lies behind its last row must not vary.
        held = [numpy.zeros(-(-longest // 4) * 4, numpy.uint8) for _ in range(buffers)]
        self._views = [each.view(self._kind.word) for each in held]
        self._reader = RangeReader(stream, self.parts.ranges, held)

    def read(self, parts: list[int]) -> Any:
        """Yield (part, its rows); they are valid until the next one is asked for."""
        for part, _, slot in self._reader.read(parts):
            base = self.parts.ranges[part][0]
            yield part, self._kind(self.byte_offsets, self._views[slot], *self._described, base)


@serial
def mark_parts(
    byte_offsets: NDArray[Any], rows: NDArray[Any], frontier: NDArray[Any], needed: NDArray[Any]
) -> None:
    """Say which parts, that begin with these rows, hold bytes of the frontier's rows."""
    part = 0
    for word in range(len(frontier)):
        bits = frontier[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            if byte_offsets[v + _ONE] > byte_offsets[v]:
                while rows[part + 1] <= numpy.int64(v):
                    part += 1
                needed[part] = True


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
    """Claim the neighbours of frontier rows `low` to below `high`; returns a row that is damaged, or -1.

    Rows ascend here, and parts from call to call, so the first claim is the smallest predecessor.
    """
    hops, claims = len(distance) > 0, len(predecessor) > 0
    neighbours = numpy.empty(1 << 12, rows.dtype.dtype)
    for word in range(low >> 6, min((high >> 6) + 1, len(frontier))):
        bits = frontier[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            row = numpy.int64(v)
            if row < low or row >= high:
                continue
            count = count_row(rows, row)
            if count < 0:
                return row
            if count > len(neighbours):
                neighbours = numpy.empty(2 * count, rows.dtype.dtype)
            if count != read_row(rows, row, neighbours):
                return row
            for k in range(count):
                w = numpy.uint64(neighbours[k])
                place, bit = w >> _SIX, _ONE << (w & _63)
                if (visited[place] | following[place]) & bit:
                    continue
                following[place] |= bit
                if hops:
                    distance[w] = depth
                if claims:
                    predecessor[w] = v
    return -1
