"""What a search reached, counted on the GPU; the kernels are `level_statistics.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro

SOURCE = "kernels/level_statistics.cu"
BLOCK = 256
MOST_BLOCKS = 1 << 14
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
    if rows:
        load(SOURCE, VERTEX=vertex_macro(column_indices.dtype)).get_function("edge_ends")(
            (blocks_for(rows * 32, BLOCK, most=MOST_BLOCKS),),
            (BLOCK,),
            (row_offsets, column_indices, numpy.uint64(rows), numpy.uint64(first_row), ends),
        )
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
    load(SOURCE, VERTEX="u32").get_function("level_sums")(
        (blocks_for(count, BLOCK, most=SUMMING_BLOCKS),),
        (BLOCK,),
        (
            numpy.uint64(distance.data.ptr),
            numpy.int64(distance.strides[0] // distance.itemsize),
            *(numpy.uint64(0) if each is None else each for each in (degrees, extra_ends)),
            numpy.uint64(count),
            numpy.uint64(room),
            sums,
            sums[room:],
            sums[2 * room :],
        ),
    )
    found = sums.get().astype(numpy.int64)
    levels = int(found[-1])
    if levels > room:
        return level_sums(distance, degrees, extra_ends, room=levels)
    return found[:levels], found[room : room + levels], int(found[-2])
