"""Renumber a graph on the CPU: rows move to their new places, columns are translated and sorted again."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_bits
from gravel.kernels.buffers import make
from gravel.kernels.csr.sort import LONG_ROW, sort_piece
from gravel.kernels.jit import serial
from gravel.kernels.order.buffers import new_columns, renumbering
from gravel.kernels.row_blocks import row_blocks, run_blocks


class Renumbering:
    """A graph about to be renumbered, whose new rows are made range by range.

    Holds, beside the graph and its permutation, the inverse permutation and the new `row_offsets` (int64).
    `permutation[old] = new` has the dtype of `column_indices`. Raises ValueError if it is no permutation.
    """

    def __init__(
        self, row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], permutation: NDArray[Any]
    ) -> None:
        vertices = len(row_offsets) - 1
        if len(permutation) != vertices:
            raise ValueError(f"the permutation has {len(permutation)} entries; there are {vertices} vertices")
        self._old_offsets, self._old_columns = row_offsets, column_indices
        self._permutation = permutation
        made = make(renumbering(vertices, "host", permutation.dtype.str[1:]), numpy)
        self._inverse = made["inverse"]
        self.row_offsets: NDArray[numpy.int64] = made["row_offsets"]
        if not _invert(permutation, row_offsets, self._inverse, self.row_offsets[1:]):
            raise ValueError(
                "not a permutation: a number occurs twice, or is not below the number of vertices"
            )
        numpy.cumsum(self.row_offsets, out=self.row_offsets)

    def rows(self, first: int, last: int) -> NDArray[Any]:
        """Make the columns of new rows first <= v < last, sorted."""
        offsets = self.row_offsets
        begin = int(offsets[first])
        columns: NDArray[Any] = new_columns(int(offsets[last]) - begin, self._old_columns.dtype.str[1:]).make(
            numpy
        )
        old = self._old_offsets, self._old_columns
        names, made = (self._permutation, self._inverse), (offsets, begin, columns)
        bits = index_bits(len(offsets) - 1)

        def move(low: int, high: int) -> Any:
            return _move(old, names, made, bits, first + low, first + high)

        long = run_blocks(move, row_blocks(offsets[first : last + 1]))
        for row in (row for found in long for row in found):
            columns[offsets[row] - begin : offsets[row + 1] - begin].sort()
        return columns


def apply(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], permutation: NDArray[Any]
) -> tuple[NDArray[numpy.int64], NDArray[Any]]:
    """Renumber a whole graph; see `gravel.kernels.order.apply`."""
    renumbering = Renumbering(row_offsets, column_indices, permutation)
    return renumbering.row_offsets, renumbering.rows(0, len(row_offsets) - 1)


@serial
def _invert(
    permutation: NDArray[Any],
    old_offsets: NDArray[numpy.int64],
    inverse: NDArray[Any],
    lengths: NDArray[numpy.int64],
) -> bool:
    """Write the inverse and the new rows' lengths; False unless it is a permutation."""
    vertices = len(permutation)
    lengths[:] = -1
    for old in range(vertices):
        new = numpy.int64(permutation[old])
        if not 0 <= new < vertices or lengths[new] >= 0:
            return False
        inverse[new] = old
        lengths[new] = old_offsets[old + 1] - old_offsets[old]
    return True


@serial
def _move(
    old: tuple[NDArray[numpy.int64], NDArray[Any]],
    names: tuple[NDArray[Any], NDArray[Any]],
    made: tuple[NDArray[numpy.int64], int, NDArray[Any]],
    bits: int,
    low: int,
    high: int,
) -> Any:
    """Fill rows low to high; returns the numbers of those that are too long to be sorted here.

    `names` are the permutation and its inverse. The new columns begin with the arc `made[1]`.
    """
    (old_offsets, old_columns), (permutation, inverse) = old, names
    offsets, begin, columns = made
    buffer = numpy.empty(LONG_ROW, columns.dtype)
    long = numpy.empty((offsets[high] - offsets[low]) // (LONG_ROW + 1), numpy.int64)
    found = 0
    for new in range(low, high):
        start, end = offsets[new] - begin, offsets[new + 1] - begin
        old_start = old_offsets[numpy.int64(inverse[new])]
        for i in range(end - start):
            columns[start + i] = permutation[numpy.int64(old_columns[old_start + i])]
        if end - start <= LONG_ROW:
            sort_piece(columns, start, end, buffer, bits)
        else:
            long[found] = new
            found += 1
    return long[:found]
