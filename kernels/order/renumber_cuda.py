"""Renumber a graph on the GPU range by range; the kernels are `renumber.cu`, the sort CuPy's.

The twin of `gravel.kernels.order.renumber`. The columns may be a view of pinned memory: a range of new rows
is gathered over the link, and what lies on the device is that range and what grows with the vertices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from gravel.kernels.arrays import index_bits
from gravel.kernels.buffers import make
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import BLOCK, Kernels
from gravel.kernels.cuda.room import give_free_blocks_back
from gravel.kernels.order.buffers import keys, new_columns, renumbering

SOURCE = "kernels/order/renumber.cu"
LONG_ROW = 1024  # arcs from which a block copies a row, not a warp
ARCS_AT_ONCE = 1 << 29  # arcs sorted at once: their keys and the sort's copy take 8 GiB
MAX_BLOCKS = 1 << 16


class Renumbering:
    """A graph about to be renumbered, whose new rows are made range by range.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,), CuPy.
    column_indices : uint32 or uint64 (arcs,), CuPy, or a view of pinned memory.
    permutation : (vertices,), CuPy; `permutation[old] = new`.
    column_permutation : that of the columns, where they are no rows; `permutation` by default.
    block, long_row : threads of a block, a multiple of 32; arcs from which a block copies a row, not a warp.

    `row_offsets` of the result are the new ones, int64 (vertices + 1,), CuPy. Raises ValueError if
    `permutation` is none.

    """

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        permutation: Any,
        *,
        column_permutation: Any | None = None,
        block: int = BLOCK,
        long_row: int = LONG_ROW,
    ) -> None:
        import cupy

        vertices = len(row_offsets) - 1
        if len(permutation) != vertices:
            raise ValueError(f"the permutation has {len(permutation)} entries; there are {vertices} vertices")
        self._long_row = long_row
        self._old_offsets, self._old_columns = row_offsets, column_indices
        permutation = permutation.astype(column_indices.dtype, copy=False)
        self._new_columns = permutation if column_permutation is None else column_permutation
        self._bits = index_bits(len(self._new_columns))
        vertex = vertex_macro(column_indices.dtype)
        self._run = Kernels(SOURCE, block=block, most=MAX_BLOCKS, VERTEX=vertex).run
        self._inverse, self.row_offsets = make(renumbering(vertices), cupy).values()
        if not vertices:
            return
        faults = cupy.zeros(1, cupy.uint64)
        arrays = row_offsets, permutation, vertices, self._inverse, self.row_offsets[1:]
        self._run("invert", vertices, *arrays, faults)
        if int(faults[0]):
            raise ValueError(
                "not a permutation: a number occurs twice, or is not below the number of vertices"
            )
        cupy.cumsum(self.row_offsets, out=self.row_offsets)

    def ranges(self, arcs_at_once: int = ARCS_AT_ONCE) -> Iterator[tuple[int, int]]:
        """Cut the new rows into ranges of at most `arcs_at_once` arcs, or of one row that is longer."""
        import cupy

        first, vertices = 0, len(self.row_offsets) - 1
        while first < vertices:
            upto = self.row_offsets[first : first + 1] + arcs_at_once
            last = int(cupy.searchsorted(self.row_offsets, upto, side="right")[0]) - 1
            last = min(max(last, first + 1), vertices, first + (1 << (64 - self._bits)))
            yield first, last
            first = last

    def rows(self, first: int, last: int, *, out: Any = None) -> Any:
        """Make the columns of new rows first <= v < last, sorted; `out` takes them, which may be pinned.

        A range must be one of `ranges`, or smaller.
        """
        import cupy

        begin, end = (int(each) for each in self.row_offsets[[first, last]].get())
        arcs = end - begin
        columns = new_columns(arcs, self._old_columns.dtype.str[1:]).make(cupy) if out is None else out
        if not arcs:
            return columns
        arc_keys = keys(arcs).make(cupy)
        long_rows = cupy.flatnonzero(cupy.diff(self.row_offsets[first : last + 1]) > self._long_row)
        graph = self._old_offsets, self._old_columns, self._new_columns, self._inverse, self.row_offsets
        bits, long = numpy.uint32(self._bits), (numpy.int64(self._long_row), long_rows, len(long_rows))
        self._run("row_keys", (last - first) * 32, *graph, first, last, bits, *long, arc_keys)
        arc_keys.sort()
        self._run("key_columns", arcs, arc_keys, arcs, bits, columns)
        return columns


def apply(
    row_offsets: Any,
    column_indices: Any,
    permutation: Any,
    *,
    arcs_at_once: int = ARCS_AT_ONCE,
    out: Any = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Renumber a whole graph; see `gravel.kernels.order.apply`, and `Renumbering` for the options.

    Rows are made `arcs_at_once` arcs at a time (more only for one longer row), which need 16 bytes each
    beside the two graphs. `out` takes the columns; it and `column_indices` may be views of pinned memory.
    Raises ValueError if `permutation` is none.
    """
    import cupy

    columns = cupy.empty_like(column_indices) if out is None else out
    renumbering = Renumbering(row_offsets, column_indices, permutation, **options)
    done = 0
    for first, last in renumbering.ranges(arcs_at_once):
        upto = int(renumbering.row_offsets[last])
        renumbering.rows(first, last, out=columns[done:upto])
        done = upto
        if last < len(row_offsets) - 1:
            # The next range has other sizes.
            give_free_blocks_back()
    return renumbering.row_offsets, columns
