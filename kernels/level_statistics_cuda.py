"""What a search reached, counted on the GPU; the kernels are `level_statistics.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels

SOURCE = "kernels/level_statistics.cu"
ROOM = 1024
"""Levels that are counted at first, at least as many as `NEAR` in the kernel; of a deeper search all are."""

SUMMING_BLOCKS = 2048
"""Blocks that add up levels: each adds what it found to the sums of all."""


def edge_ends(row_offsets: Any, column_indices: Any, first_row: int = 0) -> Any:
    """Count each vertex's ends of distinct edges; see `gravel.kernels.level_statistics.edge_ends`.

    Arrays are CuPy's: int64 (rows + 1,) and uint32 or uint64. Returns int64 (rows,).
    """
    import cupy

    rows = len(row_offsets) - 1
    ends = cupy.zeros(rows, cupy.int64)
    kernels = Kernels(SOURCE, VERTEX=vertex_macro(column_indices.dtype))
    kernels.run("edge_ends", 32 * rows, row_offsets, column_indices, rows, first_row, ends)
    return ends


def level_sums(
    distance: Any, degrees: Any | None, extra_ends: Any | None = None, *, room: int = ROOM
) -> tuple[Any, Any, int]:
    """Count vertices and stored arcs of each level; see `gravel.kernels.level_statistics.level_sums`.

    Arrays are CuPy's: `distance` int32 (vertices,) of any stride, `degrees` uint32 (vertices,), and
    `extra_ends` int32 (vertices,). Without degrees there are no arcs. Returns two NumPy arrays int64
    (levels,) and the sum of `extra_ends` over what is reached.
    """
    import cupy

    count = len(distance)
    sums = cupy.zeros(2 * room + 2, cupy.uint64)
    labels = distance.data.ptr, numpy.int64(distance.strides[0] // distance.itemsize)
    made = sums, sums[room:], sums[2 * room :]
    kernels = Kernels(SOURCE, most=SUMMING_BLOCKS, VERTEX="u32")
    kernels.run("level_sums", count, *labels, degrees, extra_ends, count, room, *made)
    found = sums.get().astype(numpy.int64)
    levels = int(found[-1])
    if levels > room:
        return level_sums(distance, degrees, extra_ends, room=levels)
    return found[:levels], found[room : room + levels], int(found[-2])
