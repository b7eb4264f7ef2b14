"""Bounds of eccentricities on a GPU, by a few kernels a search and one number read back; see `bounds.cu`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load
from gravel.kernels.distances.bounds import GOALS, NEAR, Bounds

SOURCE = "kernels/distances/bounds.cu"

FARTHEST, SHORTEST, UNDECIDED, BEST, CHOSEN, PLACES = 0, 2, 6, 7, 8, 9  # of `state`, as in bounds.cu
BOUNDED, OPEN = 1, 2  # flags of vertices, as there

BLOCK = 256
MAX_BLOCKS = 1 << 10
"""A thread sees to many vertices where there are more, and its warp adds to counters once."""


class BoundsOnDevice(Bounds):
    """As `Bounds`, with flags in the place of lists."""

    def __init__(self, xp: Any, row_offsets: Any, goal: str, known: tuple[Any, Any] | None) -> None:
        module = load(SOURCE)
        names = ("begin", "farthest", "tighten", "compare_centres", "sieve", "best", "most_arcs")
        self._kernels = {name: module.get_function(name) for name in names}
        self._xp, self._goal, self._row_offsets = xp, goal, xp.ascontiguousarray(row_offsets)
        n = len(row_offsets) - 1
        self._n = numpy.uint64(n)
        if known is None:
            self.lower, self.upper = (xp.empty(n, numpy.int64) for _ in range(2))
        else:
            self.lower, self.upper = (xp.array(each, numpy.int64) for each in known)
        self._from_centre = xp.empty(n, numpy.int64) if goal == "diameter" else None
        self._flags = xp.empty(n, numpy.uint8)
        centre = self._pointer(self._from_centre)
        bounds = (self.lower, self.upper, centre, self._flags)
        self._launch("begin", self._row_offsets, self._n, numpy.uint8(known is not None), *bounds)
        self._state = xp.empty(PLACES, numpy.uint64)
        self._fresh = numpy.zeros(PLACES, numpy.uint64)
        self._fresh[[SHORTEST, CHOSEN]] = numpy.iinfo(numpy.uint64).max
        self.tighten(None)

    @property
    def left(self) -> int:
        """How many vertices are undecided."""
        return self._left

    @cached_property
    def undecided(self) -> Any:
        """Number the vertices whose value may matter for the goal."""
        return (self._flags & OPEN).nonzero()[0]

    def tighten(self, distance: Any) -> int:
        """Take in the distances of a search, -1 in other components; returns the largest one."""
        self._state.set(self._fresh)
        if distance is not None:
            self._launch("farthest", distance, self._n, self._state)
        self._launch("tighten", self._pointer(distance), self._n, self.lower, self.upper, self._state)
        centre = self._pointer(self._from_centre)
        if distance is not None and self._from_centre is not None:
            self._launch("compare_centres", distance, self._n, self.upper, centre, self._state)
        goal = numpy.uint32(GOALS.index(self._goal))
        bounds = (self.lower, self.upper, centre, self._flags)
        self._launch("sieve", self._pointer(distance), self._n, *bounds, goal, self._state)
        state = self._state.get()
        self._left = int(state[UNDECIDED])
        self.__dict__.pop("undecided", None)
        return int(state[FARTHEST])

    def decide(self, vertices: Any, eccentricity: Any) -> None:
        """Take in eccentricities."""
        self.lower[vertices] = eccentricity
        self.upper[vertices] = eccentricity
        self.tighten(None)

    def next(self, *, largest: bool) -> int:
        """Take a vertex with the largest upper bound or smallest lower one; see `Bounds.next`."""
        flag = BOUNDED if largest == (self._goal in NEAR) else OPEN
        bounds = (self.lower, self.upper, self._flags, numpy.uint8(flag), numpy.uint8(largest))
        return self._first("best", *bounds)

    def farthest(self, distance: Any, found: int) -> int:
        """Take the vertex of most arcs among those at the distance `found`."""
        return self._first("most_arcs", distance, numpy.int32(found), self._pointer(None), numpy.int32(0))

    def between(self, distance: Any, at: int, other: Any, other_at: int) -> int:
        """Take the one of most arcs `at` a distance and `other_at` another one of another search."""
        return self._first("most_arcs", distance, numpy.int32(at), other, numpy.int32(other_at))

    def hub(self) -> int:
        """Take the vertex of most arcs."""
        nothing, zero = self._pointer(None), numpy.int32(0)
        return self._first("most_arcs", nothing, zero, nothing, zero)

    def _first(self, kernel: str, *arguments: Any) -> int:
        self._state.set(self._fresh)
        for step in (0, 1):
            self._launch(kernel, self._row_offsets, self._n, *arguments, numpy.uint8(step), self._state)
        return int(self._state[CHOSEN])

    def _pointer(self, array: Any) -> Any:
        return numpy.uint64(0) if array is None else array

    def _launch(self, name: str, *arguments: Any) -> None:
        blocks = blocks_for(max(1, int(self._n)), BLOCK, most=MAX_BLOCKS)
        self._kernels[name]((blocks,), (BLOCK,), arguments)
