"""Rows as Elias-Fano sequences on the GPU; the kernels are `write.cu` and `../read.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.layouts import streams_cuda as shared
from gravel.kernels.layouts.layout import padded
from gravel.kernels.layouts.streams import offsets_of


def _write(
    module: Any, shares: Any, row_offsets: Any, columns: Any, first_row: int, bound: int
) -> tuple[Any, Any]:
    import cupy

    rows, faults = len(row_offsets) - 1, shared.no_faults()
    largest = numpy.uint64(max(0, min(bound, (1 << 64) - 1) - 1))
    sizes = cupy.zeros(rows, cupy.int64)
    launch = shared.grid(rows, len(columns))
    module.get_function("measure_rows")(*launch, (*shares, columns, largest, sizes, faults))
    shared.refuse_found_input(faults)
    byte_offsets = offsets_of(sizes)
    stream = cupy.zeros(padded(int(byte_offsets[-1])), cupy.uint8)
    module.get_function("write_rows")(
        *launch, (*shares, columns, largest, byte_offsets, stream.view(cupy.uint32))
    )
    return byte_offsets, stream


CODEC = shared.Codec("elias_fano", "kernels/layouts/elias_fano/write.cu", _write)
