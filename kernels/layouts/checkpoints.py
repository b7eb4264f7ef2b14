"""Checkpoints of varint rows on the device, found without decoding the rows into columns."""

from __future__ import annotations

from dataclasses import replace

from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.varint import UNIT_BYTES

SOURCE = "kernels/layouts/checkpoints.cu"


def find_checkpoints(rows: EncodedRows) -> EncodedRows:
    """Add the array `checkpoints` to varint rows on the device; see `gravel.kernels.layouts.varint`."""
    import cupy
    import numpy

    from gravel.kernels.cuda import blocks_for, load, vertex_macro
    from gravel.kernels.layouts import device_rows

    stream = rows.arrays["stream"]
    found = cupy.zeros(-(-len(stream) // UNIT_BYTES), rows.dtype)
    if rows.vertex_count:
        load(SOURCE, VERTEX=vertex_macro(numpy.dtype(rows.dtype))).get_function("find_checkpoints")(
            (blocks_for(rows.vertex_count, 256, most=2048),),
            (256,),
            (*device_rows(rows)[:2], numpy.uint64(rows.vertex_count), found),
        )
    return replace(rows, arrays={**rows.arrays, "checkpoints": found})
