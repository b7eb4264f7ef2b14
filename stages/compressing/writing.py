"""Encoded rows as they grow: on the CPU a range of rows at a time, wherever the arrays are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.stages.rows.ranges import row_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifact import Array
    from gravel.stages.context import Context


class Writer:
    """Writer of CSR after CSR to sinks of byte offsets and of bytes, a range of rows at a time."""

    def __init__(self, context: Context, codec: str, total_arcs: int, offsets: Any, stream: Any) -> None:
        import numpy

        self._context = context
        self._codec = codec
        self._total = total_arcs
        self.rows = 0
        self.arcs = 0
        self.bytes = 0
        self._offsets, self._stream = offsets, stream
        self._offsets.append(numpy.zeros(1, numpy.int64))
        self._taken: Any = None

    def take(self, row_offsets: Array, columns: Any) -> None:
        """Take columns in memory as their own bytes, without a copy."""
        import numpy

        from gravel.kernels.arrays import backend_of

        if backend_of(columns) == "cpu":
            columns = numpy.ascontiguousarray(columns.astype(columns.dtype.newbyteorder("<"), copy=False))
        self._taken = columns.view(numpy.uint8)
        offsets = on_host(row_offsets[1:]).astype(numpy.int64)
        self._offsets.append(offsets * columns.dtype.itemsize)
        self.rows, self.arcs, self.bytes = len(offsets), len(columns), len(self._taken)

    def add(self, row_offsets: Array, columns: Array, bound: int) -> None:
        """Write every row, neighbours being below `bound`; raises ValueError when one does not ascend."""
        for first, offsets in row_ranges(row_offsets):
            base, end = int(offsets[0]), int(offsets[-1])
            with rows_named(first):
                encoded = self._encode(first, offsets - base, on_host(columns[base:end]), bound)
            self.append(*encoded, arcs=end - base)
            # The next range is encoded before the name is bound anew.
            del encoded

    def append(self, byte_offsets: Any, stream: Any, *, arcs: int) -> None:
        """Add the bytes of some rows, whose offsets begin at 0."""
        self._offsets.append(byte_offsets[1:] + self.bytes)
        self._stream.append(stream)
        self.bytes += len(stream)
        self.rows += len(byte_offsets) - 1
        self.arcs += arcs
        self._context.progress(self.arcs, self._total, "arcs")

    def close(self) -> tuple[Array, Array]:
        """End the byte offsets and the stream, and hand them out."""
        return self._offsets.close(), self._stream.close() if self._taken is None else self._taken

    def _encode(
        self, first: int, offsets: NDArray[Any], columns: NDArray[Any], bound: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy

        from gravel.kernels.layouts import encode

        if self._codec == "csr":
            little = columns.astype(columns.dtype.newbyteorder("<"), copy=False)
            return offsets * columns.dtype.itemsize, numpy.ascontiguousarray(little).view(numpy.uint8)
        return encoded_arrays(encode(self._codec, offsets, columns, first_row=first, bound=bound))


def encoded_arrays(rows: Any) -> tuple[Any, Any]:
    """Give the byte offsets of encoded rows, and their bytes without what follows the last row."""
    byte_offsets = rows.arrays["byte_offsets"]
    return byte_offsets, rows.arrays["stream"][: int(byte_offsets[-1])]


@contextmanager
def rows_named(first: int) -> Iterator[None]:
    """Say of a ValueError within the block which rows were encoded."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"rows from {first} on: {error}") from None
