"""Probes on the CPU: the twins of the device's parts, on one thread.

They play the threads of a GPU one after the other, so their times compare no gathers and no look-ups.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.parts import GATHERS, LISTED, LOOKUPS, REMEMBERED, WARP_CELLS
from gravel.kernels.papers.merrill2012.probes.gather_cpu import CHECKSUM, gather_level, sector_arcs
from gravel.kernels.papers.merrill2012.probes.levels import Levels
from gravel.kernels.papers.merrill2012.probes.lookup_cpu import (
    distinct_neighbours,
    list_neighbours,
    lookup_level,
)
from gravel.kernels.papers.merrill2012.probes.timed import Timed


class CPUProbes:
    """See `gravel.kernels.papers.merrill2012.probes.prepare`."""

    floor_milliseconds = 0.0

    def __init__(self, columns: NDArray[Any], levels: Levels, vertex_count: int, block: int) -> None:
        self._columns, self._levels, self._block = columns, levels, block
        self._edges = numpy.empty(int(levels.arc_begin[-1]), columns.dtype)
        list_neighbours(levels.ranges, columns, self._edges)
        self._bitmask = numpy.zeros(vertex_count // 8 + 1, numpy.uint8)
        self._labels = numpy.empty(vertex_count, numpy.int32)
        self._winners = numpy.zeros(WARP_CELLS, numpy.uint8)
        self._history = numpy.empty(REMEMBERED, numpy.int64)

    def gather(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Play a gather; who takes which tile makes no difference here."""
        begin = self._levels.vertex_begin
        counts = numpy.zeros(4, numpy.uint64)

        def one(level: int) -> int:
            counts[:] = 0
            ranges = self._levels.ranges[begin[level] : begin[level + 1]]
            listed = LISTED * self._block
            arcs = sector_arcs(self._columns.dtype)
            gather_level(ranges, self._columns, GATHERS[name], self._block, listed, arcs, counts)
            return int(counts[CHECKSUM])

        return self._swept(one, repeats)

    def look_up(self, name: str, *, repeats: int) -> Timed:
        """Play a look-up."""
        begin = self._levels.arc_begin
        return self._swept(
            lambda level: self._look_up(self._edges[begin[level] : begin[level + 1]], name, level), repeats
        )

    def couple(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Play both, one after the other, since there is no kernel to fuse."""
        rows, arcs = self._levels.vertex_begin, self._levels.arc_begin
        gathered = numpy.empty_like(self._edges)

        def one(level: int) -> int:
            part = gathered[arcs[level] : arcs[level + 1]]
            list_neighbours(self._levels.ranges[rows[level] : rows[level + 1]], self._columns, part)
            return self._look_up(part, name, level)

        return self._swept(one, repeats)

    def labels(self) -> NDArray[Any]:
        """Return the distances that the latest look-up left."""
        return self._labels

    def distinct(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Count every level's distinct neighbours, and sum up column + 1."""
        levels = self._levels
        found = numpy.zeros(levels.count, numpy.int64)
        sums = numpy.zeros(levels.count, numpy.uint64)
        stamps = numpy.full(len(self._labels), -1, numpy.int32)
        for level in range(levels.count):
            edges = self._edges[levels.arc_begin[level] : levels.arc_begin[level + 1]]
            found[level] = distinct_neighbours(edges, level, stamps)
            sums[level] = edges.sum(dtype=numpy.uint64) + numpy.uint64(len(edges))
        return found, sums

    def _look_up(self, edges: NDArray[Any], name: str, level: int) -> int:
        # A kernel's blocks forget what they remember when it ends.
        self._history.fill(-1)
        fresh: int = lookup_level(
            edges, LOOKUPS[name], level + 1, self._bitmask, self._labels, self._winners, self._history
        )
        return fresh

    def _swept(self, one: Callable[[int], int], repeats: int) -> Timed:
        source = int(self._levels.vertices[0])
        counts = numpy.zeros(self._levels.count, numpy.uint64)
        sweeps = []
        for _ in range(1 + repeats):
            self._bitmask.fill(0)
            self._bitmask[source >> 3] = 1 << (source & 7)
            self._labels.fill(-1)
            self._labels[source] = 0
            taken = numpy.empty(self._levels.count)
            for level in range(self._levels.count):
                started = time.perf_counter()
                counts[level] = one(level)
                taken[level] = (time.perf_counter() - started) * 1e3
            sweeps.append(taken)
        return Timed(numpy.median(sweeps[1:], axis=0), counts)
