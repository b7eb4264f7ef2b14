"""Rows as blocks of gaps on the GPU; the kernels are `write.cu` and `../read.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.layouts import streams_cuda as shared
from gravel.kernels.layouts.layout import padded
from gravel.kernels.layouts.streams import BROKEN, offsets_of, refuse_input


def _write(
    module: Any, shares: Any, row_offsets: Any, columns: Any, first_row: int, bound: int
) -> tuple[Any, Any]:
    import cupy

    rows, first = len(row_offsets) - 1, numpy.uint64(first_row)
    faults, units = shared.no_faults(), shared.UNIT_ARCS
    block_first = offsets_of((row_offsets[1:] - row_offsets[:-1] + (units - 1)) // units)
    sizes = cupy.empty(int(block_first[-1]), cupy.int64)
    kinds = cupy.empty(rows, cupy.uint8)
    launch = shared.grid(rows, len(columns))
    module.get_function("measure_rows")(*launch, (*shares, columns, first, block_first, sizes, kinds, faults))
    shared.refuse_found_input(faults)
    places = offsets_of(sizes)
    byte_offsets = places[block_first]
    longest = byte_offsets[1:] - byte_offsets[:-1]
    if int(longest.max()) >> 32:
        refuse_input(int(longest.argmax()), BROKEN)
    stream = cupy.zeros(padded(int(places[-1])), cupy.uint8)
    module.get_function("write_rows")(
        *launch, (*shares, columns, first, block_first, places, kinds, stream.view(cupy.uint32))
    )
    return byte_offsets, stream


CODEC = shared.Codec("blocks", "kernels/layouts/blocks/write.cu", _write)
