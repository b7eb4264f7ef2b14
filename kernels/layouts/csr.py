"""Rows as they are: offsets and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

DEVICE_ARRAYS = ("row_offsets", "column_indices")


def _check_offsets(offsets: Any, arcs: int) -> None:
    descends = len(offsets) > 1 and int((offsets[1:] - offsets[:-1]).min()) < 0
    if len(offsets) == 0 or int(offsets[0]) != 0 or int(offsets[-1]) != arcs or descends:
        raise ValueError(f"row_offsets must ascend from 0 to {arcs}, the number of arcs")


def encode(row_offsets: Any, column_indices: Any) -> dict[str, Any]:
    """Name the arrays; see `kernels.layouts.encode`."""
    _check_offsets(row_offsets, len(column_indices))
    return {"row_offsets": row_offsets, "column_indices": column_indices}


def decode(arrays: Mapping[str, Any], arc_count: int, dtype: Any, bound: int) -> tuple[Any, Any]:
    """Check the arrays and give them back; see `kernels.layouts.decode`."""
    offsets, columns = arrays["row_offsets"], arrays["column_indices"]
    if columns.dtype != numpy.dtype(dtype) or len(columns) != arc_count:
        raise ValueError(
            f"there are {len(columns)} columns of {columns.dtype}; {arc_count} of {dtype} were expected"
        )
    _check_offsets(offsets, arc_count)
    if arc_count and int(columns.max()) >= bound:
        raise ValueError(f"a row names a vertex that is not in the graph: {int(columns.max())}")
    return offsets, columns
