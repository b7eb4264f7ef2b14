"""Long rows cut into pieces, which are spread over the grid."""

from __future__ import annotations

from typing import Any

import numpy


class Pieces:
    """The rows of more than `length` arcs, on the device, and their pieces of at most so many arcs.

    `long_rows` and `vertex` have the dtype of the columns; the others are int64. The pieces of the i-th long
    row are those from `first[i]` to `first[i + 1]`, and `begin` are their first places in the columns.
    """

    def __init__(self, row_offsets: Any, length: int, dtype: Any) -> None:
        import cupy

        rows = cupy.flatnonzero(row_offsets[1:] - row_offsets[:-1] > length)
        begin = row_offsets[rows]
        ends = cupy.cumsum((row_offsets[rows + 1] - begin + (length - 1)) // length)
        self.rows = len(rows)
        self.count = int(ends[-1]) if self.rows else 0
        place = cupy.arange(self.count, dtype=cupy.int64)
        row = cupy.searchsorted(ends, place, side="right")
        self.first = cupy.zeros(self.rows + 1, cupy.int64)
        self.first[1:] = ends
        self.long_rows = rows.astype(dtype)
        self.vertex = rows[row].astype(dtype)
        self.begin = begin[row] + (place - self.first[row]) * length
        each = (self.first, self.long_rows, self.vertex, self.begin)
        self.bytes = sum(int(array.nbytes) for array in each)

    @property
    def each(self) -> tuple[Any, ...]:
        """The arguments of a kernel that works by piece: vertex, begin, count."""
        return self.vertex, self.begin, numpy.uint64(self.count)

    @property
    def of_rows(self) -> tuple[Any, ...]:
        """The arguments of a kernel that works by long row: rows, first pieces, count."""
        return self.long_rows, self.first, numpy.uint64(self.rows)
