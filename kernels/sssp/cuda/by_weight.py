"""Delta-stepping on CUDA over symmetric rows in the order of weights; its CPU twin is `light_heavy`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.cuda import load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.sssp.buffers import ordered
from gravel.kernels.sssp.weights import WeightedRows

SOURCE = "kernels/sssp/cuda/by_weight.cu"

CLASSES, ORDERING, NEARER = 256, 256, 256  # as in by_weight.cu

PULL_FROM = 0.1
"""Share of all arcs whose vertices are expanded, from which on a search pulls. On an H100, 0.03, 0.1 and 0.3
took 1.61, 1.47 and 1.47 ms on Kronecker 22, and 2.33, 2.24 and 2.44 ms on a random graph."""

WIDTH, WIDTH_SKEWED = 3.0, 0.5
"""Mean weights over the mean degree that a bucket is wide, narrower where hubs are. On an H100, 0.5, 1, 2
and 3 took 0.97, 1.09, 1.16 and 1.57 ms on Kronecker 21, and 4.48, 3.18, 2.52 and 2.24 ms on a random graph
of 2^20 vertices and degree 32."""


class ByWeight:
    """Symmetric rows in the order of weights, with what a search takes."""

    def __init__(self, rows: WeightedRows, width: float, block: int) -> None:
        import cupy

        refuse_block(block)
        self._rows, self._width = rows, rows.width(width)
        index, n = rows.column_indices.dtype, rows.vertices
        module = load(
            SOURCE,
            VERTEX=vertex_macro(index),
            WORD=vertex_macro(rows.words),
            WEIGHT="float" if rows.is_float else "u32",
        )
        self._search, self._nearer = module.get_function("light_and_pull"), module.get_function("nearer")
        self._grid = (resident_blocks(self._search, block),), (block,)
        self._grid_of_tree = (resident_blocks(self._nearer, NEARER),), (NEARER,)
        keys = cupy.ascontiguousarray(rows.weights).view(numpy.uint32)
        bounds = cupy.asarray(numpy.array([0xFFFFFFFF, 0], numpy.uint32))
        find = module.get_function("least_and_most")
        find((resident_blocks(find, ORDERING),), (ORDERING,), (keys, numpy.uint64(rows.arcs), bounds))
        least, most = map(int, bounds.get())
        least = min(least, most)
        shift = 0
        while (most >> shift) - (least >> shift) + 2 > CLASSES:
            shift += 1
        self._mask = numpy.uint32((0xFFFFFFFF >> shift) << shift)
        self._offsets = cupy.ascontiguousarray(rows.row_offsets)
        columns = cupy.ascontiguousarray(rows.column_indices)
        self._columns, weights = make(ordered(rows.arcs, index.itemsize), cupy).values()
        order = module.get_function("order_rows")
        numbers = numpy.uint64(n), numpy.uint32(least >> shift), numpy.uint32(shift)
        arrays = self._offsets, columns, keys, *numbers, self._columns, weights
        order((resident_blocks(order, ORDERING),), (ORDERING,), arrays)
        self._weights = weights.view(rows.weights.dtype)

    def launch(self, source: int, words: Any, tree: Any | None, room: tuple[Any, Any, Any, Any]) -> None:
        """Search, and find predecessors that are strictly nearer where `tree` is given.

        `words` are all unreached. `room` is marks and expanded, uint32 (vertices), queues for three times the
        vertices, and the state; marks, expanded and state are 0.
        """
        rows = self._rows
        unreached = rows.words.type(rows.unreached)
        graph = self._offsets, self._columns, self._weights, self._mask
        counts = numpy.uint64(rows.vertices), numpy.uint64(source), unreached
        pull_from = numpy.uint64(max(1, int(PULL_FROM * rows.arcs)))
        self._search(*self._grid, (*graph, *counts, self._width, pull_from, words, *room))
        if tree is not None:
            self._nearer(*self._grid_of_tree, (*graph, *counts, words, tree))
