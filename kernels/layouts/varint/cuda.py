"""Delta-varint rows on the GPU; the kernels are `bytes.cu`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.cuda import load, run_over, vertex_macro
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.layout import padded
from gravel.kernels.layouts.streams import (
    BROKEN,
    DESCENDS,
    OUT_OF_RANGE,
    check_offsets,
    check_stream,
    refuse,
    refuse_input,
    vertex_dtype,
)
from gravel.kernels.layouts.streams_cuda import MAX_BLOCKS, filled_columns, find_fault, no_faults
from gravel.kernels.layouts.varint.checkpoints import find_checkpoints

SOURCE = "kernels/layouts/varint/bytes.cu"
LONG_ROW = 2048  # arcs or bytes from which a block takes a row, not a warp

TRUNCATED, TOO_LARGE = 1, 2  # as in bytes.cu; OUT_OF_RANGE is there too


def split_rows(offsets: Any, long_row: int = LONG_ROW) -> tuple[Any, ...]:
    """Kernel arguments: the number of rows, what a long one is, and the long ones."""
    import cupy

    long_rows = cupy.flatnonzero(cupy.diff(offsets) > long_row)
    return numpy.uint64(len(offsets) - 1), numpy.int64(long_row), long_rows, numpy.uint64(len(long_rows))


@dataclass(frozen=True)
class VarintCodec:
    """The codec of `gravel.kernels.layouts.layout`.

    Parameters
    ----------
    block : threads of a block.
    long_row : arcs or bytes from which a block takes a row.

    """

    block: int = 256
    long_row: int = LONG_ROW

    def _run(self, name: str, dtype: Any, offsets: Any, arguments: tuple[Any, ...]) -> None:
        """Start a kernel with a warp for each row."""
        if rows := len(offsets) - 1:
            kernel = load(SOURCE, VERTEX=vertex_macro(dtype)).get_function(name)
            run_over(kernel, rows * 32, *arguments, block=self.block, most=MAX_BLOCKS)

    def encode(self, row_offsets: Any, columns: Any, *, first_row: int, bound: int) -> dict[str, Any]:
        """Write rows as bytes."""
        import cupy

        check_offsets(row_offsets, len(columns), "row_offsets", "arcs")
        split, dtype = split_rows(row_offsets, self.long_row), columns.dtype
        byte_offsets, faults = cupy.zeros(len(row_offsets), cupy.int64), no_faults()
        self._run("row_sizes", dtype, row_offsets, (row_offsets, columns, *split, byte_offsets[1:], faults))
        if fault := find_fault(faults):
            refuse_input(fault[0], DESCENDS)
        cupy.cumsum(byte_offsets, out=byte_offsets)
        size = int(byte_offsets[-1])
        stream = cupy.empty(padded(size), cupy.uint8)
        stream[size:] = 0
        self._run("write_rows", dtype, row_offsets, (row_offsets, columns, byte_offsets, *split, stream))
        return {"byte_offsets": byte_offsets, "stream": stream}

    def decode(
        self, arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
    ) -> tuple[Any, Any]:
        """Read rows back."""
        byte_offsets, stream = arrays["byte_offsets"], arrays["stream"]
        row_offsets = self._count(byte_offsets, stream, vertex_dtype(dtype))

        def read(columns: Any, largest: Any) -> None:
            split, faults = split_rows(byte_offsets, self.long_row), no_faults()
            arguments = byte_offsets, stream, row_offsets, *split, largest, columns, faults
            self._run("read_rows", columns.dtype, byte_offsets, arguments)
            _refuse_found(faults)

        return row_offsets, filled_columns(row_offsets, arc_count, dtype, bound, read)

    def row_offsets(self, rows: EncodedRows) -> Any:
        """Count the neighbours of each row; raises ValueError for a row that ends within a number."""
        return self._count(rows.arrays["byte_offsets"], rows.arrays["stream"], numpy.dtype(rows.dtype))

    def _count(self, byte_offsets: Any, stream: Any, dtype: Any) -> Any:
        import cupy

        check_stream(byte_offsets, stream)
        row_offsets, faults = cupy.zeros(len(byte_offsets), cupy.int64), no_faults()
        arguments = byte_offsets, stream, *split_rows(byte_offsets, self.long_row), row_offsets[1:], faults
        self._run("row_lengths", dtype, byte_offsets, arguments)
        _refuse_found(faults)
        cupy.cumsum(row_offsets, out=row_offsets)
        return row_offsets

    def searchable(self, rows: EncodedRows) -> EncodedRows:
        """Add checkpoints, by which warps share a long row."""
        return rows if "checkpoints" in rows.arrays else find_checkpoints(rows)


def _refuse_found(faults: Any) -> None:
    """Raise ValueError for a row that could not be decoded."""
    if fault := find_fault(faults):
        refuse(fault[0], BROKEN if fault[1] in (TRUNCATED, TOO_LARGE) else OUT_OF_RANGE)


CODEC = VarintCodec()
