"""Betweenness by searches side by side on a GPU, each by one block; see `independent.cu`."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from gravel.kernels.betweenness.buffers import one_by_one
from gravel.kernels.betweenness.interface import TooManyPaths, Wanted
from gravel.kernels.buffers import exact, make
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, multiprocessors, vertex_macro
from gravel.kernels.distances.interface import refuse_width

SOURCE = "kernels/betweenness/independent.cu"
BLOCK = 512
BLOCKS_PER_PROCESSOR = 2
"""The best for distances of USA-road-NE on an H200, when these kept their bits in its memory too."""

NONE = (1 << 32) - 1


class Independent:
    """A prepared graph: the workspaces of all blocks, and the sums, on the device."""

    form = "one by one"

    def __init__(self, wanted: Wanted, memory: int) -> None:
        import cupy

        forward, backward, sources, size = wanted.forward, wanted.backward, wanted.sources, wanted.size
        self._count, dtype = wanted.vertices, forward[1].dtype
        each = exact(one_by_one(self._count, dtype.itemsize, 1))
        refuse_width(each + 8 * size, memory, 1)
        blocks = min(BLOCKS_PER_PROCESSOR * multiprocessors(), sources, (memory - 8 * size) // each)
        self.batch = int(blocks)
        self.bytes = self.batch * each + 8 * size
        self.milliseconds = 0.0
        self._forward, self._backward = forward, backward
        self._of_arcs, self._endpoints = wanted.of_arcs, wanted.endpoints
        made = make(one_by_one(self._count, dtype.itemsize, self.batch), cupy)
        self._level, self._queue, self._paths, self._share, self._sources, self._reached = made.values()
        self._infinite = cupy.zeros(1, cupy.uint32)
        self.sums = cupy.zeros(size, cupy.float64)
        module = load(SOURCE, VERTEX=vertex_macro(dtype), ARCS=int(wanted.of_arcs))
        self._kernels = {name: module.get_function(name) for name in ("search", "add_vertices", "add_arcs")}

    def run(self, sources: NDArray[numpy.int64]) -> None:
        """Add the shares of up to `batch` sources to `sums`; `milliseconds` is the time of the last run."""
        self._sources[: len(sources)].set(numpy.ascontiguousarray(sources, numpy.int64))
        self.milliseconds = event_milliseconds(lambda: self._search(len(sources)))
        infinite = int(self._infinite.get()[0])
        if infinite != NONE:
            raise TooManyPaths(int(sources[infinite]))
        self.milliseconds += event_milliseconds(lambda: self._add(len(sources)))

    def _search(self, count: int) -> None:
        self._level.fill(NONE)
        self._infinite.fill(NONE)
        n = numpy.uint64(self._count)
        space = (self._level, self._queue, self._paths, self._share, self._reached, self._infinite)
        arguments = (*self._forward, *self._backward, n, self._sources, numpy.uint32(count), *space)
        self._kernels["search"]((count,), (BLOCK,), arguments)

    def _add(self, count: int) -> None:
        n, searches = numpy.uint64(self._count), numpy.uint32(count)
        if self._of_arcs:
            found = (self._level, self._paths, self._share, self.sums)
            blocks = blocks_for(32 * self._count, BLOCK)
            self._kernels["add_arcs"]((blocks,), (BLOCK,), (*self._forward, n, searches, *found))
            return
        got = (self._level, self._paths, self._reached, numpy.uint32(self._endpoints), self.sums)
        self._kernels["add_vertices"]((blocks_for(self._count, BLOCK),), (BLOCK,), (n, searches, *got))
