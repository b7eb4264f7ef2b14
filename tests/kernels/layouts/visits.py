"""Kernels that read rows as searches do, unit by unit, or by one lane of a warp, as a baseline."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import load, run_over, vertex_macro
from gravel.kernels.layouts import EncodedRows, device_rows
from gravel.kernels.layouts.varint.cuda import VarintCodec

VISIT = "tests/kernels/layouts/visit.cu"
SERIAL = "tests/kernels/layouts/read_rows_serially.cu"


def visit_kernel(rows: EncodedRows, name: str) -> Any:
    """A kernel of `visit.cu` for the layout of these rows."""
    module = load(VISIT, LAYOUT=rows.layout, VERTEX=vertex_macro(rows.dtype))
    return module.get_function(name)


def first_neighbours(rows: EncodedRows, count: int, absent: int, *, bound: int) -> Any:
    """Give the first neighbours of every row, (rows, count), `absent` where it has fewer."""
    import cupy

    heads = cupy.full((rows.vertex_count, count), absent, rows.dtype)
    sizes = numpy.uint64(rows.vertex_count), numpy.uint32(count)
    arguments = *device_rows(rows, bound=bound), *sizes, heads
    run_over(visit_kernel(rows, "first_neighbours"), rows.vertex_count * 32, *arguments, most=1 << 14)
    return heads


class SerialCodec(VarintCodec):
    """Reads varint rows by one lane of a warp each."""

    def _run(self, name: str, dtype: Any, offsets: Any, arguments: tuple[Any, ...]) -> None:
        if name != "read_rows":
            super()._run(name, dtype, offsets, arguments)
            return
        byte_offsets, stream, row_offsets, count, *_, largest, columns, faults = arguments
        kernel = load(SERIAL, VERTEX=vertex_macro(dtype)).get_function("read_rows_serially")
        given = byte_offsets, stream, row_offsets, count, largest, columns, faults
        run_over(kernel, (len(offsets) - 1) * 32, *given, block=self.block, most=1 << 14)
