"""Degree order on the GPU; the kernels are in `renumber.cu`, the sort CuPy's."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.index import index_dtype

SOURCE = "kernels/order/renumber.cu"


def degree(row_offsets: Any, *, block: int = 256) -> Any:
    """Number the vertices by descending degree, equal degrees by ascending vertex; returns (vertices,)."""
    import cupy

    vertices = len(row_offsets) - 1
    dtype = index_dtype(vertices)
    order = cupy.empty(vertices, dtype)
    if vertices == 0:
        return order
    bits = max(1, (vertices - 1).bit_length())
    longest = int(cupy.diff(row_offsets).max())
    if longest.bit_length() + bits > 64:
        ascending = cupy.argsort(-cupy.diff(row_offsets), kind="stable")
        order[ascending] = cupy.arange(vertices, dtype=dtype)
        return order
    module = load(SOURCE, VERTEX=vertex_macro(dtype))
    grid = (blocks_for(vertices, block, most=1 << 16),), (block,)
    keys = cupy.empty(vertices, cupy.uint64)
    count = numpy.uint64(vertices)
    module.get_function("degree_keys")(
        *grid, (row_offsets, count, numpy.int64(longest), numpy.uint32(bits), keys)
    )
    keys.sort()
    module.get_function("ranks")(*grid, (keys, count, numpy.uint32(bits), order))
    return order
