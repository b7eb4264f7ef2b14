"""Parts of rows as `streamed.cu` takes them: lines of columns, or ranges of encoded rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.cuda.kept_lines import LINE, LINES, start
from gravel.kernels.layouts.device_parts import DeviceParts
from gravel.kernels.layouts.host_parts import part_length
from gravel.kernels.placement.copied import CopiedParts
from gravel.kernels.placement.parts import even_ranges

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SPAN = LINE * LINES  # columns of a word of lines, as in host_rows.cuh


class LineParts:
    """Parts of columns, some words of lines each; a level marks the lines that it needs."""

    MARKS = True

    def __init__(self, rows: EncodedRows, buffer_bytes: int, buffers: int) -> None:
        import cupy
        import numpy

        offsets = cupy.ascontiguousarray(rows.arrays["row_offsets"])
        columns = rows.arrays["column_indices"]
        dtype, arcs = columns.dtype, len(columns)
        self._words = -(-arcs // SPAN)
        self._part_words = max(1, part_length(buffer_bytes, buffers, dtype.itemsize) // SPAN)
        length = self._part_words * SPAN
        ranges = even_ranges(arcs, length)
        self.count = len(ranges)
        self._copied = CopiedParts(columns, ranges, min(length, arcs), buffers)
        self.notes = self._copied.notes
        self.sizes = numpy.uint64(rows.vertex_count), numpy.uint64(arcs)
        first_rows = cupy.empty(self._words + 1, dtype)
        if rows.vertex_count:
            start(dtype, "find_first_rows", self._words + 1, offsets, *self.sizes, first_rows)
        self.rows = offsets, first_rows
        self.lines = (cupy.zeros(max(1, self._words), cupy.uint32),)
        self.counted_by = numpy.uint64(self._part_words), numpy.uint64(self.count)

    def each(self, parts: Sequence[int], counts: Any) -> Iterator[tuple[int, tuple[Any, ...], int]]:
        """Yield (part, arguments of `push_part`, bytes copied); `counts` are marked lines of each part."""
        import numpy

        for part, there, size in self._copied.each(parts):
            first = part * self._part_words
            numbers = first, min(first + self._part_words, self._words), int(counts[part])
            yield part, (there, *(numpy.uint64(number) for number in numbers)), size


class RangeParts:
    """Parts of encoded rows, a range of rows each, which are copied whole."""

    MARKS = False
    lines = ()

    def __init__(self, rows: EncodedRows, buffer_bytes: int, buffers: int) -> None:
        import numpy

        self._parts = DeviceParts(rows, buffer_bytes=buffer_bytes, buffers=buffers)
        self.count, self.notes = self._parts.count, self._parts.notes
        self.sizes = (numpy.uint64(rows.vertex_count),)
        self.rows = (self._parts.byte_offsets,)
        self.counted_by = self._parts.rows, numpy.uint64(self.count)

    def each(self, parts: Sequence[int], counts: Any) -> Iterator[tuple[int, tuple[Any, ...], int]]:
        """Yield (part, arguments of `push_part`, bytes copied)."""
        return self._parts.each(parts)
