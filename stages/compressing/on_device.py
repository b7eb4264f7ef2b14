"""Rows that are encoded on a GPU: all at once where they fit and stay there, else a range at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.compressing.writing import Writer, encoded_arrays, rows_named
from gravel.stages.rows.ranges import range_on_device, row_ranges, tried

if TYPE_CHECKING:
    from gravel.stages.artifact import Array
    from gravel.stages.context import Context


class Pieces:
    """An array on the device that grows by whole arrays; a sink, as far as a writer sees."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._pieces: list[Any] = []

    def append(self, piece: Any) -> None:
        """Take an array of the device, or a small one of the host."""
        import cupy

        self._pieces.append(cupy.asarray(piece))

    def close(self) -> Any:
        """Return the pieces as one array, of which each goes when it is copied."""
        import cupy

        if len(self._pieces) == 1:
            return self._pieces.pop()
        whole = cupy.empty(sum(map(len, self._pieces)), self._dtype)
        end = len(whole)
        while self._pieces:
            piece = self._pieces.pop()
            whole[end - len(piece) : end] = piece
            end -= len(piece)
            del piece
        return whole


class DeviceWriter(Writer):
    """Encoder on the current GPU; raises MemoryError where that has no room even for one row.

    With `stays`, rows are encoded at once, and their bytes go to the sinks as they are, on the device.
    """

    def __init__(
        self, context: Context, codec: str, total_arcs: int, offsets: Any, stream: Any, *, stays: bool
    ) -> None:
        super().__init__(context, codec, total_arcs, offsets, stream)
        self._stays = stays

    def add(self, row_offsets: Array, columns: Array, bound: int) -> None:
        """Write every row, neighbours being below `bound`; raises ValueError when one does not ascend."""

        def work(first: int, last: int) -> tuple[Any, Any, int]:
            return self._encoded(row_offsets, columns, first, last, bound)

        if self._stays:
            if len(row_offsets) > 1:
                *encoded, arcs = work(0, len(row_offsets) - 1)
                self.append(*encoded, arcs=arcs)
            return
        for first, offsets in row_ranges(row_offsets):
            for *encoded, arcs in tried(work, first, first + len(offsets) - 1, self._context.log):
                self.append(*encoded, arcs=arcs)

    def _encoded(
        self, row_offsets: Array, columns: Array, first: int, last: int, bound: int
    ) -> tuple[Any, Any, int]:
        import cupy
        import numpy

        from gravel.kernels.layouts import encode

        offsets, there = range_on_device(row_offsets, columns, first, last)
        offsets = offsets.astype(numpy.int64, copy=False)
        base = int(offsets[0])
        if base:
            offsets = offsets - base
        with rows_named(first):
            rows = encode(self._codec, offsets, there, first_row=first, bound=bound)
        made = encoded_arrays(rows)
        if not self._stays:
            made = cupy.asnumpy(made[0]), cupy.asnumpy(made[1])
        return *made, len(there)
