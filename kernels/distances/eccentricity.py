"""Exact eccentricities with far fewer searches than the graph has vertices.

Takes, Kosters, Computing the Eccentricity Distribution of Large Graphs, Algorithms 6(1), 2013: a search from
v with eccentricity e bounds that of each w at distance d: from below by max(d, e - d), from above by e + d.

Crescenzi et al., On Computing the Diameter of Real-World Undirected Graphs, TCS 514, 2013: vertices within r
of one centre are within 2r of each other. A diameter above 2r has an end farther from the centre, so that
the diameter needs the eccentricities of those alone. The middle of a long path is such a centre (their
4-SWEEP, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.bfs import prepare as prepare_search
from gravel.kernels.distances import many
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.interface import DEEP, is_deep

GOALS = ("all", "diameter", "periphery", "radius", "center")

NEAR = ("radius", "center")
"""Goals that need the smallest eccentricities alone."""

SLOW = 8
"""Vertices that a search has to decide; below, searches that share what they read, which bound no others,
decide more."""

PATIENCE = 4
"""Searches that decide too few before the others share what they read: the first one seldom decides any, and
the next ones, from far vertices, are what bounds the diameter. With 2, 4, 8 and 16 the diameter of Kronecker
16 took 12, 13, 17 and 21 ms, that of cnr-2000 212, 223, 265 and 361, and with 1 seconds."""

SWEEPS = 1
"""Long paths of which the middle is searched, each from there to a farthest vertex and to the farthest from
that. Two are the 4-SWEEP. With 0, 1, 2 and 3 the diameter of cnr-2000 took 277, 93, 98 and 82 ms, that of
t60k 22, 17, 19 and 21, and that of Gnutella31 141, 168, 177 and 160."""

NEVER = numpy.iinfo(numpy.int64).max // 2


def eccentricities(
    row_offsets: Any,
    column_indices: Any,
    goal: str = "all",
    *,
    in_parts: bool = False,
    memory: int | None = None,
    progress: many.Progress | None = None,
    known: tuple[Any, Any] | None = None,
    keep: Callable[[Any, Any], None] | None = None,
) -> Any | None:
    """Return the eccentricities of a symmetric graph with ascending rows: int64 (vertices,), where these lie.

    With another goal than "all" only what it needs is exact: the largest one for "diameter", every one that
    equals the largest for "periphery", the smallest for "radius" and every one that equals it for "center".
    The others are bounds: of the largest from below, of the smallest from above.

    A graph that is not connected has none, which is None; with `in_parts` each vertex has that of its own
    component. `memory` limits searches that share a batch, in bytes; `progress` gets the decided vertices.
    `keep` gets the bounds from below and from above after every search or batch, and `known` are
    such to begin with. Raises ValueError for an unknown goal.
    """
    if goal not in GOALS:
        raise ValueError(f"goal is {goal!r}; it can be {', '.join(GOALS)}")
    xp: Any = numpy
    if backend_of(row_offsets) == "cuda":
        import cupy

        xp = cupy
    n = len(row_offsets) - 1
    degree = row_offsets[1:] - row_offsets[:-1]
    bounds = _Bounds(xp, degree, goal, known)
    if n == 0:
        return bounds.lower
    if n > 1 and not in_parts and int(degree.min()) == 0:
        return None
    one = prepare_search(
        row_offsets, column_indices, strategy="direction_optimizing", output="distance", symmetric=True
    )
    vertex, largest, slow = int(degree.argmax()), False, 0
    sweep = _Sweep(degree, rounds=0 if known is not None or goal == "all" else SWEEPS)
    deep: bool | None = None
    if known is not None and len(bounds.undecided):
        vertex = bounds.next(degree, True)
    while len(bounds.undecided):
        before, is_bounded = len(bounds.undecided), int(bounds.upper[vertex]) < NEVER
        distance = one.run(vertex).distance
        assert distance is not None
        if before == n and not in_parts and int(distance.min()) < 0:
            return None
        bounds.tighten(distance)
        if keep is not None:
            keep(bounds.lower, bounds.upper)
        if progress is not None:
            progress(n - len(bounds.undecided), n)
        if deep is None:
            near = int(((distance >= 0) & (distance <= DEEP)).sum())
            deep = is_deep(int(distance.max()), near, n)
        ahead = sweep.next(distance)
        if ahead is not None:
            vertex = ahead
            continue
        # On threads, searches of a deep graph share nothing: one that bounds others is never slower.
        if not (deep and is_bounded and xp is numpy):
            slow += before - len(bounds.undecided) < SLOW
        if slow == PATIENCE:
            break
        if len(bounds.undecided):
            vertex = bounds.next(degree, largest)
            largest = not largest
    del one
    if len(bounds.undecided):
        sources = len(bounds.undecided)
        searches = many.prepare(row_offsets, column_indices, symmetric=True, sources=sources, memory=memory)
        while len(bounds.undecided):
            some = bounds.most_promising(searches.batch)
            found = Aggregates.empty(len(some))
            searches.run(some.get() if xp is not numpy else some, found)
            bounds.decide(some, xp.asarray(found.eccentricity))
            if keep is not None:
                keep(bounds.lower, bounds.upper)
            if progress is not None:
                progress(n - len(bounds.undecided), n)
    return bounds.lower if goal in ("all", "diameter", "periphery") else bounds.upper


class _Sweep:
    """Searches that lead from one vertex to the middle of a long path, so many times."""

    def __init__(self, degree: Any, rounds: int) -> None:
        self._degree, self._left, self._end = degree, 3 * rounds, degree

    def next(self, distance: Any) -> int | None:
        """Give the vertex to search after one with these distances; None after the last middle."""
        if not self._left:
            return None
        self._left -= 1
        step = self._left % 3
        if step:
            self._end = distance.copy()
            return self._choose(distance == distance.max())
        # Of the two searches from the ends, the earlier one is kept.
        longest = int(self._end.max())
        middle = self._end == longest // 2
        return self._choose(middle & (distance == longest - longest // 2))

    def _choose(self, vertices: Any) -> int:
        """Take the one of most arcs."""
        some = vertices.nonzero()[0]
        return int(some[self._degree[some].argmax()])


class _Bounds:
    """Bounds of all eccentricities; `undecided` are the vertices whose value may matter for the goal."""

    def __init__(self, xp: Any, degree: Any, goal: str, known: tuple[Any, Any] | None) -> None:
        self._xp, self._goal = xp, goal
        # Vertices whose bounds leave something open; of these the undecided ones may end a longer path.
        self._bounded = self.undecided = xp.arange(len(degree), dtype=numpy.int64)
        if known is None:
            self.lower = xp.zeros(len(degree), numpy.int64)
            self.upper = xp.full(len(degree), NEVER, numpy.int64)
            self.upper[degree == 0] = 0
        else:
            self.lower, self.upper = (xp.array(each, numpy.int64) for each in known)
        self._from_centre = xp.full(len(degree) if goal == "diameter" else 0, NEVER, numpy.int64)
        if len(degree):
            self._sieve()

    def tighten(self, distance: Any) -> None:
        """Take in the distances of a search, -1 in other components."""
        xp, found = self._xp, int(distance.max())
        reached = distance >= 0
        distance = distance.astype(numpy.int64)
        least = xp.maximum(distance, found - distance)
        self.lower = xp.where(reached, xp.maximum(self.lower, least), self.lower)
        self.upper = xp.where(reached, xp.minimum(self.upper, distance + found), self.upper)
        if self._goal == "diameter":
            self._take_centre(distance, reached)
        self._sieve()

    def _take_centre(self, distance: Any, reached: Any) -> None:
        """Make a searched vertex the centre of its component, if fewer vertices are far from it."""
        longest = int(self.lower.max())
        inside = reached & (self.upper > longest)
        before, now = (int((each[inside] > longest // 2).sum()) for each in (self._from_centre, distance))
        if now < before:
            self._from_centre = self._xp.where(reached, distance, self._from_centre)

    def decide(self, vertices: Any, eccentricity: Any) -> None:
        """Take in eccentricities."""
        self.lower[vertices] = eccentricity
        self.upper[vertices] = eccentricity
        self._sieve()

    def _sieve(self) -> None:
        low, high = self.lower[self._bounded], self.upper[self._bounded]
        open_ = low < high
        if self._goal == "diameter":
            open_ &= high > self.lower.max()
        elif self._goal == "periphery":
            open_ &= high >= self.lower.max()
        elif self._goal == "radius":
            open_ &= low < self.upper.min()
        elif self._goal == "center":
            open_ &= low <= self.upper.min()
        if self._goal in NEAR:
            # Far vertices never have the smallest eccentricity, and bound all others from below.
            self.undecided = self._bounded[open_]
            self._bounded = self._bounded[low < high]
            return
        self._bounded = self.undecided = self._bounded[open_]
        if self._goal == "diameter":
            far = self._from_centre[self._bounded] > int(self.lower.max()) // 2
            self.undecided = self._bounded[far]

    def next(self, degree: Any, largest: bool) -> int:
        """Take a vertex with the largest upper bound or smallest lower one, of several that of most arcs.

        Those of components that were searched come first: small ones are searched together in the end.
        """
        # A vertex that need not be searched may still bound others well.
        some = self._bounded if largest == (self._goal in NEAR) else self.undecided
        searched = some[self.upper[some] < NEVER]
        some = searched if len(searched) else some
        bound = -self.upper[some] if largest else self.lower[some]
        first = some[bound == bound.min()]
        return int(first[degree[first].argmax()])

    def most_promising(self, count: int) -> Any:
        """Take so many vertices whose eccentricities decide most for the goal."""
        largest = self._goal in ("diameter", "periphery")
        wanted = -self.upper[self.undecided] if largest else self.lower[self.undecided]
        return self.undecided[self._xp.argsort(wanted)[:count]]
