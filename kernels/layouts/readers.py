"""Rows of each layout as compiled kernels take them, and how one is decoded into a buffer.

`read_row(rows, v, buffer)` decodes row v, ascending, and returns how many neighbours it has; those of a row
that turns out to be damaged are none. `buffer` has room for `rows.longest`. `COUNTERS` has what counts them
without decoding the row, and is -1 for one that ends too early. `stream` may be a part of the whole one, that
from byte `base` on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.layouts import blocks_cpu, elias_fano_cpu
from gravel.kernels.layouts.streams import BROKEN, check_offsets, check_stream, largest_vertex, refuse
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.varint import cpu as varint_cpu

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

_count_varint = varint_cpu._count
_count_blocks, _read_blocks = blocks_cpu.CODEC.count, blocks_cpu.CODEC.read
_count_elias_fano, _read_elias_fano = elias_fano_cpu.CODEC.count, elias_fano_cpu.CODEC.read


class VarintRows(NamedTuple):
    """`gravel.kernels.varint`; `stream` uint8."""

    byte_offsets: Any
    stream: Any
    dtype: Any  # an empty array of the neighbours' type
    longest: int
    largest: Any  # neighbour that there may be, uint64
    base: int = 0  # byte that the stream begins with


class BlocksRows(NamedTuple):
    """`gravel.kernels.layouts.blocks`; `stream` as uint32 words."""

    byte_offsets: Any
    stream: Any
    dtype: Any
    longest: int
    largest: Any
    base: int = 0


class EliasFanoRows(NamedTuple):
    """`gravel.kernels.layouts.elias_fano`; `stream` as uint32 words."""

    byte_offsets: Any
    stream: Any
    dtype: Any
    longest: int
    largest: Any
    base: int = 0


KINDS: dict[str, Any] = {"varint": VarintRows, "blocks": BlocksRows, "elias_fano": EliasFanoRows}
"""The layouts that are read here; `csr` is searched as columns."""


def columns_of(rows: EncodedRows) -> tuple[NDArray[Any], NDArray[Any]]:
    """Offsets and columns of rows in the layout `csr`; raises ValueError for offsets that do not ascend."""
    offsets, columns = rows.arrays["row_offsets"], rows.arrays["column_indices"]
    check_offsets(offsets, len(columns), "row_offsets", "arcs")
    return offsets, columns


def readable(rows: EncodedRows) -> Any:
    """Bring encoded rows into the form that `read_row` takes.

    Raises ValueError for offsets that do not ascend within the stream, and for a row that ends too early.
    """
    offsets, stream, degrees = _counted(rows)
    dtype = numpy.dtype(rows.dtype)
    longest = int(degrees.max(initial=0))
    largest = largest_vertex(max(rows.vertex_count, 1), dtype)
    return KINDS[rows.layout](offsets, stream, numpy.empty(0, dtype), longest, largest)


def count_neighbours(rows: EncodedRows) -> NDArray[Any]:
    """Count the neighbours of each row without decoding them, summed up: int64 (rows + 1,).

    Rows lie in NumPy arrays. Raises ValueError as `readable` and `columns_of` do.
    """
    if rows.layout == "csr":
        return columns_of(rows)[0]
    found = numpy.zeros(rows.vertex_count + 1, numpy.int64)
    numpy.cumsum(_counted(rows)[2], out=found[1:])
    return found


def _counted(rows: EncodedRows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Check encoded rows; their offsets, their stream as `read_row` takes it, and neighbours of each row."""
    offsets, stream = rows.arrays["byte_offsets"], numpy.ascontiguousarray(rows.arrays["stream"])
    check_stream(offsets, stream)
    degrees = numpy.empty(rows.vertex_count, numpy.int64)
    blocks = row_blocks(offsets)
    if rows.layout == "varint":
        cut = run_blocks(lambda a, b: _count_varint(a, b, offsets, stream, degrees), blocks)
    else:
        stream = stream.view(numpy.uint32)
        count = _count_blocks if rows.layout == "blocks" else _count_elias_fano
        bits = 8 * numpy.dtype(rows.dtype).itemsize
        cut = run_blocks(lambda a, b: count(a, b, offsets, stream, degrees, bits), blocks)
    if bad := [row for row in cut if row >= 0]:
        refuse(min(bad), BROKEN)
    return offsets, stream, degrees


@serial
def _place(rows: Any, v: Any) -> Any:
    """Where row v lies in the stream: two offsets."""
    offsets = numpy.empty(2, numpy.int64)
    offsets[0], offsets[1] = rows.byte_offsets[v] - rows.base, rows.byte_offsets[v + 1] - rows.base
    return offsets


@serial
def _read_varint_row(rows: Any, v: Any, buffer: NDArray[Any]) -> int:
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


@serial
def _read_blocks_row(rows: Any, v: Any, buffer: NDArray[Any]) -> int:
    ends = numpy.zeros(2, numpy.int64)
    offsets, bits = _place(rows, v), 8 * buffer.itemsize
    _count_blocks(0, 1, offsets, rows.stream, ends[1:], bits)
    bad, _ = _read_blocks(0, 1, v, offsets, rows.stream, ends, buffer, bits, rows.largest)
    return 0 if bad >= 0 else ends[1]


@serial
def _read_elias_fano_row(rows: Any, v: Any, buffer: NDArray[Any]) -> int:
    ends = numpy.zeros(2, numpy.int64)
    offsets, bits = _place(rows, v), 8 * buffer.itemsize
    _count_elias_fano(0, 1, offsets, rows.stream, ends[1:], bits)
    bad, _ = _read_elias_fano(0, 1, v, offsets, rows.stream, ends, buffer, bits, rows.largest)
    return 0 if bad >= 0 else ends[1]


@serial
def _count_varint_row(rows: Any, v: Any) -> int:
    found = numpy.zeros(1, numpy.int64)
    return -1 if _count_varint(0, 1, _place(rows, v), rows.stream, found) >= 0 else found[0]


@serial
def _count_blocks_row(rows: Any, v: Any) -> int:
    found = numpy.zeros(1, numpy.int64)
    bad = _count_blocks(0, 1, _place(rows, v), rows.stream, found, 8 * rows.dtype.itemsize)
    return -1 if bad >= 0 else found[0]


@serial
def _count_elias_fano_row(rows: Any, v: Any) -> int:
    found = numpy.zeros(1, numpy.int64)
    bad = _count_elias_fano(0, 1, _place(rows, v), rows.stream, found, 8 * rows.dtype.itemsize)
    return -1 if bad >= 0 else found[0]


READERS: dict[Any, Any] = {
    VarintRows: _read_varint_row,
    BlocksRows: _read_blocks_row,
    EliasFanoRows: _read_elias_fano_row,
}


def read_row(rows: Any, v: Any, buffer: Any) -> int:
    """Decode row v into the buffer and return how many neighbours it has."""
    raise NotImplementedError  # compiled code has the overload


@overload(read_row, strict=False)
def _read_row(rows: Any, v: Any, buffer: Any) -> Callable[..., Any] | None:
    if not isinstance(rows, types.NamedTuple):
        return None
    reader = READERS[rows.instance_class]

    def run(rows, v, buffer):  # type: ignore[no-untyped-def]
        return reader(rows, numpy.int64(v), buffer)

    return run


COUNTERS: dict[Any, Any] = {
    VarintRows: _count_varint_row,
    BlocksRows: _count_blocks_row,
    EliasFanoRows: _count_elias_fano_row,
}
