"""A graph's shape, measured on the device; see `shape.cu`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from gravel.kernels.bfs.cuda.kernel_rows import DecodedRows
from gravel.kernels.bfs.shape import BINS, Growth, Shape, top_share
from gravel.kernels.cuda import blocks_for, load, resident_blocks, vertex_macro

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/bfs/cuda/shape.cu"
BLOCK = 256
HUB_SHIFT = 33
MAX_LEVELS = 256
"""Levels of a probe; a level costs about 3 us where there are few arcs."""

MAX_ARCS = 1 << 22
"""Arcs that a probe reads; from then on a graph is not deep for its size."""


class Given(NamedTuple):
    """Rows in any layout, as the kernels read them: neighbours of each summed up, and their arguments."""

    offsets: Any  # CuPy int64 (vertices + 1,)
    arguments: tuple[Any, ...]
    dtype: Any  # of neighbours
    arcs: int


def measure(row_offsets: Any, column_indices: Any, *, symmetric: bool) -> Shape:
    """Measure a graph by its degrees and a short search; the time leaves compilation out."""
    import cupy
    import numpy

    module = load(SOURCE, LAYOUT="csr", VERTEX=vertex_macro(column_indices.dtype))
    started = time.perf_counter()
    offsets, columns = cupy.ascontiguousarray(row_offsets), cupy.ascontiguousarray(column_indices)
    arguments = offsets, columns, numpy.uint64(len(offsets) - 1)
    given = Given(offsets, arguments, columns.dtype, len(columns))
    return _measure(module, given, symmetric=symmetric, started=started)


def measure_rows(rows: EncodedRows, *, symmetric: bool) -> Shape:
    """Measure encoded rows as they are stored; takes 8 bytes of the device a vertex meanwhile."""
    decoded = DecodedRows(rows, cut=False)
    module = load(SOURCE, **decoded.macros)
    started = time.perf_counter()
    given = Given(decoded.count(), decoded.arguments, decoded.dtype, decoded.arcs)
    return _measure(module, given, symmetric=symmetric, started=started)


def _measure(module: Any, rows: Given, *, symmetric: bool, started: float) -> Shape:
    import cupy
    import numpy

    spread, probe = module.get_function("spread"), module.get_function("probe")
    n = len(rows.offsets) - 1
    # The module is cooperative, so the grids of both kernels must be resident.
    counted = cupy.zeros(2 * BINS + 1, cupy.uint64)
    grid = min(blocks_for(n, BLOCK), resident_blocks(spread, BLOCK))
    spread((grid,), (BLOCK,), (rows.offsets, numpy.uint64(n), counted[: 2 * BINS], counted[2 * BINS :]))
    *histogram, hub = (int(word) for word in counted.get())
    vertices, arcs = histogram[:BINS], histogram[BINS:]
    log = cupy.zeros(2 + 2 * MAX_LEVELS, cupy.uint64)
    state = cupy.zeros(3, cupy.uint64)
    if n:
        probe(
            (resident_blocks(probe, BLOCK),),
            (BLOCK,),
            (
                rows.offsets,
                *rows.arguments,
                cupy.zeros(n // 32 + 1, cupy.uint32),
                cupy.empty(min(n, MAX_ARCS + 1), rows.dtype),
                state[:2],
                log,
                state[2:],
                numpy.uint64(hub & ((1 << HUB_SHIFT) - 1)),
                numpy.uint64(MAX_LEVELS),
                numpy.uint64(MAX_ARCS),
            ),
        )
    levels, done, *counts = (int(word) for word in log.get())
    # A level without vertices ends a complete search; the last of a search that stopped is in the log too.
    kept = min(levels + (0 if done else 1), MAX_LEVELS) if n else 0
    if n and not levels:
        kept = 1
    milliseconds = (time.perf_counter() - started) * 1e3
    return Shape(
        vertices=n,
        arcs=rows.arcs,
        symmetric=symmetric,
        linked=sum(vertices[1:]),
        largest_degree=hub >> HUB_SHIFT,
        top_share=top_share(vertices, arcs),
        growth=Growth(tuple(counts[: 2 * kept : 2]), tuple(counts[1 : 2 * kept : 2]), bool(done)),
        milliseconds=milliseconds,
    )
