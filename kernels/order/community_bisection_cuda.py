"""Recursive bisection on the GPU, with the results of `gravel.kernels.order.community_bisection`.

The kernels are `community_bisection.cu`, the sorts CuPy's. Beside the graph it holds a second copy, 16 bytes
for each row with more than one neighbour and 40 bytes per vertex. With `room` that copy is in pinned memory
where it does not fit, and every exchange reads it over the link.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.arrays import index_bits
from gravel.kernels.buffers import exact
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.order.buffers import sorted_range
from gravel.kernels.order.community_bisection import ROUNDS, SMALLEST, gain_bits, gain_table
from gravel.kernels.order.community_ranges_cuda import on_host
from gravel.kernels.order.renumber_cuda import apply

SOURCE = "kernels/order/community_bisection.cu"
BLOCK = 256
PIECE_BLOCK = 128  # the kernel file's WARPS
MAX_BLOCKS = 1 << 16


def refine(
    row_offsets: Any, column_indices: Any, permutation: Any, *, rounds: int = ROUNDS, room: int | None = None
) -> Any:
    """Improve an order of a symmetric graph; see `gravel.kernels.order.community_bisection.refine`.

    With `room`, the bytes of the device that rows may take, `column_indices` may be a view of pinned memory,
    and the copy that is made of the graph is one where it does not fit. Raises
    `gravel.kernels.placement.pinned.PinnedRefused` where the system pins no memory.
    """
    import cupy

    vertices = len(permutation)
    if rounds == 0 or index_bits(vertices) < SMALLEST or len(column_indices) == 0:
        return permutation
    if room is None:
        offsets, columns = apply(row_offsets, column_indices, permutation)
    else:
        # Every level reads the copy some times over, so it is on the device where it fits beside the sorts.
        near = 2 * column_indices.nbytes <= room
        copy = None if near else on_host(column_indices, len(column_indices))
        of_arc = exact(sorted_range(1, column_indices.dtype.str[1:]))
        at_once = max(1, (room // 2 if near else room) // of_arc)
        offsets, columns = apply(row_offsets, column_indices, permutation, arcs_at_once=at_once, out=copy)
    columns = columns.astype(permutation.dtype, copy=False)
    of_vertices, of_pieces = (
        Kernels(SOURCE, block=block, most=MAX_BLOCKS, VERTEX=vertex_macro(columns.dtype)).run
        for block in (BLOCK, PIECE_BLOCK)
    )
    starts, lengths = _pieces(of_vertices, offsets)
    pieces = 32 * len(starts), starts, lengths, len(starts), columns
    table = cupy.asarray(gain_table())
    width = numpy.uint32(gain_bits(vertices))
    result = permutation.copy()
    place = cupy.empty(vertices, permutation.dtype)
    upper_half = cupy.empty(-(-vertices // 32), cupy.uint32)
    gain, keys = cupy.zeros(vertices, cupy.int64), cupy.empty(vertices, cupy.uint64)
    for each in range(index_bits(vertices), SMALLEST - 1, -1):
        level = numpy.uint32(each)
        of_vertices("begin_level", vertices, vertices, level, place, upper_half)
        for _ in range(rounds):
            of_pieces("add_gains", *pieces, upper_half, level, table, gain)
            of_vertices("exchange_keys", vertices, vertices, level, width, upper_half, gain, keys)
            keys.sort()
            of_vertices("exchange", vertices, keys, vertices, level, width, place, upper_half)
        of_pieces("split", *pieces, upper_half, level, place)
        result = place[result]
    if room is not None:
        # Pinned memory goes when this returns, and must not while a kernel works on it.
        cupy.cuda.get_current_stream().synchronize()
    return result


def _pieces(run: Any, offsets: Any) -> tuple[Any, Any]:
    import cupy

    vertices = len(offsets) - 1
    places = cupy.zeros(vertices + 1, cupy.int64)
    run("count_pieces", vertices, offsets, vertices, places[1:])
    cupy.cumsum(places, out=places)
    starts = cupy.empty(int(places[-1]), cupy.int64)
    lengths = cupy.empty(len(starts), cupy.uint32)
    run("list_pieces", vertices, offsets, vertices, places, starts, lengths)
    return starts, lengths
