"""Kernels that read rows of any layout unit by unit, as searches do; see `tests/kernels/visit.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.layouts import EncodedRows, device_rows

VISIT = "tests/kernels/visit.cu"


def visit_kernel(rows: EncodedRows, name: str) -> Any:
    """A kernel of `visit.cu` for the layout of these rows."""
    module = load(VISIT, LAYOUT=rows.layout, VERTEX=vertex_macro(rows.dtype))
    return module.get_function(name)


def first_neighbours(rows: EncodedRows, count: int, absent: int, *, bound: int) -> Any:
    """Give the first neighbours of every row, (rows, count), `absent` where it has fewer."""
    import cupy

    heads = cupy.full((rows.vertex_count, count), absent, rows.dtype)
    visit_kernel(rows, "first_neighbours")(
        (blocks_for(rows.vertex_count * 32, 256, most=1 << 14),),
        (256,),
        (*device_rows(rows, bound=bound), numpy.uint64(rows.vertex_count), numpy.uint32(count), heads),
    )
    return heads
