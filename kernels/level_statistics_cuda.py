"""What a search reached, counted on the GPU; the kernels are `level_statistics.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro

SOURCE = "kernels/level_statistics.cu"
BLOCK = 256
MOST_BLOCKS = 1 << 14
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


def level_sums(distance: Any, row_offsets: Any, halves: Any | None) -> tuple[Any, Any, int]:
    """Count vertices and stored arcs of each level; see `gravel.kernels.level_statistics.level_sums`.

    Arrays are CuPy's: `distance` int32 (vertices,), `row_offsets` int64 (vertices + 1,), `halves` int64
    (vertices,) or None. Returns two NumPy arrays int64 (levels,) and the sum of
    `halves` over what is reached.
    """
    import cupy

    levels = int(distance.max()) + 1 if len(distance) else 0
    sums = cupy.zeros(2 * levels + 1, cupy.uint64)
    if levels:
        count = len(distance)
        load(SOURCE, VERTEX="u32").get_function("level_sums")(
            (blocks_for(count, BLOCK, most=SUMMING_BLOCKS),),
            (BLOCK,),
            (
                distance,
                row_offsets,
                numpy.uint64(0) if halves is None else halves,
                numpy.uint64(count),
                numpy.uint64(levels),
                sums,
                sums[levels:],
                sums[2 * levels :],
            ),
        )
    found = sums.get().astype(numpy.int64)
    return found[:levels], found[levels : 2 * levels], int(found[-1])
