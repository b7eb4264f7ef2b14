"""Delta-varint rows on the GPU; the kernels are `bytes.cu`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.alignment import ALIGNMENT
from gravel.kernels.layouts.streams import check_offsets
from gravel.kernels.layouts.varint.bytes import unpad
from gravel.kernels.layouts.varint.checkpoints import find_checkpoints

SOURCE = "kernels/layouts/varint/bytes.cu"
LONG_ROW = 2048  # arcs or bytes from which a block takes a row, not a warp
MOST_BLOCKS = 1 << 14

_REASONS = {
    1: "ends within a number",
    2: "holds a number that is too large",
    3: "names a vertex that is not in the graph",
}


def _grid(rows: int, block: int) -> tuple[tuple[int], tuple[int]]:
    return (blocks_for(rows * 32, block, most=MOST_BLOCKS),), (block,)


def _rows(offsets: Any, long_row: int) -> tuple[Any, ...]:
    """Kernel arguments: the number of rows, what a long one is, and the long ones."""
    import cupy

    long_rows = cupy.flatnonzero(cupy.diff(offsets) > long_row)
    return numpy.uint64(len(offsets) - 1), numpy.int64(long_row), long_rows, numpy.uint64(len(long_rows))


def _no_faults() -> Any:
    import cupy

    return cupy.full(1, numpy.uint64((1 << 64) - 1))


def _fault(faults: Any) -> tuple[int, int] | None:
    found = int(faults[0])
    return None if found == (1 << 64) - 1 else (found >> 2, found & 3)


def _row_sizes(row_offsets: Any, columns: Any, block: int, long_row: int) -> Any:
    import cupy

    check_offsets(row_offsets, len(columns), "row_offsets", "arcs")
    rows = len(row_offsets) - 1
    sizes = cupy.zeros(rows + 1, cupy.int64)
    if rows:
        faults = _no_faults()
        load(SOURCE, VERTEX=vertex_macro(columns.dtype)).get_function("row_sizes")(
            *_grid(rows, block),
            (row_offsets, columns, *_rows(row_offsets, long_row), sizes[1:], faults),
        )
        if fault := _fault(faults):
            raise ValueError(f"row {fault[0]} does not ascend; delta-varint needs sorted rows")
    return sizes


def encode(
    row_offsets: Any,
    column_indices: Any,
    *,
    alignment: int = 1,
    block: int = 256,
    long_row: int = LONG_ROW,
) -> tuple[Any, Any]:
    """Write rows as bytes; see `gravel.kernels.layouts.varint.bytes.encode`."""
    import cupy

    byte_offsets = _row_sizes(row_offsets, column_indices, block, long_row)
    cupy.cumsum(byte_offsets, out=byte_offsets)
    size = int(byte_offsets[-1])
    stream = cupy.empty(-(-size // alignment) * alignment, cupy.uint8)
    stream[size:] = 0
    rows = len(row_offsets) - 1
    if rows:
        load(SOURCE, VERTEX=vertex_macro(column_indices.dtype)).get_function("write_rows")(
            *_grid(rows, block),
            (row_offsets, column_indices, byte_offsets, *_rows(row_offsets, long_row), stream),
        )
    return byte_offsets, stream


def encoded_size(row_offsets: Any, column_indices: Any, *, block: int = 256) -> int:
    """Count the bytes that `encode` would write."""
    return int(_row_sizes(row_offsets, column_indices, block, LONG_ROW).sum())


def count(byte_offsets: Any, stream: Any, dtype: Any, *, block: int = 256, long_row: int = LONG_ROW) -> Any:
    """Count the neighbours of each row without decoding it, summed up: int64 (rows + 1,).

    Raises ValueError for offsets that do not ascend to the end of the stream, and for a row that ends within
    a number.
    """
    import cupy

    check_offsets(byte_offsets, len(stream), "byte_offsets", "bytes")
    rows = len(byte_offsets) - 1
    row_offsets = cupy.zeros(rows + 1, cupy.int64)
    if rows:
        faults, split = _no_faults(), _rows(byte_offsets, long_row)
        kernel = load(SOURCE, VERTEX=vertex_macro(numpy.dtype(dtype))).get_function("row_lengths")
        kernel(*_grid(rows, block), (byte_offsets, stream, *split, row_offsets[1:], faults))
        _refuse(faults)
    cupy.cumsum(row_offsets, out=row_offsets)
    return row_offsets


def decode(
    byte_offsets: Any,
    stream: Any,
    arc_count: int,
    dtype: Any,
    *,
    bound: int | None = None,
    block: int = 256,
    long_row: int = LONG_ROW,
    serial: bool = False,
) -> tuple[Any, Any]:
    """Read rows back; see `gravel.kernels.layouts.varint.bytes.decode`.

    `serial` decodes with one lane per warp, the baseline of the 2024 report (section 2.2).
    """
    import cupy

    dtype = numpy.dtype(dtype)
    row_offsets = count(byte_offsets, stream, dtype, block=block, long_row=long_row)
    module = load(SOURCE, VERTEX=vertex_macro(dtype))
    rows = len(byte_offsets) - 1
    faults = _no_faults()
    grid, split = _grid(rows, block), _rows(byte_offsets, long_row)
    if int(row_offsets[-1]) != arc_count:
        raise ValueError(
            f"the compressed graph holds {int(row_offsets[-1])} arcs; it should hold {arc_count}"
        )
    columns = cupy.empty(arc_count, dtype)
    bound = rows if bound is None else bound
    if arc_count and bound < 1:
        first = int(cupy.flatnonzero(cupy.diff(row_offsets))[0])
        raise ValueError(f"row {first} of the compressed graph {_REASONS[3]}")
    if arc_count:
        largest = numpy.uint64(min(bound - 1, int(numpy.iinfo(dtype).max)))
        if serial:
            module.get_function("read_rows_serially")(
                *grid, (byte_offsets, stream, row_offsets, split[0], largest, columns, faults)
            )
        else:
            module.get_function("read_rows")(
                *grid, (byte_offsets, stream, row_offsets, *split, largest, columns, faults)
            )
        _refuse(faults)
    return row_offsets, columns


def _refuse(faults: Any) -> None:
    if fault := _fault(faults):
        raise ValueError(f"row {fault[0]} of the compressed graph {_REASONS[fault[1]]}")


class VarintCodec:
    """The codec of `gravel.kernels.layouts.layout`."""

    def encode(self, row_offsets: Any, columns: Any, *, first_row: int, bound: int) -> dict[str, Any]:
        """Write rows as bytes."""
        byte_offsets, stream = encode(row_offsets, columns, alignment=ALIGNMENT)
        return {"byte_offsets": byte_offsets, "stream": stream}

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[Any, Any]:
        """Read rows back."""
        byte_offsets = arrays["byte_offsets"]
        return decode(byte_offsets, unpad(byte_offsets, arrays["stream"]), arc_count, dtype, bound=bound)

    def row_offsets(self, rows: EncodedRows) -> Any:
        """Count the neighbours of each row; raises ValueError for a row that ends within a number."""
        offsets = rows.arrays["byte_offsets"]
        return count(offsets, unpad(offsets, rows.arrays["stream"]), rows.dtype)

    def searchable(self, rows: EncodedRows) -> EncodedRows:
        """Add checkpoints, by which warps share a long row."""
        return rows if "checkpoints" in rows.arrays else find_checkpoints(rows)


CODEC = VarintCodec()
