"""Checkpoints of varint rows: on the device found without decoding the rows, else made from their columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gravel.kernels.arrays import array_module
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.varint import UNIT_BYTES

SOURCE = "kernels/layouts/varint/checkpoints.cu"


def find_checkpoints(rows: EncodedRows) -> EncodedRows:
    """Add the array `checkpoints` to varint rows on the device; see `gravel.kernels.layouts.varint`."""
    import cupy
    import numpy

    from gravel.kernels.cuda import load, run_over, vertex_macro
    from gravel.kernels.layouts import device_rows

    stream = rows.arrays["stream"]
    found = cupy.zeros(-(-len(stream) // UNIT_BYTES), rows.dtype)
    if rows.vertex_count:
        module = load(SOURCE, VERTEX=vertex_macro(numpy.dtype(rows.dtype)))
        arguments = *device_rows(rows)[:2], numpy.uint64(rows.vertex_count), found
        run_over(module.get_function("find_checkpoints"), rows.vertex_count, *arguments, most=2048)
    return replace(rows, arrays={**rows.arrays, "checkpoints": found})


def add_checkpoints(rows: EncodedRows, columns: Any, row_offsets: Any) -> EncodedRows:
    """Add the array `checkpoints` to rows, which `decode` turned into these columns and offsets."""
    module = array_module(columns)
    byte_offsets, stream = rows.arrays["byte_offsets"], rows.arrays["stream"]
    count = -(-len(stream) // UNIT_BYTES)
    found = module.zeros(count, rows.dtype)
    if rows.arc_count:
        ends = module.flatnonzero(stream[: int(byte_offsets[-1])] < 128)  # of all numbers, in the arcs' order
        places = module.arange(count, dtype=module.int64) * UNIT_BYTES
        row = module.searchsorted(byte_offsets, places, side="right") - 1
        before = module.searchsorted(ends, places, side="left") - 1
        known = (row < rows.vertex_count) & (before >= row_offsets[module.minimum(row, rows.vertex_count)])
        found[known] = columns[before[known]]
    return replace(rows, arrays={**rows.arrays, "checkpoints": found})
