"""Rows that are read part by part on the host, while whoever reads them works on the part before.

Columns are cut evenly, wherever rows begin; a stream of encoded rows is cut between rows. A compiled kernel
gets a part as a tuple, of which rows `low` to below `high` have something in it: it asks
`values_of_part(rows)` once for where neighbours will be, `count_in_part` for how many must be decoded, and
`span_in_part` for their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numba.extending import overload

from gravel.kernels.bits import trailing_zeros
from gravel.kernels.generated import class_of
from gravel.kernels.jit import serial
from gravel.kernels.placement.parts import PartReader, RangeReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.layouts import EncodedRows

_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)


class PartOfColumns(NamedTuple):
    """Columns from arc `first` on, and where all rows begin."""

    offsets: Any
    columns: Any
    first: int


def host_parts(rows: EncodedRows, buffer_bytes: int, buffers: int) -> ColumnParts | StreamParts:
    """Cut rows of any layout into parts that are read through `buffers` buffers of `buffer_bytes`.

    The array that grows with the arcs, `column_indices` or `stream`, may be anything that has a length and a
    dtype and can be sliced. Raises ValueError for sizes that cannot be, for offsets that do not ascend, and
    for an encoded row that fits no buffer.
    """
    if rows.layout == "csr":
        arrays = rows.arrays
        return ColumnParts(arrays["row_offsets"], arrays["column_indices"], buffer_bytes, buffers)
    return StreamParts(rows, buffer_bytes, buffers)


def part_length(buffer_bytes: int, buffers: int, item: int) -> int:
    """Columns of a part; raises ValueError for sizes that cannot be."""
    if buffers < 2:
        raise ValueError(f"buffers is {buffers}; it must be 2 or more")
    if buffer_bytes < item:
        raise ValueError(f"buffer_bytes is {buffer_bytes}; a column takes {item}")
    return buffer_bytes // item


class ColumnParts:
    """Parts of columns; `offsets` say where rows begin, and weigh them."""

    def __init__(self, row_offsets: NDArray[Any], columns: Any, buffer_bytes: int, buffers: int) -> None:
        length = part_length(buffer_bytes, buffers, columns.dtype.itemsize)
        buffers_of_parts = [numpy.empty(min(length, len(columns)), columns.dtype) for _ in range(buffers)]
        self.offsets = row_offsets
        self._reader = PartReader(columns, length, buffers_of_parts)
        self.count = self._reader.count

    def read(self, parts: Sequence[int]) -> Iterator[tuple[Any, int, int]]:
        """Yield each part, its first row and one more than its last; valid until the next is asked for."""
        for part, columns, _ in self._reader.read(parts):
            first, last = self._reader.bounds(part)
            low = int(numpy.searchsorted(self.offsets, first, side="right")) - 1
            high = int(numpy.searchsorted(self.offsets, last, side="left"))
            yield PartOfColumns(self.offsets, columns, first), low, high

    def mark(self, bitmap: NDArray[Any], needed: NDArray[Any]) -> None:
        """Say which parts hold columns of a bitmap's rows."""
        _mark_columns(self.offsets, bitmap, self._reader.length, needed)


class StreamParts:
    """Parts of a stream of encoded rows, as `gravel.kernels.layouts.readers` reads rows."""

    def __init__(self, rows: EncodedRows, buffer_bytes: int, buffers: int) -> None:
        from gravel.kernels.layouts.parts import cut_stream, host_offsets
        from gravel.kernels.layouts.readers import rows_class
        from gravel.kernels.layouts.streams import largest_vertex

        self.offsets = host_offsets(rows)
        stream = rows.arrays["stream"]
        self._parts = cut_stream(self.offsets, len(stream), buffer_bytes=buffer_bytes, buffers=buffers)
        self.count = self._parts.count
        dtype = numpy.dtype(rows.dtype)
        self._kind = rows_class(rows.layout)
        self._described = numpy.empty(0, dtype), 0, largest_vertex(max(rows.vertex_count, 1), dtype)
        longest = max((last - first for first, last in self._parts.ranges), default=0)
        # Whole words of a part are looked at, and what lies behind its last row must not vary.
        buffers_of_parts = [numpy.zeros(-(-longest // 4) * 4, numpy.uint8) for _ in range(buffers)]
        self._views = [each.view(self._kind.word) for each in buffers_of_parts]
        self._reader = RangeReader(stream, self._parts.ranges, buffers_of_parts)

    def read(self, parts: Sequence[int]) -> Iterator[tuple[Any, int, int]]:
        """As `ColumnParts.read`."""
        rows = self._parts.rows
        for part, _, slot in self._reader.read(parts):
            base = self._parts.ranges[part][0]
            there = self._kind(self.offsets, self._views[slot], *self._described, base)
            yield there, int(rows[part]), int(rows[part + 1])

    def mark(self, bitmap: NDArray[Any], needed: NDArray[Any]) -> None:
        """Say which parts hold bytes of a bitmap's rows."""
        _mark_rows(self.offsets, self._parts.rows, bitmap, needed)


@serial
def _mark_columns(offsets: NDArray[Any], bitmap: NDArray[Any], length: int, needed: NDArray[Any]) -> None:
    for word in range(len(bitmap)):
        bits = bitmap[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            first, last = offsets[v], offsets[v + _ONE]
            if last > first:
                for part in range(first // length, (last - 1) // length + 1):
                    needed[part] = True


@serial
def _mark_rows(offsets: NDArray[Any], rows: NDArray[Any], bitmap: NDArray[Any], needed: NDArray[Any]) -> None:
    """Parts begin with these rows."""
    part = 0
    for word in range(len(bitmap)):
        bits = bitmap[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            if offsets[v + _ONE] > offsets[v]:
                while rows[part + 1] <= numpy.int64(v):
                    part += 1
                needed[part] = True


FIRST_ROOM = 1 << 12
"""Neighbours that the buffer of encoded rows has room for at first; who reads a longer row makes a larger."""


def values_of_part(rows: Any) -> Any:
    """Give the array that `span_in_part` names places of: the part's columns, or a buffer."""
    return _values_of_part(rows)(rows)


def count_in_part(rows: Any, row: Any) -> int:
    """Count the neighbours that a buffer must have room for, -1 where a row ends too early; 0 of columns."""
    return int(_count_in_part(rows, row)(rows, row))


def span_in_part(rows: Any, row: Any, values: Any) -> tuple[int, int]:
    """Give the first place of a row's neighbours, and one more than its last: fewer where it is damaged."""
    first, last = _span_in_part(rows, row, values)(rows, row, values)
    return first, last


def _are_columns(rows: Any) -> bool:
    return class_of(rows) is PartOfColumns


@overload(values_of_part, strict=False)
def _values_of_part(rows: Any) -> Callable[..., Any]:
    if _are_columns(rows):
        return lambda rows: rows.columns
    return lambda rows: numpy.empty(FIRST_ROOM, rows.dtype.dtype)


@overload(count_in_part, strict=False)
def _count_in_part(rows: Any, row: Any) -> Callable[..., Any]:
    if _are_columns(rows):
        return lambda rows, row: 0
    from gravel.kernels.layouts.readers import count_row

    return lambda rows, row: count_row(rows, row)


@overload(span_in_part, strict=False)
def _span_in_part(rows: Any, row: Any, values: Any) -> Callable[..., Any]:
    if _are_columns(rows):

        def plain(rows, row, values):  # type: ignore[no-untyped-def]
            place = numpy.uint64(row)
            begin = max(rows.offsets[place], rows.first)
            end = min(rows.offsets[place + _ONE], rows.first + len(rows.columns))
            return begin - rows.first, end - rows.first

        return plain
    from gravel.kernels.layouts.readers import read_row

    def decoded(rows, row, values):  # type: ignore[no-untyped-def]
        return numpy.int64(0), numpy.int64(read_row(rows, row, values))

    return decoded
