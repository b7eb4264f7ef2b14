"""The rows of a graph on the device, all at once or one range after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.verify.cuda.memory import LONG
from gravel.kernels.verify.cuda.upload import Uploads

PIECE = numpy.dtype([("row", "<u4"), ("place", "<u4"), ("number", "<u4"), ("unused", "<u4")])
"""`Piece` of long_rows.cuh."""


@dataclass(frozen=True)
class RowBlock:
    """Rows from vertex `first` on; `columns` begin with the arc `offsets[0]`.

    `long_rows` lists those that are too long for one warp, counted from `first`, and `pieces` cuts them.
    """

    first: int
    rows: int
    offsets: Any
    columns: Any
    long_rows: Any
    pieces: Any
    weights: Any = None

    @property
    def long_count(self) -> int:
        """How many rows are too long for one warp."""
        return len(self.long_rows)

    def as_arguments(self) -> tuple[Any, ...]:
        """Return the rows as kernels take them."""
        return self.offsets, self.columns, self.first, self.rows


class RowBlocks:
    """The rows of a graph; with `arcs` at most so many of them at once.

    Raises ValueError for a row with more arcs than that.
    """

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        uploads: Uploads,
        *,
        arcs: int | None = None,
        weights: Any = None,
    ) -> None:
        self._offsets, self._columns, self._uploads = row_offsets, column_indices, uploads
        self._weights = weights
        self.dtype = column_indices.dtype
        self.weight_dtype = None if weights is None else weights.dtype
        self.vertex_count = len(row_offsets) - 1
        self._arcs = arcs
        self._ends: list[int] | None = None
        self._whole: RowBlock | None = None
        self._room: tuple[Any, Any, Any] | None = None

    def each(self, kernels: Kernels) -> Iterator[RowBlock]:
        """Yield the ranges of rows; each is valid until the next. `kernels` has `list_long_rows`."""
        if self._arcs is None:
            if self._whole is None:
                self._whole = self._block(kernels, 0, self.vertex_count)
            yield self._whole
            return
        host = self._host_offsets()
        for first, last in zip([0, *self._bounds(host)], self._bounds(host), strict=False):
            yield self._block(kernels, first, last, host)

    def columns_of(self, vertex: int) -> Any:
        """Return the neighbours of a vertex, in host memory."""
        return self._row_of(self._columns, vertex)

    def weights_of(self, vertex: int) -> Any:
        """Return the weights of a vertex's arcs, in host memory."""
        return self._row_of(self._weights, vertex)

    def _row_of(self, array: Any, vertex: int) -> Any:
        low, high = (int(each) for each in self._offsets[vertex : vertex + 2])
        part = array[low:high]
        return part.get() if backend_of(part) == "cuda" else numpy.asarray(part)

    def _host_offsets(self) -> Any:
        if backend_of(self._offsets) == "cuda":
            self._offsets = self._offsets.get()
        self._offsets = numpy.asarray(self._offsets)
        return self._offsets

    def _bounds(self, host: Any) -> list[int]:
        """Cut where the next row would be one arc too many."""
        if self._ends is None:
            self._ends, first = [], 0
            while first < self.vertex_count:
                goal = int(host[first]) + (self._arcs or 0)
                last = int(numpy.searchsorted(host, goal, side="right")) - 1
                if last <= first:
                    raise ValueError(f"row {first} has more arcs than the device has room for")
                self._ends.append(last)
                first = last
        return self._ends

    def _block(self, kernels: Kernels, first: int, last: int, host: Any = None) -> RowBlock:
        offsets, columns, weights = self._offsets, self._columns, self._weights
        if host is None:
            offsets = self._there(offsets, numpy.int64)
            columns = self._there(columns, columns.dtype)
            weights = None if weights is None else self._there(weights, weights.dtype)
        else:
            count = int(host[last]) - int(host[first])
            room = self._rooms()
            offsets, columns = room[0][: last - first + 1], room[1][:count]
            self._uploads.send(host, offsets, first)
            self._uploads.send(self._columns, columns, int(host[first]))
            if weights is not None:
                weights = room[2][:count]
                self._uploads.send(self._weights, weights, int(host[first]))
        long_rows = _long_rows(kernels, offsets, len(columns))
        return RowBlock(first, last - first, offsets, columns, *long_rows, weights)

    def _there(self, array: Any, dtype: Any) -> Any:
        import cupy

        if backend_of(array) == "cuda":
            return cupy.ascontiguousarray(array.astype(dtype, copy=False))
        out = cupy.empty(len(array), dtype)
        self._uploads.send(array, out)
        return out

    def _rooms(self) -> tuple[Any, Any, Any]:
        if self._room is None:
            import cupy

            ends = self._bounds(self._offsets)
            rows = max(last - first for first, last in zip([0, *ends], ends, strict=False))
            columns = cupy.empty(self._arcs, self._columns.dtype)
            weights = None if self._weights is None else cupy.empty(self._arcs, self.weight_dtype)
            self._room = cupy.empty(rows + 1, numpy.int64), columns, weights
        return self._room


def _long_rows(kernels: Kernels, offsets: Any, arcs: int) -> tuple[Any, Any]:
    import cupy

    rows = len(offsets) - 1
    found = cupy.empty(2 * (arcs // LONG + 1), numpy.uint32)
    count = cupy.zeros(1, numpy.uint32)
    kernels.run("list_long_rows", rows, offsets, rows, found, count)
    listed = found[: 2 * int(count.get()[0])].get().reshape(-1, 2)
    listed = listed[numpy.argsort(listed[:, 0])]
    several = listed[:, 1].astype(numpy.int64)
    place = numpy.repeat(numpy.arange(len(listed)), several)
    pieces = numpy.zeros(len(place), PIECE)
    pieces["row"], pieces["place"] = listed[place, 0], place
    pieces["number"] = numpy.arange(len(place)) - numpy.repeat(numpy.cumsum(several) - several, several)
    return cupy.asarray(numpy.ascontiguousarray(listed[:, 0])), cupy.asarray(pieces.view(numpy.uint32))
