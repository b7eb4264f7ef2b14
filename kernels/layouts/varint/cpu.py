"""Delta-varint rows on the CPU: one pass for the sizes, a prefix sum, one pass that writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.layouts.alignment import ALIGNMENT
from gravel.kernels.layouts.readers import StreamRows
from gravel.kernels.layouts.streams import check_offsets, offsets_of
from gravel.kernels.layouts.varint.bytes import unpad
from gravel.kernels.placement.pinned import pinnable
from gravel.kernels.row_blocks import row_blocks, run_blocks

TRUNCATED, TOO_LARGE, OUT_OF_RANGE = 1, 2, 3

_REASONS = {
    TRUNCATED: "ends within a number",
    TOO_LARGE: "holds a number that is too large",
    OUT_OF_RANGE: "names a vertex that is not in the graph",
}


@serial
def _sizes(first, last, row_offsets, columns, sizes):  # type: ignore[no-untyped-def]
    """Store each row's bytes; return the first row that does not ascend, or -1."""
    for v in range(first, last):
        size = 0
        before = numpy.uint64(0)
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            value = numpy.uint64(columns[arc])
            if value < before:
                return v
            gap = value - before
            before = value
            size += 1
            while gap >= numpy.uint64(128):
                gap >>= numpy.uint64(7)
                size += 1
        sizes[v] = size
    return -1


@serial
def _write(first, last, row_offsets, columns, byte_offsets, stream):  # type: ignore[no-untyped-def]
    for v in range(first, last):
        place = byte_offsets[v]
        before = numpy.uint64(0)
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            value = numpy.uint64(columns[arc])
            gap = value - before
            before = value
            while gap >= numpy.uint64(128):
                stream[place] = numpy.uint8(gap & numpy.uint64(127)) | numpy.uint8(128)
                gap >>= numpy.uint64(7)
                place += 1
            stream[place] = numpy.uint8(gap)
            place += 1


@serial
def _count(first, last, byte_offsets, stream, degrees, vertex_bits):  # type: ignore[no-untyped-def]
    """Store each row's neighbours; return the first row that ends within a number, or -1."""
    for v in range(first, last):
        count = 0
        for place in range(byte_offsets[v], byte_offsets[v + 1]):
            count += stream[place] < 128
        degrees[v] = count
        if byte_offsets[v] < byte_offsets[v + 1] and stream[byte_offsets[v + 1] - 1] >= 128:
            return v
    return -1


@serial
def _read(first, last, byte_offsets, stream, row_offsets, columns, groups, largest):  # type: ignore[no-untyped-def]
    """Decode rows; return (first bad row, reason), or (-1, 0). `_count` has found every row whole."""
    for v in range(first, last):
        place = byte_offsets[v]
        value = numpy.uint64(0)
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            gap = numpy.uint64(0)
            group = 0
            while True:
                byte = numpy.uint64(stream[place])
                place += 1
                payload = byte & numpy.uint64(127)
                if group >= groups or (group == 9 and payload > numpy.uint64(1)):
                    return v, TOO_LARGE
                gap |= payload << numpy.uint64(7 * group)
                group += 1
                if byte < numpy.uint64(128):
                    break
            value += gap
            if value < gap:
                return v, TOO_LARGE
            if value > largest:
                return v, OUT_OF_RANGE
            columns[arc] = value
    return -1, 0


def _row_sizes(row_offsets: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    check_offsets(row_offsets, len(columns), "row_offsets", "arcs")
    sizes = numpy.empty(len(row_offsets) - 1, numpy.int64)
    bad = run_blocks(lambda a, b: _sizes(a, b, row_offsets, columns, sizes), row_blocks(row_offsets))
    if bad := [row for row in bad if row >= 0]:
        raise ValueError(f"row {min(bad)} does not ascend; delta-varint needs sorted rows")
    return sizes


def encode(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], *, alignment: int = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Write rows as bytes; see `gravel.kernels.layouts.varint.bytes.encode`."""
    byte_offsets = offsets_of(_row_sizes(row_offsets, column_indices))
    size = int(byte_offsets[-1])
    # A GPU may come to read it there.
    stream = pinnable(-(-size // alignment) * alignment, numpy.uint8)
    stream[size:] = 0
    run_blocks(
        lambda a, b: _write(a, b, row_offsets, column_indices, byte_offsets, stream), row_blocks(row_offsets)
    )
    return byte_offsets, stream


def encoded_size(row_offsets: NDArray[Any], column_indices: NDArray[Any]) -> int:
    """Count the bytes that `encode` would write."""
    return int(_row_sizes(row_offsets, column_indices).sum())


def _refuse(faults: list[tuple[int, int]]) -> NoReturn:
    row, reason = min(faults)
    raise ValueError(f"row {row} of the compressed graph {_REASONS[reason]}")


def decode(
    byte_offsets: NDArray[Any], stream: NDArray[Any], arc_count: int, dtype: Any, *, bound: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read rows back; see `gravel.kernels.layouts.varint.bytes.decode`."""
    dtype = numpy.dtype(dtype)
    if dtype not in (numpy.dtype(numpy.uint32), numpy.dtype(numpy.uint64)):
        raise ValueError(f"columns of {dtype} were asked for; they can be uint32 or uint64")
    check_offsets(byte_offsets, len(stream), "byte_offsets", "bytes")
    rows = len(byte_offsets) - 1
    blocks = row_blocks(byte_offsets)
    degrees, bits = numpy.empty(rows, numpy.int64), 8 * dtype.itemsize
    cut = run_blocks(lambda a, b: _count(a, b, byte_offsets, stream, degrees, bits), blocks)
    if faults := [(row, TRUNCATED) for row in cut if row >= 0]:
        _refuse(faults)
    row_offsets = offsets_of(degrees)
    if row_offsets[-1] != arc_count:
        raise ValueError(f"the compressed graph holds {row_offsets[-1]} arcs; it should hold {arc_count}")
    columns = numpy.empty(arc_count, dtype)
    bound = rows if bound is None else bound
    if bound < 1 and arc_count:
        _refuse([(int(numpy.flatnonzero(degrees)[0]), OUT_OF_RANGE)])
    largest = numpy.uint64(max(0, min(bound - 1, int(numpy.iinfo(dtype).max))))
    groups = 5 if dtype == numpy.uint32 else 10
    found = run_blocks(
        lambda a, b: _read(a, b, byte_offsets, stream, row_offsets, columns, groups, largest), blocks
    )
    if faults := [(row, reason) for row, reason in found if row >= 0]:
        _refuse(faults)
    return row_offsets, columns


@serial
def _read_one(rows, v, buffer):  # type: ignore[no-untyped-def]
    """Decode row v into the buffer; return how many neighbours it has, none where it is damaged."""
    place, end = rows.byte_offsets[v] - rows.base, rows.byte_offsets[v + 1] - rows.base
    value, count = numpy.uint64(0), 0
    while place < end:
        gap, shift = numpy.uint64(0), numpy.uint64(0)
        byte = numpy.uint64(128)
        while byte >= numpy.uint64(128):
            # A row does not end within a number: `readable` has looked at its last byte.
            byte = numpy.uint64(rows.stream[place])
            place += 1
            if shift > numpy.uint64(63):
                return 0
            gap |= (byte & numpy.uint64(127)) << shift
            shift += numpy.uint64(7)
        value += gap
        if value < gap or value > rows.largest:
            return 0
        buffer[count] = value
        count += 1
    return count


class VarintRows(StreamRows):
    """Rows of bytes; see `gravel.kernels.layouts.varint`."""

    layout = "varint"
    word = numpy.uint8
    count_rows = _count
    read_one = _read_one


class VarintCodec:
    """The codec of `gravel.kernels.layouts.layout`."""

    rows = VarintRows

    def encode(
        self, row_offsets: Any, columns: Any, *, first_row: int, bound: int
    ) -> dict[str, NDArray[Any]]:
        """Write rows as bytes."""
        byte_offsets, stream = encode(row_offsets, columns, alignment=ALIGNMENT)
        return {"byte_offsets": byte_offsets, "stream": stream}

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Read rows back."""
        byte_offsets = arrays["byte_offsets"]
        return decode(byte_offsets, unpad(byte_offsets, arrays["stream"]), arc_count, dtype, bound=bound)


CODEC = VarintCodec()
