"""Sorted rows on the GPU; the kernels are `build.cu`, the sort is CuPy's.

Beside the edges a build holds two 64-bit words per arc while it sorts, then one word and a column per arc
(`buffers.py`; arcs are counted before duplicates are removed).
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.csr import Choice, Rows, buffers
from gravel.kernels.cuda import blocks_for, load, run_over, vertex_macro

SOURCE = "kernels/csr/build.cu"
ROUNDS = 16  # keys per thread of a tile, as in build.cu
CHOICES = {"as_given": 1, "reverse": 2, "both": 3}
KEEP_LOOPS = 4


def build(source: Any, target: Any, vertex_count: int, chosen: Choice, *, block: int = 256) -> Rows:
    """Build the rows of a range of vertices; see `gravel.kernels.csr.build`."""
    import cupy

    first_vertex, last_vertex = chosen.first_vertex, chosen.last_vertex
    rows = last_vertex - first_vertex
    bits = max(1, (vertex_count - 1).bit_length())
    if rows > 1 and (rows - 1).bit_length() + bits > 64:
        return _in_halves(source, target, vertex_count, chosen, block)
    module = load(SOURCE, VERTEX=vertex_macro(source.dtype))
    choice = _bits_of(chosen)
    edges = numpy.uint64(len(source))
    span = numpy.uint64(first_vertex), numpy.uint64(last_vertex)
    grid = (blocks_for(len(source), block, most=1 << 14),), (block,)

    total = cupy.array([0, (1 << 64) - 1], dtype=cupy.uint64)
    module.get_function("count_arcs")(
        *grid, (source, target, edges, numpy.uint64(vertex_count), *span, choice, total)
    )
    _refuse_strangers(total, source, target, vertex_count)
    arcs = int(total[0])
    keys = buffers.keys(arcs).make(cupy)
    tail = cupy.zeros(1, cupy.uint64)
    module.get_function("pack_arcs")(
        *grid, (source, target, edges, *span, choice, numpy.uint32(bits), tail, keys)
    )
    return sorted_rows(
        keys,
        rows,
        bits,
        source.dtype,
        keep_duplicates=chosen.keep_duplicates,
        first_vertex=first_vertex,
        block=block,
    )


def sorted_rows(
    keys: Any,
    rows: int,
    bits: int,
    dtype: Any,
    *,
    keep_duplicates: bool,
    first_vertex: int = 0,
    block: int = 256,
) -> Rows:
    """Sort keys (row << bits | column), which are overwritten, and make rows of them."""
    import cupy

    module = load(SOURCE, VERTEX=vertex_macro(dtype))
    keys.sort()
    arcs = len(keys)
    row_offsets, before, kept = make(buffers.unpacked(rows, arcs, block * ROUNDS), cupy).values()
    loops = cupy.zeros(1, cupy.uint64)
    tiles = len(kept)
    duplicates = numpy.uint32(keep_duplicates)
    if arcs:
        module.get_function("count_kept")((tiles,), (block,), (keys, numpy.uint64(arcs), duplicates, kept))
        cupy.cumsum(kept, out=before[1:])
    columns = buffers.columns(int(before[-1]), numpy.dtype(dtype).str[1:]).make(cupy)
    if arcs:
        module.get_function("unpack_arcs")(
            (tiles,),
            (block,),
            (
                keys,
                numpy.uint64(arcs),
                duplicates,
                numpy.uint32(bits),
                numpy.uint64(first_vertex),
                before,
                columns,
                row_offsets[1:],
                loops,
            ),
        )
    cupy.cumsum(row_offsets, out=row_offsets)
    return Rows(row_offsets, columns, int(loops[0]))


def degrees(source: Any, target: Any, chosen: Choice, out: Any = None, *, block: int = 256) -> Any:
    """Count the arcs of each row, duplicates included; see `gravel.kernels.csr.degrees`."""
    import cupy

    vertex_count = chosen.last_vertex
    counts = cupy.zeros(vertex_count, cupy.int64) if out is None else out
    total = cupy.array([0, (1 << 64) - 1], dtype=cupy.uint64)
    edges = source, target, numpy.uint64(len(source)), numpy.uint64(vertex_count)
    kernel = load(SOURCE, VERTEX=vertex_macro(source.dtype)).get_function("count_degrees")
    arguments = *edges, _bits_of(chosen), total, counts
    run_over(kernel, len(source), *arguments, block=block, most=1 << 14)
    _refuse_strangers(total, source, target, vertex_count)
    return counts


def _bits_of(chosen: Choice) -> numpy.uint32:
    return numpy.uint32(CHOICES[chosen.direction] | (KEEP_LOOPS if chosen.keep_loops else 0))


def _in_halves(source: Any, target: Any, vertex_count: int, chosen: Choice, block: int) -> Rows:
    import cupy

    middle = (chosen.first_vertex + chosen.last_vertex) // 2
    halves = chosen._replace(last_vertex=middle), chosen._replace(first_vertex=middle)
    low, high = (build(source, target, vertex_count, half, block=block) for half in halves)
    row_offsets = cupy.concatenate([low.row_offsets, high.row_offsets[1:] + low.row_offsets[-1]])
    columns = cupy.concatenate([low.column_indices, high.column_indices])
    return Rows(row_offsets, columns, low.loop_count + high.loop_count)


def _refuse_strangers(total: Any, source: Any, target: Any, vertex_count: int) -> None:
    bad = int(total[1])
    if bad < len(source):
        raise ValueError(
            f"edge {bad} joins {int(source[bad])} and {int(target[bad])}; "
            f"there are {vertex_count} vertices, 0-based"
        )
