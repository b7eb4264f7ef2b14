"""Rows as Elias-Fano sequences on the GPU; the kernels are `elias_fano.cu` and `read.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from gravel.kernels.cuda import load, vertex_macro
from gravel.kernels.layouts.alignment import padded
from gravel.kernels.layouts.streams import check_offsets
from gravel.kernels.layouts.streams_cuda import (
    deal,
    grid,
    no_faults,
    offsets_of,
    read_rows,
    refuse_found_input,
)

WRITE = "kernels/layouts/elias_fano.cu"


def encode(row_offsets: Any, column_indices: Any, *, first_row: int, bound: int) -> dict[str, Any]:
    """Write rows; see `gravel.kernels.layouts.encode`."""
    import cupy

    module = load(WRITE, VERTEX=vertex_macro(column_indices.dtype))
    check_offsets(row_offsets, len(column_indices), "row_offsets", "arcs")
    rows = len(row_offsets) - 1
    if not len(column_indices):
        return {"byte_offsets": cupy.zeros(rows + 1, cupy.int64), "stream": cupy.zeros(0, cupy.uint8)}
    dealt, faults = deal(row_offsets), no_faults()
    largest = numpy.uint64(max(0, min(bound, (1 << 64) - 1) - 1))
    sizes = cupy.zeros(rows, cupy.int64)
    module.get_function("measure_rows")(
        *grid(rows, len(column_indices)), (*dealt, column_indices, largest, sizes, faults)
    )
    refuse_found_input(faults)
    byte_offsets = offsets_of(sizes)
    stream = cupy.zeros(padded(int(byte_offsets[-1])), cupy.uint8)
    module.get_function("write_rows")(
        *grid(rows, len(column_indices)),
        (*dealt, column_indices, largest, byte_offsets, stream.view(cupy.uint32)),
    )
    return {"byte_offsets": byte_offsets, "stream": stream}


decode = partial(read_rows, "elias_fano")
