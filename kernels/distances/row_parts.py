"""Rows that a GPU searches from many sources: whole, split between its memory and the host's, or in parts.

A level reads nearly all rows where it pulls, so that any arcs are as good in GPU memory as others: a split
keeps those of the first rows there. Rows in parts are copied through buffers at every level, those alone that
the level needs; a part is whole rows, in groups of 32 whose bits share a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy

from gravel.kernels.bfs.cuda.kernel_rows import Columns, kernel_rows
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.layout import body_name, is_read_in_parts
from gravel.kernels.layouts.parts import LINE, cut_rows, host_offsets
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.layouts.units import check_rows, offsets_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows


@dataclass(frozen=True)
class Part:
    """A part's number, the arguments by which kernels read it, and the bytes that were copied for it."""

    number: int
    arguments: tuple[Any, ...]
    copied: int


class RowParts(Protocol):
    """Rows by parts; part i has the vertices from `bounds[i]` to below `bounds[i + 1]`, and no part is empty.

    All of `bounds` but the last are multiples of 32. `macros` are those of a kernel, and `bytes` what is on
    the device for it beside the rows.
    """

    macros: dict[str, str]
    bounds: Sequence[int]
    bytes: int

    def each(self, numbers: Sequence[int]) -> Iterator[Part]:
        """Yield these parts; what is launched on the current stream before the next is asked for reads it."""
        ...


def row_parts(rows: EncodedRows, *, kept: int, buffer_bytes: int, buffers: int) -> RowParts:
    """Bring rows into the form that kernels take.

    Parameters
    ----------
    rows : in any layout; offsets CuPy. What grows with the arcs is a CuPy array, which may be a view of
        pinned host memory, or anything that can be sliced, and is then read in parts.
    kept : bytes of such a view that are copied to the device.
    buffer_bytes, buffers : of rows that are read in parts. Buffers are larger where 32 rows together are.

    Raises ValueError where offsets do not ascend within what is stored.
    """
    if is_read_in_parts(rows):
        return StreamedRows(rows, buffer_bytes, buffers)
    return SplitRows(rows, kept) if kept else WholeRows(rows)


class WholeRows:
    """One part: all rows, wherever the device reads them."""

    def __init__(self, rows: EncodedRows) -> None:
        self._source = source = kernel_rows(rows)
        self.macros = source.macros
        self.bounds: Sequence[int] = (0, rows.vertex_count)
        self.bytes = 0 if isinstance(source, Columns) else source.added
        self._arguments = [source.arguments]

    def each(self, numbers: Sequence[int]) -> Iterator[Part]:
        """See `RowParts`."""
        for number in numbers:
            yield Part(number, self._arguments[number], 0)


class SplitRows(WholeRows):
    """Two parts: the first rows, copied to the device, and the others where they are; one where all fit."""

    def __init__(self, rows: EncodedRows, kept: int) -> None:
        import cupy

        super().__init__(rows)
        name, offsets = body_name(rows), offsets_of(rows)
        body = rows.arrays[name]
        most = min(kept, int(body.nbytes)) // body.dtype.itemsize
        last = int(cupy.searchsorted(offsets, cupy.asarray([most]), side="right")[0]) - 1
        if last < rows.vertex_count:
            last -= last % 32
        end = int(offsets[last])
        # Kernels load whole lines, also where the last row ends within one.
        there = cupy.zeros(max(1, -(-end // LINE) * LINE), body.dtype)
        there[:end] = body[:end]
        self.bytes += int(there.nbytes)
        # No part is empty: where one begins within a group of 32, the one before it has that group.
        self.bounds = tuple(dict.fromkeys((0, last, rows.vertex_count)))
        place, whole = _place_of(rows), self._arguments[0]
        of_kept = (*whole[:place], there, *whole[place + 1 :])
        self._arguments = [of_kept, whole] if last else [whole]


class StreamedRows:
    """Parts that are copied to the device through a few buffers; `notes` says what the system refused."""

    def __init__(self, rows: EncodedRows, buffer_bytes: int, buffers: int) -> None:
        import cupy

        from gravel.kernels.placement.copied import CopiedParts

        dtype, name = numpy.dtype(rows.dtype), body_name(rows)
        body, item = rows.arrays[name], 1
        if rows.layout == "csr":
            check_rows(rows)
            offsets, item = rows.arrays["row_offsets"].get(), dtype.itemsize
        else:
            offsets = host_offsets(rows)
        bounds, room = cut_rows(offsets * item, max(LINE, min(buffer_bytes, len(body) * item)))
        self.bounds: Sequence[int] = bounds.astype(numpy.int64).tolist()
        ends = offsets[self.bounds] * item
        first = ends[:-1] // LINE * LINE // item
        last = numpy.minimum(-(-ends[1:] // LINE) * LINE // item, len(body))
        self._first = first.tolist()
        ranges = list(zip(self._first, last.tolist(), strict=True))
        self._copied = CopiedParts(body, ranges, room // item, buffers)
        self.notes = self._copied.notes
        self.bytes = buffers * room
        self.macros = {"LAYOUT": rows.layout, "VERTEX": vertex_macro(dtype)}
        there = cupy.ascontiguousarray(offsets_of(rows))
        self._item, self._place = item, _place_of(rows)
        if rows.layout == "csr":
            self._arguments: tuple[Any, ...] = there, None
        else:
            self._arguments = device_rows(replace(rows, arrays={"byte_offsets": there}))

    def each(self, numbers: Sequence[int]) -> Iterator[Part]:
        """See `RowParts`; what reading raises is raised where its part would come."""
        place, whole = self._place, self._arguments
        for number, buffer, size in self._copied.each(numbers):
            # Where all rows would begin, as offsets are those of all.
            begin = numpy.uint64((buffer.data.ptr - self._first[number] * self._item) % (1 << 64))
            yield Part(number, (*whole[:place], begin, *whole[place + 1 :]), size)


def _place_of(rows: EncodedRows) -> int:
    return 1 if rows.layout == "csr" else layout_of(rows.layout).arrays.index("stream")
