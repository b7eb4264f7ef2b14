"""What can be read of rows on the device without decoding them all: their units and first neighbours."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.layouts import EncodedRows, device_rows

VISIT = "kernels/layouts/visit.cu"
MOST_BLOCKS = 1 << 14
BLOCK = 256


def visit_kernel(rows: EncodedRows, name: str) -> Any:
    """A kernel of `visit.cu` for the layout of these rows."""
    module = load(VISIT, LAYOUT=rows.layout, VERTEX=vertex_macro(rows.dtype))
    return module.get_function(name)


def unit_counts(rows: EncodedRows, *, bound: int | None = None) -> tuple[Any, Any]:
    """How many units each row has, and its weight (neighbours of `csr`, else bytes): two int64 (rows,)."""
    import cupy

    units, weights = (cupy.zeros(rows.vertex_count, cupy.int64) for _ in range(2))
    if rows.vertex_count:
        visit_kernel(rows, "count_units")(
            (blocks_for(rows.vertex_count, BLOCK, most=MOST_BLOCKS),),
            (BLOCK,),
            (*device_rows(rows, bound=bound), numpy.uint64(rows.vertex_count), units, weights),
        )
    return units, weights


def list_units(rows: EncodedRows, *, least: int = 1, bound: int | None = None) -> tuple[Any, Any]:
    """Row and unit of every unit of the rows that have at least this many: two int64 (units,)."""
    import cupy

    units, _ = unit_counts(rows, bound=bound)
    chosen = cupy.flatnonzero(units >= least)
    ends = cupy.cumsum(units[chosen])
    every = cupy.arange(int(ends[-1]) if len(ends) else 0, dtype=cupy.int64)
    at = cupy.searchsorted(ends, every, side="right")
    return chosen[at], every - (ends - units[chosen])[at]


def first_neighbours(rows: EncodedRows, count: int, absent: int, *, bound: int | None = None) -> Any:
    """Give the first neighbours of every row, of the rows' dtype (rows, count), `absent` where it has fewer.

    `bound` is as in `device_rows`.
    """
    import cupy

    heads = cupy.full((rows.vertex_count, count), absent, rows.dtype)
    if rows.vertex_count:
        visit_kernel(rows, "first_neighbours")(
            (blocks_for(rows.vertex_count * 32, BLOCK, most=MOST_BLOCKS),),
            (BLOCK,),
            (*device_rows(rows, bound=bound), numpy.uint64(rows.vertex_count), numpy.uint32(count), heads),
        )
    return heads


def loop_counts(rows: EncodedRows) -> Any:
    """Count the neighbours of each row that are the row itself: uint64 (rows,)."""
    import cupy

    loops = cupy.zeros(rows.vertex_count, cupy.uint64)
    if rows.arc_count:
        unit_rows, units = list_units(rows, least=2)
        warps = -(-(rows.vertex_count + len(units)) // 32)
        visit_kernel(rows, "count_loops")(
            (blocks_for(warps * 32, BLOCK, most=MOST_BLOCKS),),
            (BLOCK,),
            (
                *device_rows(rows),
                numpy.uint64(rows.vertex_count),
                unit_rows,
                units,
                numpy.uint64(len(units)),
                loops,
            ),
        )
    return loops
