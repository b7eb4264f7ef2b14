"""The other end of each arc: the row that it is stored in."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.arrays import backend_of, index_dtype


def tails_of(row_offsets: Any, arcs: int) -> Any:
    """Return the row of each of the arcs, uint32 or uint64 (arcs,), where the offsets are."""
    count = len(row_offsets) - 1
    if backend_of(row_offsets) == "cpu":
        return numpy.repeat(numpy.arange(count, dtype=index_dtype(count)), numpy.diff(row_offsets))
    import cupy

    places = cupy.arange(arcs, dtype=numpy.int64)
    return (cupy.searchsorted(row_offsets, places, side="right") - 1).astype(index_dtype(count))
