"""Rows as blocks of gaps on the GPU; the kernels are `blocks.cu` and `read.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from gravel.kernels.cuda import load, vertex_macro
from gravel.kernels.layouts.alignment import padded
from gravel.kernels.layouts.streams import BROKEN, check_offsets, refuse_input
from gravel.kernels.layouts.streams_cuda import (
    UNIT_ARCS,
    deal,
    grid,
    no_faults,
    offsets_of,
    read_rows,
    refuse_found_input,
)

WRITE = "kernels/layouts/blocks.cu"


def encode(row_offsets: Any, column_indices: Any, *, first_row: int, bound: int) -> dict[str, Any]:
    """Write rows; see `gravel.kernels.layouts.encode`."""
    import cupy

    module = load(WRITE, VERTEX=vertex_macro(column_indices.dtype))
    check_offsets(row_offsets, len(column_indices), "row_offsets", "arcs")
    rows = len(row_offsets) - 1
    if not len(column_indices):
        return {"byte_offsets": cupy.zeros(rows + 1, cupy.int64), "stream": cupy.zeros(0, cupy.uint8)}
    dealt, faults, first = deal(row_offsets), no_faults(), numpy.uint64(first_row)
    block_first = offsets_of((row_offsets[1:] - row_offsets[:-1] + (UNIT_ARCS - 1)) // UNIT_ARCS)
    sizes = cupy.empty(int(block_first[-1]), cupy.int64)
    kinds = cupy.empty(rows, cupy.uint8)
    launch = grid(rows, len(column_indices))
    module.get_function("measure_rows")(
        *launch, (*dealt, column_indices, first, block_first, sizes, kinds, faults)
    )
    refuse_found_input(faults)
    places = offsets_of(sizes)
    byte_offsets = places[block_first]
    longest = byte_offsets[1:] - byte_offsets[:-1]
    if int(longest.max()) >> 32:
        refuse_input(int(longest.argmax()), BROKEN)
    stream = cupy.zeros(padded(int(places[-1])), cupy.uint8)
    module.get_function("write_rows")(
        *launch, (*dealt, column_indices, first, block_first, places, kinds, stream.view(cupy.uint32))
    )
    return {"byte_offsets": byte_offsets, "stream": stream}


decode = partial(read_rows, "blocks")
