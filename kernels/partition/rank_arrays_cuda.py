"""A rank's arrays, as `gravel.kernels.partition.layout` has them, on the device."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.partition.layout import packed_bits
from gravel.kernels.partition.shares import Share


def offsets_of(lengths: Any, arcs: int) -> Any:
    """Sum the lengths of rows up, which have so many arcs: uint32 where these fit, else int64 (rows + 1,)."""
    import cupy

    offsets = cupy.zeros(len(lengths) + 1, numpy.uint32 if arcs < 1 << 32 else numpy.int64)
    cupy.cumsum(lengths, dtype=offsets.dtype, out=offsets[1:])
    return offsets


def narrow(offsets: Any) -> Any:
    """Give offsets as uint32, where they fit."""
    return offsets.astype(numpy.uint32) if int(offsets[-1]) < 1 << 32 else offsets


def rank_arrays(share: Share, rank: int) -> dict[str, Any]:
    """Name the arrays of a rank whose share is of all rows, in the order in which they are stored."""
    import cupy

    arrays: dict[str, Any] = {}
    for name, columns in share.columns.items():
        lengths, prefix = share.lengths[name], f"rank{rank}/{name}"
        arrays[f"{prefix}/column_indices"] = columns
        arrays[f"{prefix}/row_offsets"] = offsets_of(lengths, len(columns))
        if name == "nd":
            arrays[f"{prefix}/source_list"] = cupy.flatnonzero(lengths).astype(numpy.uint32)
        elif name != "nn":
            arrays[f"{prefix}/source_mask"] = packed_bits(lengths != 0, cupy)
    return arrays
