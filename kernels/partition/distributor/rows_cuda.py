"""Rows that are counted, filled in any order and sorted in ranges on the current GPU.

The kernels are `distributor.cu`, the sort is CuPy's by 64-bit keys (`gravel.kernels.csr.cuda`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from gravel.kernels.csr import buffers
from gravel.kernels.csr.cuda import sorted_rows
from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.partition.distributor.buffers import offsets_on_gpu


class Kernels:
    """The kernels for a dtype of columns, launched over items with blocks of one size."""

    def __init__(self, dtype: Any, block: int) -> None:
        vertex = vertex_macro(numpy.dtype(dtype))
        self._module = load("kernels/partition/distributor/distributor.cu", VERTEX=vertex)
        self._block = block

    def run(self, name: str, items: int, *arguments: Any) -> None:
        """Launch a kernel for so many items, at least one."""
        if items:
            grid = blocks_for(items, self._block, most=1 << 14)
            self._module.get_function(name)((grid,), (self._block,), arguments)


class RowsOnDevice:
    """Rows that are counted, filled in any order and sorted in ranges; `offsets` int64 (rows + 1,)."""

    def __init__(self, rows: int, dtype: Any, *, sort_arcs: int, block: int) -> None:
        import cupy

        self._kernels = Kernels(dtype, block)
        self._sort_arcs, self._block = sort_arcs, block
        self._rows, self._dtype = rows, numpy.dtype(dtype)
        self.offsets = offsets_on_gpu(rows).make(cupy)
        self.columns = cupy.empty(0, dtype)
        self._cursors = cupy.empty(0, numpy.int64)

    def count(self, rows: Any) -> None:
        """Count arcs of rows, uint32."""
        self._kernels.run("count_rows", len(rows), rows, numpy.uint64(len(rows)), self.offsets[1:])

    def begin(self) -> None:
        """Make room for what was counted."""
        import cupy

        cupy.cumsum(self.offsets, out=self.offsets)
        self._cursors = self.offsets[:-1].copy()
        self.columns = buffers.columns(int(self.offsets[-1]), self._dtype.str[1:]).make(cupy)

    def place(self, rows: Any, columns: Any) -> None:
        """Put arcs into their rows."""
        count = numpy.uint64(len(rows))
        self._kernels.run("place_arcs", len(rows), rows, columns, count, self._cursors, self.columns)

    def sort(self, bits: int, *, keep_duplicates: bool) -> None:
        """Sort every row, whose columns have at most `bits` bits; what remains moves together."""
        import cupy

        self._cursors = cupy.empty(0, numpy.int64)
        lengths = offsets_on_gpu(self._rows).make(cupy)
        end = 0
        for first, last, begin, stop in self.ranges():
            rows = last - first
            if (rows - 1).bit_length() + bits > 64:
                raise ValueError(f"{rows} rows with columns of {bits} bits do not fit 64-bit keys")
            keys = buffers.keys(stop - begin).make(cupy)
            span = numpy.uint64(first), numpy.uint64(rows), numpy.uint32(bits)
            self._kernels.run("pack_rows", stop - begin, self.offsets, self.columns, *span, keys)
            found = sorted_rows(
                keys, rows, bits, self._dtype, keep_duplicates=keep_duplicates, block=self._block
            )
            del keys
            # What is kept ends before the next range begins.
            kept = found.column_indices
            self.columns[end : end + len(kept)] = kept
            lengths[first + 1 : last + 1] = found.row_offsets[1:] - found.row_offsets[:-1]
            end += len(kept)
        cupy.cumsum(lengths, out=lengths)
        self.offsets = lengths
        self.columns = self.columns[:end]

    def ranges(self) -> Iterator[tuple[int, int, int, int]]:
        """Cut the rows into ranges as they are sorted."""
        return ranges_of(self.offsets, self._sort_arcs)


def ranges_of(offsets: Any, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut rows that have arcs into ranges of at most `most` rows, and arcs but for the last row.

    Yields first row, the one after the last, and the same of the arcs.
    """
    import cupy

    row, begin = 0, 0
    count, total = len(offsets) - 1, int(offsets[-1])
    while begin < total:
        goal = cupy.asarray(numpy.array([begin + most], numpy.int64))
        fits = int(cupy.searchsorted(offsets, goal, side="right")[0]) - 1
        last = min(count, row + most, max(row + 1, fits))
        stop = int(offsets[last])
        if stop > begin:
            yield row, last, begin, stop
        row, begin = last, stop
