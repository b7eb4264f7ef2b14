"""Pairs on CUDA: each block takes one after another, with labels of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from gravel.kernels.cuda import event_milliseconds, load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.point_to_point.interface import Paths, checked_pairs
from gravel.kernels.sssp.buffers import HUB
from gravel.kernels.sssp.weights import WeightedRows

SOURCE = "kernels/point_to_point/search.cu"

LAUNCHED = 1 << 14
"""Pairs of a launch, which others may have to wait for."""

USUAL_PATH = 64
"""Vertices of a path that room is made for; where paths are longer, they are found once more."""

NEXT, TOTAL, STATE = range(3)
"""As search.cu has them."""


def bytes_of_pair(vertices: int, arcs: int, width: int, word: int) -> int:
    """Count what the search of a pair takes: three arrays of words, rounds and marks of two, and queues."""
    return vertices * (3 * word + 2 * 5 + 7 * width) + (arcs // HUB + 1) * width


class CudaPairs:
    """Rows made ready, with the labels of as many blocks as run at the same time."""

    def __init__(
        self,
        rows: WeightedRows,
        reverse: WeightedRows,
        factor: float,
        at_once: int | None,
        *,
        block: int = 512,
    ) -> None:
        import cupy

        refuse_block(block)
        n = self._vertices = rows.vertices
        self._floats = rows.weights is not None and rows.is_float
        words = max(rows.words, reverse.words, key=lambda each: each.itemsize)
        index = rows.column_indices.dtype
        weight = "One" if rows.weights is None else "float" if self._floats else "u32"
        module = load(SOURCE, VERTEX=vertex_macro(index), WORD=vertex_macro(words), WEIGHT=weight)
        self._kernel = module.get_function("point_to_point")
        resident = resident_blocks(self._kernel, block)
        self.at_once = blocks = resident if at_once is None else min(resident, at_once)
        self._block = block
        none = numpy.uint64(0)
        self._graph = tuple(
            none if array is None else cupy.ascontiguousarray(array)
            for each in (rows, reverse)
            for array in (each.row_offsets, each.column_indices, each.weights)
        )
        hub_room = rows.arcs // HUB + 1
        width = numpy.uint32(1) if rows.weights is None else rows.width(factor)
        self._constants = width.view(numpy.uint32), words.type(rows.unreached)
        self._sizes = numpy.uint64(n), numpy.uint64(hub_room)
        self._arena = (
            cupy.full(3 * n * blocks, words.type(rows.unreached), words),
            cupy.zeros(2 * n * blocks, numpy.uint32),
            cupy.zeros(2 * n * blocks, numpy.uint8),
            cupy.empty(7 * n * blocks, index),
            cupy.empty(hub_room * blocks, index),
        )

    def run(self, sources: Any, targets: Any, *, path: bool = True) -> Paths:
        """Search between sources[i] and targets[i]."""
        ends = checked_pairs(self._vertices, sources, targets)
        lengths, sizes, ways, milliseconds = [], [numpy.zeros(1, numpy.int64)], [], 0.0
        for low in range(0, len(ends[0]), LAUNCHED):
            part = [each[low : low + LAUNCHED].astype(numpy.uint64) for each in ends]
            length, size, way, took = self._launch(*part, path=path)
            lengths.append(length)
            sizes.append(size)
            ways.append(way)
            milliseconds += took
        words = numpy.concatenate([numpy.empty(0, numpy.uint64), *lengths])
        found = words.view(numpy.int64)
        if self._floats:
            found = numpy.where(found == -1, numpy.inf, words.view(numpy.float64))
        if not path:
            return Paths(found, None, None, milliseconds)
        vertices = numpy.concatenate([numpy.empty(0, numpy.int64), *ways])
        return Paths(found, numpy.cumsum(numpy.concatenate(sizes)), vertices, milliseconds)

    def _launch(self, sources: Any, targets: Any, *, path: bool) -> tuple[Any, Any, Any, float]:
        """Return lengths, numbers of vertices and vertices of some pairs, in their order, and the time."""
        import cupy

        count, milliseconds = len(sources), 0.0
        room = USUAL_PATH * count if path else 0
        given = numpy.uint64(count), cupy.asarray(sources), cupy.asarray(targets)
        lengths, sizes = (cupy.empty(count, numpy.uint64) for _ in range(2))
        places = cupy.zeros(count, numpy.uint64)  # written for those alone that have a path
        grid = (min(self.at_once, count),)
        while True:
            way = cupy.empty(max(1, room), self._graph[1].dtype)
            state = cupy.zeros(STATE, numpy.uint64)
            end = lengths, places, sizes, way if path else numpy.uint64(0), numpy.uint64(room), state
            arguments = *self._graph, *self._sizes, *given, *self._constants, *self._arena, *end
            milliseconds += event_milliseconds(partial(self._kernel, grid, (self._block,), arguments))
            total = int(state[TOTAL].get())
            if total <= room:
                break
            room = total
        size = sizes.get().astype(numpy.int64)
        if not path:
            return lengths.get(), size, numpy.empty(0, numpy.int64), milliseconds
        # Paths lie in the order in which blocks were done.
        first = numpy.repeat(places.get().astype(numpy.int64) - (numpy.cumsum(size) - size), size)
        there = way[:total].get().astype(numpy.int64)
        return lengths.get(), size, there[first + numpy.arange(total)], milliseconds
