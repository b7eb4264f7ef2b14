"""Induced subgraphs on the GPU; the kernels are `subgraph.cu`, the sort of permuted rows is CuPy's."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.arrays import index_bits, index_dtype
from gravel.kernels.buffers import make
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.layouts import EncodedRows, device_rows
from gravel.kernels.subgraph_buffers import arcs_kept, numbers, row_ends

SOURCE = "kernels/subgraph.cu"
WARP = 32

MAX_CHOSEN = 1 << 32
"""Vertices of a subgraph at most, so that row and column of an arc are one key to sort."""


def induced_on_device(
    rows: EncodedRows, at: Any, *, is_sorted: bool, weights: Any
) -> tuple[Any, Any, Any, int]:
    """Take the rows at these places; returns CuPy arrays, as `gravel.kernels.subgraph.InducedRows` has them.

    `is_sorted` says that the places ascend with their vertices. Raises ValueError for `MAX_CHOSEN` or more.
    """
    import cupy

    count, dtype = len(at), numpy.dtype(rows.dtype)
    if count >= MAX_CHOSEN:
        raise ValueError(f"a subgraph of {count:,} vertices is taken on the CPU")
    at = cupy.asarray(numpy.ascontiguousarray(at, numpy.uint64))
    number = numbers(rows.vertex_count, dtype.str[1:]).make(cupy)
    number[at] = cupy.arange(count, dtype=dtype)
    starts = None if weights is None else _starts(rows)
    run = Kernels(SOURCE, LAYOUT=rows.layout, VERTEX=vertex_macro(dtype)).run
    there = device_rows(rows, bound=rows.vertex_count)
    offsets, loops = row_ends(count).make(cupy), cupy.zeros(1, cupy.uint64)
    run("count_arcs", WARP * count, *there, at, count, number, offsets[1:], loops)
    cupy.cumsum(offsets, out=offsets)
    arcs = int(offsets[-1])
    columns, kept = make(arcs_kept(arcs, dtype.str[1:], weights is not None), cupy).values()
    kept = None if weights is None else kept.view(weights.dtype)
    run("write_arcs", WARP * count, *there, at, count, number, offsets, columns, starts, weights, kept)
    del number
    if not is_sorted:
        columns, kept = _sorted(offsets, columns, kept)
    return offsets, columns.astype(index_dtype(count), copy=False), kept, int(loops[0])


def _starts(rows: EncodedRows) -> Any:
    """Say with which arc each row begins."""
    if rows.layout == "csr":
        return rows.arrays["row_offsets"]
    from gravel.kernels.layouts.counting import row_offsets

    return row_offsets(rows)


def _sorted(offsets: Any, columns: Any, weights: Any) -> tuple[Any, Any]:
    """Sort rows by their columns; equal ones stay in their order."""
    import cupy

    from gravel.kernels.csr.tails import tails_of

    bits = numpy.uint64(index_bits(len(offsets) - 1))
    tails = tails_of(offsets, len(columns)).astype(cupy.uint64)
    keys = (tails << bits) | columns.astype(cupy.uint64)
    if weights is None:
        keys.sort()
    else:
        order = cupy.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
    mask = numpy.uint64((1 << int(bits)) - 1)
    return (keys & mask).astype(columns.dtype), weights
