"""Encoded rows as they grow, a range at a time or on a GPU at once, and the memory that encoding takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.kernels.buffers import Table, exact, table, total, vertex_type
from gravel.kernels.layouts.layout import Layout
from gravel.kernels.layouts.registry import layout_of, layouts
from gravel.stages.rows.ranges import ARCS_AT_ONCE, ROWS_AT_ONCE, range_on_device, row_ranges, tried

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifact import Array
    from gravel.stages.context import Context


def layouts_of(codec: str) -> tuple[Layout, ...]:
    """Give the layouts that rows may be written in: one, or with `auto` all."""
    return tuple(layouts().values()) if codec == "auto" else (layout_of(codec),)


@dataclass(frozen=True)
class Size:
    """Sizes that memory follows from; `rows` are all that are encoded, in a partition those of subgraphs."""

    codec: str
    vertices: int
    arcs: int
    rows: int

    def encoding(self, place: str, rows: int, arcs: int) -> Table:
        """Return what encoding so many rows takes, whose gaps are as even as can be.

        On the device that is with columns; on the host they are pieces of what is stored.
        """
        kinds = [each.memory for each in layouts_of(self.codec)]
        bits = 2 + (self.vertices * rows // max(1, arcs)).bit_length()
        by_row = max((each.rows(place, rows) for each in kinds), key=exact)
        stream = max(each.of_gaps(arcs, bits) for each in kinds)
        columns = arcs if place == "device" else 0
        return *by_row, *table(place, columns=(vertex_type(self.vertices), columns), stream=("u1", stream))

    def range_bytes(self, place: str) -> int:
        """Return the bytes of a range, which holds ARCS_AT_ONCE arcs or one longer row."""
        rows, arcs = min(self.vertices, ROWS_AT_ONCE), min(self.arcs, max(ARCS_AT_ONCE, self.vertices))
        return total(self.encoding(place, rows, arcs), place)

    def whole_bytes(self) -> int:
        """Return the device bytes of all rows and of the result; of a partition, whose parts are joined."""
        made = self.encoding("device", self.rows, self.arcs)
        joined = table(stream=("u1", made[-1].nbytes), byte_offsets=("i8", self.rows))
        return total((*made, *joined) if self.rows > self.vertices else made)

    def device_bytes(self, room: int) -> int:
        """Return the bytes that a device of so many takes; 0 where the host encodes."""
        if self.codec == "csr":
            return 0
        whole, part = self.whole_bytes(), self.range_bytes("device")
        return whole if whole <= room else part if part <= room else 0


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
