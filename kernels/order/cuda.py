"""Degree order and renumbering on the GPU; the kernels are `renumber.cu`, the sorts CuPy's."""

from __future__ import annotations

from typing import Any

import numpy

from kernels.cuda import blocks_for, load, vertex_macro
from kernels.index import index_dtype

SOURCE = "kernels/order/renumber.cu"
LONG_ROW = 1024  # arcs from which a block copies a row, not a warp
ARCS_AT_ONCE = 1 << 29  # arcs sorted at once: their keys and the sort's copy take 8 GiB


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


def apply(
    row_offsets: Any,
    column_indices: Any,
    permutation: Any,
    *,
    block: int = 256,
    arcs_at_once: int = ARCS_AT_ONCE,
    long_row: int = LONG_ROW,
    out: Any = None,
) -> tuple[Any, Any]:
    """Renumber a graph; see `kernels.order.apply`.

    Rows are made `arcs_at_once` arcs at a time (more only for one longer row), which need 16 bytes each
    beside the two graphs. `out` takes the columns; it and `column_indices` may be views of pinned memory.
    Raises ValueError if `permutation` is none.
    """
    import cupy

    vertices = len(row_offsets) - 1
    if len(permutation) != vertices:
        raise ValueError(f"the permutation has {len(permutation)} entries; there are {vertices} vertices")
    new_offsets = cupy.zeros(vertices + 1, cupy.int64)
    columns = cupy.empty_like(column_indices) if out is None else out
    if vertices == 0:
        return new_offsets, columns
    module = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype))
    grid = (blocks_for(vertices, block, most=1 << 16),), (block,)
    inverse = cupy.full(vertices, numpy.uint64((1 << 64) - 1))
    faults = cupy.zeros(1, cupy.uint64)
    permutation = permutation.astype(column_indices.dtype, copy=False)
    module.get_function("invert")(
        *grid, (row_offsets, permutation, numpy.uint64(vertices), inverse, new_offsets[1:], faults)
    )
    if int(faults[0]):
        raise ValueError("not a permutation: a number occurs twice, or is not below the number of vertices")
    cupy.cumsum(new_offsets, out=new_offsets)

    bits = max(1, (vertices - 1).bit_length())
    first = 0
    while first < vertices:
        begin = int(new_offsets[first])
        last = int(cupy.searchsorted(new_offsets, cupy.array([begin + arcs_at_once]), side="right")[0]) - 1
        last = min(max(last, first + 1), vertices, first + (1 << (64 - bits)))
        end = int(new_offsets[last])
        if end > begin:
            keys = cupy.empty(end - begin, cupy.uint64)
            long_rows = cupy.flatnonzero(cupy.diff(new_offsets[first : last + 1]) > long_row)
            span = numpy.uint64(first), numpy.uint64(last), numpy.uint32(bits), numpy.int64(long_row)
            module.get_function("row_keys")(
                (blocks_for((last - first) * 32, block, most=1 << 16),),
                (block,),
                (
                    row_offsets,
                    column_indices,
                    permutation,
                    inverse,
                    new_offsets,
                    *span,
                    long_rows,
                    numpy.uint64(len(long_rows)),
                    keys,
                ),
            )
            keys.sort()
            module.get_function("key_columns")(
                (blocks_for(end - begin, block, most=1 << 16),),
                (block,),
                (keys, numpy.uint64(end - begin), numpy.uint32(bits), columns[begin:end]),
            )
        first = last
    return new_offsets, columns
