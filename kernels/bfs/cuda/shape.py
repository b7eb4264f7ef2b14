"""A graph's shape, measured on the device; see `kernels/bfs/shape.cu`."""

from __future__ import annotations

import time
from typing import Any

from gravel.kernels.bfs.shape import BINS, Growth, Shape, top_share
from gravel.kernels.cuda import blocks_for, load, resident_blocks, vertex_macro

SOURCE = "kernels/bfs/shape.cu"
BLOCK = 256
HUB_SHIFT = 33
MOST_LEVELS = 256
"""Levels of a probe; a level costs about 3 us where there are few arcs."""

MOST_ARCS = 1 << 22
"""Arcs that a probe reads; from then on a graph is not deep for its size."""


def measure(row_offsets: Any, column_indices: Any, *, symmetric: bool) -> Shape:
    """Measure a graph by its degrees and a short search; the time leaves compilation out."""
    import cupy
    import numpy

    module = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype))
    n = len(row_offsets) - 1
    spread, probe = module.get_function("spread"), module.get_function("probe")
    started = time.perf_counter()
    offsets, columns = cupy.ascontiguousarray(row_offsets), cupy.ascontiguousarray(column_indices)
    # The module is cooperative, so the grids of both kernels must be resident.
    counted = cupy.zeros(2 * BINS + 1, cupy.uint64)
    grid = min(blocks_for(n, BLOCK), resident_blocks(spread, BLOCK))
    spread((grid,), (BLOCK,), (offsets, numpy.uint64(n), counted[: 2 * BINS], counted[2 * BINS :]))
    *histogram, hub = (int(word) for word in counted.get())
    vertices, arcs = histogram[:BINS], histogram[BINS:]
    log = cupy.zeros(2 + 2 * MOST_LEVELS, cupy.uint64)
    state = cupy.zeros(3, cupy.uint64)
    if n:
        probe(
            (resident_blocks(probe, BLOCK),),
            (BLOCK,),
            (
                offsets,
                columns,
                cupy.zeros(n // 32 + 1, cupy.uint32),
                cupy.empty(min(n, MOST_ARCS + 1), columns.dtype),
                state[:2],
                log,
                state[2:],
                numpy.uint64(hub & ((1 << HUB_SHIFT) - 1)),
                numpy.uint64(MOST_LEVELS),
                numpy.uint64(MOST_ARCS),
            ),
        )
    levels, done, *counts = (int(word) for word in log.get())
    # A level without vertices ends a complete search; the last of a search that stopped is in the log too.
    kept = min(levels + (0 if done else 1), MOST_LEVELS) if n else 0
    if n and not levels:
        kept = 1
    milliseconds = (time.perf_counter() - started) * 1e3
    return Shape(
        vertices=n,
        arcs=len(columns),
        symmetric=symmetric,
        linked=sum(vertices[1:]),
        largest_degree=hub >> HUB_SHIFT,
        top_share=top_share(vertices, arcs),
        growth=Growth(tuple(counts[: 2 * kept : 2]), tuple(counts[1 : 2 * kept : 2]), bool(done)),
        milliseconds=milliseconds,
    )
