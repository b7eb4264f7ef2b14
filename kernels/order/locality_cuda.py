"""What an order does to the lists, measured on the GPU; the kernel is `locality.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.order.measured import OrderStatistics

SOURCE = "kernels/order/locality.cu"
MAX_BLOCKS = 1 << 12  # each warp ends with three atomic additions


def statistics(row_offsets: Any, column_indices: Any, first_vertex: int = 0) -> OrderStatistics:
    """Measure rows whose lists are sorted; see `gravel.kernels.order.locality.statistics`."""
    import cupy

    rows = len(row_offsets) - 1
    arcs = len(column_indices)
    if not arcs:
        return OrderStatistics()
    sums = cupy.zeros(3, cupy.uint64)
    kernels = Kernels(SOURCE, most=MAX_BLOCKS, VERTEX=vertex_macro(column_indices.dtype))
    kernels.run("measure_order", 32 * rows, row_offsets, column_indices, rows, first_vertex, sums)
    return OrderStatistics(arcs, *(int(each) for each in sums.get()))
