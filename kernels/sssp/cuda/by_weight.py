"""Delta-stepping on CUDA over symmetric rows in the order of weights; its CPU twin is `light_heavy`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.sssp.weights import WeightedRows

SOURCE = "kernels/sssp/by_weight.cu"

CLASSES, ORDERING, NEARER, STATE, ROUND = 256, 256, 256, 24, 7  # as in by_weight.cu

PULL_FROM = 0.3
"""Share of all arcs, as on the CPU."""


class ByWeight:
    """Rows in the order of weights, with what a search takes; only `symmetric` ones may be searched."""

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
        least, most = least_and_most(keys)
        shift = 0
        while (most >> shift) - (least >> shift) + 2 > CLASSES:
            shift += 1
        self._mask = numpy.uint32((0xFFFFFFFF >> shift) << shift)
        self._offsets = cupy.ascontiguousarray(rows.row_offsets)
        columns = cupy.ascontiguousarray(rows.column_indices)
        self._columns, ordered = cupy.empty(rows.arcs, index), cupy.empty(rows.arcs, numpy.uint32)
        total = cupy.zeros(1, numpy.uint64)
        order = module.get_function("order_rows")
        numbers = numpy.uint64(n), numpy.uint32(least >> shift), numpy.uint32(shift)
        arrays = self._offsets, columns, keys, *numbers, self._columns, ordered, total
        order((resident_blocks(order, ORDERING),), (ORDERING,), arrays)
        self.symmetric = int(total[0]) == 0
        self._weights = ordered.view(rows.weights.dtype)
        self._marks, self._settled = cupy.empty(n, numpy.uint32), cupy.empty(n, numpy.uint32)
        self._queues = cupy.empty(3 * n, index)
        self.state = cupy.empty(STATE, numpy.uint64)

    def launch(self, source: int, words: Any, tree: Any | None) -> None:
        """Search, and find predecessors where `tree` is given; `words` are all unreached."""
        rows = self._rows
        for each in (self._marks, self._settled, self.state):
            each.fill(0)
        unreached = rows.words.type(rows.unreached)
        graph = self._offsets, self._columns, self._weights, self._mask
        counts = numpy.uint64(rows.vertices), numpy.uint64(source), unreached
        pull_from = numpy.uint64(max(1, int(PULL_FROM * rows.arcs)))
        arrays = words, self._marks, self._settled, self._queues, self.state
        self._search(*self._grid, (*graph, *counts, self._width, pull_from, *arrays))
        if tree is not None:
            self._nearer(*self._grid_of_tree, (*graph, *counts, words, tree, self.state))


def least_and_most(keys: Any) -> tuple[int, int]:
    """Find the least weight above zero and the largest one, as bits."""
    import cupy

    if not len(keys):
        return 0, 0
    most = int(keys.max())
    return min(most, int(cupy.where(keys == 0, numpy.uint32(0xFFFFFFFF), keys).min())), most
