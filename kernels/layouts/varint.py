"""Delta-varint rows (`gravel.kernels.varint`) as a layout, with checkpoints for warps that share a long row.

`checkpoints[c]`, of the neighbours' dtype, belongs to byte `c * UNIT_BYTES` of the stream: where a row
reaches over that byte, it is the row's neighbour whose number ends last before it (0 where none does);
elsewhere 0.
Rows of more than `UNIT_BYTES` bytes can then be read from each such place. The array is no part of what is
encoded: `add_checkpoints` makes it from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gravel.kernels import varint
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.alignment import ALIGNMENT, array_module

DEVICE_ARRAYS = ("byte_offsets", "stream", "checkpoints")

UNIT_BYTES = 256
"""The constant of the same name in `varint.cuh`."""


def unpad(byte_offsets: Any, stream: Any) -> Any:
    """Take the zero bytes off again; raises ValueError when there is something else after the last row."""
    end = int(byte_offsets[-1]) if len(byte_offsets) else 0
    fits = 0 <= end <= len(stream) < end + ALIGNMENT
    # CuPy compiles its first `any` of a process for 12 s; a maximum comes compiled.
    if not fits or (end < len(stream) and int(stream[end:].max())):
        raise ValueError(f"byte_offsets end at {end}; the stream has {len(stream)} bytes")
    return stream[:end]


def encode(row_offsets: Any, column_indices: Any, *, first_row: int, bound: int) -> dict[str, Any]:
    """Write rows as bytes; see `gravel.kernels.layouts.encode`."""
    byte_offsets, stream = varint.encode(row_offsets, column_indices, alignment=ALIGNMENT)
    return {"byte_offsets": byte_offsets, "stream": stream}


def decode(
    arrays: Mapping[str, Any], arc_count: int, dtype: Any, *, first_row: int, bound: int
) -> tuple[Any, Any]:
    """Read rows back; see `gravel.kernels.layouts.decode`."""
    byte_offsets = arrays["byte_offsets"]
    return varint.decode(byte_offsets, unpad(byte_offsets, arrays["stream"]), arc_count, dtype, bound=bound)


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
