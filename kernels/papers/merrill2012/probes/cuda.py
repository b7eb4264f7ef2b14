"""Probes on a GPU: every level's part is a launch, timed by events while the host is ahead of the device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.parts import culling_bytes, gather_bytes
from gravel.kernels.cuda import blocks_for, load, resident_blocks, vertex_macro
from gravel.kernels.cuda.wake import wake
from gravel.kernels.papers.merrill2012.probes.levels import Levels
from gravel.kernels.papers.merrill2012.probes.timed import Timed

GATHER, LOOKUP, COUPLE = (
    "kernels/papers/merrill2012/probes/gather.cu",
    "kernels/papers/merrill2012/probes/lookup.cu",
    "kernels/papers/merrill2012/probes/coupled.cu",
)

AHEAD = 64
"""Levels that are launched while the GPU waits, so that no time between two launches is the host's."""

AHEAD_MILLISECONDS = 1.5
"""How long the GPU waits: twice what AHEAD launches with their events take from Python (docs/tuning.md)."""

PER_THREAD = 4
"""Edges that a thread looks up together, as in lookup.cu."""

Launch = tuple[Any, tuple[int], tuple[int], tuple[Any, ...], int]


class CUDAProbes:
    """See `gravel.kernels.papers.merrill2012.probes.prepare`."""

    def __init__(self, columns: Any, levels: Levels, vertex_count: int, block: int) -> None:
        import cupy

        self._columns, self._levels, self._block = columns, levels, block
        self._macros = {"VERTEX": vertex_macro(columns.dtype)}
        self._width = columns.dtype.itemsize
        self._ranges = cupy.asarray(levels.ranges)
        self._edges = cupy.empty(max(1, int(levels.arc_begin[-1])), columns.dtype)
        source = int(levels.vertices[0])
        bits = numpy.zeros(vertex_count // 32 + 1, numpy.uint32)
        bits[source >> 5] = 1 << (source & 31)
        labels = numpy.full(vertex_count, -1, numpy.int32)
        labels[source] = 0
        self._start = cupy.asarray(bits), cupy.asarray(labels)
        self._bitmask, self._labels = (cupy.empty_like(array) for array in self._start)
        self._counts = cupy.zeros(levels.count, cupy.uint64)
        self._taken = cupy.zeros(levels.count, cupy.uint64)
        self._events = [cupy.cuda.Event() for _ in range(AHEAD + 1)]
        self._list_neighbours()
        self.floor_milliseconds = self._floor()

    def gather(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Read every level's neighbours with one of GATHERS."""
        kernel = self._kernel(GATHER, name)
        shared = gather_bytes(self._block, self._width, owners=False)
        return self._swept(self._gathers(kernel, schedule, shared), repeats)

    def look_up(self, name: str, *, repeats: int) -> Timed:
        """Look every level's neighbours up with one of LOOKUPS."""
        kernel = self._kernel(LOOKUP, name)
        shared = culling_bytes(self._block)
        resident = resident_blocks(kernel, self._block, shared)
        launches: list[Launch] = []
        for level, arcs in enumerate(self._levels.arc_counts.tolist()):
            arguments = (
                self._at(self._edges, self._levels.arc_begin[level], self._width),
                numpy.uint64(arcs),
                self._bitmask,
                self._labels,
                numpy.uint32(level + 1),
                self._at(self._counts, level, 8),
            )
            grid = blocks_for(arcs, PER_THREAD * self._block, most=resident)
            launches.append((kernel, (grid,), (self._block,), arguments, shared))
        return self._swept(launches, repeats)

    def couple(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Do both in one kernel, with one of COUPLED."""
        kernel = self._kernel(COUPLE, name)
        shared = culling_bytes(self._block) + gather_bytes(self._block, self._width, owners=False)
        return self._swept(self._gathers(kernel, schedule, shared, looked_up=True), repeats)

    def labels(self) -> NDArray[Any]:
        """Return the distances that the latest look-up left."""
        found: NDArray[Any] = self._labels.get()
        return found

    def distinct(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Count every level's distinct neighbours, and sum up column + 1."""
        import cupy

        kernel = self._kernel(LOOKUP, "distinct_neighbours")
        stamps = cupy.asarray(numpy.full(len(self._labels), -1, numpy.int32))
        counts = cupy.zeros((self._levels.count, 2), cupy.uint64)
        for level, arcs in enumerate(self._levels.arc_counts.tolist()):
            arguments = (
                self._at(self._edges, self._levels.arc_begin[level], self._width),
                numpy.uint64(arcs),
                numpy.int32(level),
                stamps,
                self._at(counts, 2 * level, 8),
            )
            kernel((blocks_for(arcs, self._block, most=4096),), (self._block,), arguments)
        found = counts.get()
        return found[:, 0].astype(numpy.int64), found[:, 1].copy()

    def _kernel(self, path: str, name: str) -> Any:
        return load(path, **self._macros).get_function(name)

    def _at(self, array: Any, index: int, width: int) -> numpy.uint64:
        return numpy.uint64(array.data.ptr + int(index) * width)

    def _list_neighbours(self) -> None:
        import cupy

        ranges = self._levels.ranges
        places = numpy.zeros(len(ranges), numpy.int64)
        numpy.cumsum((ranges[:, 1] - ranges[:, 0])[:-1], out=places[1:])
        kernel = self._kernel(LOOKUP, "list_neighbours")
        grid = (blocks_for(32 * len(ranges), self._block),)
        rows = numpy.uint64(len(ranges))
        kernel(grid, (self._block,), (self._ranges, cupy.asarray(places), self._columns, rows, self._edges))

    def _gathers(self, kernel: Any, schedule: str, shared: int, *, looked_up: bool = False) -> list[Launch]:
        resident = resident_blocks(kernel, self._block, shared)
        begin = self._levels.vertex_begin.tolist()
        launches: list[Launch] = []
        for level, (first, last) in enumerate(itertools.pairwise(begin)):
            tiles = blocks_for(last - first, self._block, most=(1 << 31) - 1)
            taken = numpy.uint64(0)
            if schedule == "stealing":
                tiles = min(tiles, resident)
                taken = self._at(self._taken, level, 8)
            arguments = (
                self._at(self._ranges, first, 16),
                self._columns,
                numpy.uint64(last - first),
                taken,
                *((self._bitmask, self._labels, numpy.uint32(level + 1)) if looked_up else ()),
                self._at(self._counts, level, 8),
            )
            launches.append((kernel, (tiles,), (self._block,), arguments, shared))
        return launches

    def _floor(self) -> float:
        kernel = self._kernel(GATHER, "serial")
        nothing = (self._ranges, self._columns, *(numpy.uint64(0),) * 2, self._counts)
        launches: list[Launch] = [(kernel, (1,), (self._block,), nothing, 0)] * AHEAD
        self._time(launches)
        return float(numpy.median(self._time(launches)))

    def _swept(self, launches: Sequence[Launch], repeats: int) -> Timed:
        sweeps = []
        for _ in range(1 + repeats):
            self._restart()
            parts = [launches[first : first + AHEAD] for first in range(0, len(launches), AHEAD)]
            sweeps.append(numpy.concatenate([self._time(part) for part in parts]))
        return Timed(numpy.median(sweeps[1:], axis=0), self._counts.get())

    def _restart(self) -> None:
        import cupy

        stream = cupy.cuda.get_current_stream()
        for array, start in zip((self._bitmask, self._labels), self._start, strict=True):
            array.data.copy_from_device_async(start.data, start.nbytes, stream)
        for array in (self._counts, self._taken):
            array.data.memset_async(0, array.nbytes, stream)

    def _time(self, launches: Sequence[Launch]) -> NDArray[Any]:
        import cupy

        wake(AHEAD_MILLISECONDS)
        self._events[0].record()
        for event, (kernel, grid, block, arguments, shared) in zip(self._events[1:], launches, strict=False):
            kernel(grid, block, arguments, shared_mem=shared)
            event.record()
        self._events[len(launches)].synchronize()
        pairs = zip(self._events, self._events[1 : len(launches) + 1], strict=False)
        return numpy.array([cupy.cuda.get_elapsed_time(start, end) for start, end in pairs])
