"""Checkpoints of varint rows on the device, found without decoding the rows into columns."""

from __future__ import annotations

from dataclasses import replace

from kernels.layouts import EncodedRows
from kernels.layouts.varint import UNIT_BYTES

SOURCE = "kernels/layouts/checkpoints.cu"


def find_checkpoints(rows: EncodedRows) -> EncodedRows:
    """Add the array `checkpoints` to varint rows that the device can read; see `kernels.layouts.varint`."""
    import cupy
    import numpy

    from kernels.cuda import blocks_for, load, vertex_macro
    from kernels.layouts import device_rows

    stream = rows.arrays["stream"]
    found = cupy.zeros(-(-len(stream) // UNIT_BYTES), rows.dtype)
    if rows.vertex_count:
        load(SOURCE, VERTEX=vertex_macro(numpy.dtype(rows.dtype))).get_function("find_checkpoints")(
            (blocks_for(rows.vertex_count, 256, most=2048),),
            (256,),
            (*device_rows(rows)[:2], numpy.uint64(rows.vertex_count), found),
        )
    return replace(rows, arrays={**rows.arrays, "checkpoints": found})
