"""Bounds of all eccentricities: what searches decide, and which vertex to search next.

Takes, Kosters, Computing the Eccentricity Distribution of Large Graphs, Algorithms 6(1), 2013: a search from
v with eccentricity e bounds that of each w at distance d: from below by max(d, e - d), from above by e + d.

Crescenzi et al., On Computing the Diameter of Real-World Undirected Graphs, TCS 514, 2013: vertices within r
of one centre are within 2r of each other. A diameter above 2r has an end farther from the centre, so that
the diameter needs the eccentricities of those alone.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.distances.buffers import bounds_kept

GOALS = ("all", "diameter", "periphery", "radius", "center")

NEAR = ("radius", "center")
"""Goals that need the smallest eccentricities alone."""

NEVER = numpy.iinfo(numpy.int64).max // 2


class Bounds:
    """Bounds of all eccentricities; `undecided` are the vertices whose value may matter for the goal."""

    def __init__(self, xp: Any, row_offsets: Any, goal: str, known: tuple[Any, Any] | None) -> None:
        self._xp, self._goal = xp, goal
        self._degree = degree = row_offsets[1:] - row_offsets[:-1]
        # Vertices whose bounds leave something open; of these the undecided ones may end a longer path.
        self._bounded = self.undecided = xp.arange(len(degree), dtype=numpy.int64)
        if known is None:
            self.lower, self.upper = make(bounds_kept(len(degree), NEVER), xp).values()
            self.upper[degree == 0] = 0
        else:
            self.lower, self.upper = (xp.array(each, numpy.int64) for each in known)
        self._from_centre = xp.full(len(degree) if goal == "diameter" else 0, NEVER, numpy.int64)
        if len(degree):
            self._sieve()

    @property
    def left(self) -> int:
        """How many vertices are undecided."""
        return len(self.undecided)

    def tighten(self, distance: Any) -> int:
        """Take in the distances of a search, -1 in other components; returns the largest one."""
        xp, found = self._xp, int(distance.max())
        reached = distance >= 0
        distance = distance.astype(numpy.int64)
        least = xp.maximum(distance, found - distance)
        self.lower = xp.where(reached, xp.maximum(self.lower, least), self.lower)
        self.upper = xp.where(reached, xp.minimum(self.upper, distance + found), self.upper)
        if self._goal == "diameter":
            self._take_centre(distance, reached)
        self._sieve()
        return found

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

    def next(self, *, largest: bool) -> int:
        """Take a vertex with the largest upper bound or smallest lower one, of several that of most arcs.

        Those of components that were searched come first: small ones are searched together in the end.
        """
        # A vertex that need not be searched may still bound others well.
        some = self._bounded if largest == (self._goal in NEAR) else self.undecided
        searched = some[self.upper[some] < NEVER]
        some = searched if len(searched) else some
        bound = -self.upper[some] if largest else self.lower[some]
        first = some[bound == bound.min()]
        return self._of_most_arcs(first)

    def farthest(self, distance: Any, found: int) -> int:
        """Take the vertex of most arcs among those at the distance `found`."""
        return self._of_most_arcs((distance == found).nonzero()[0])

    def between(self, distance: Any, at: int, other: Any, other_at: int) -> int:
        """Take the one of most arcs `at` a distance and `other_at` another one of another search."""
        return self._of_most_arcs(((distance == at) & (other == other_at)).nonzero()[0])

    def hub(self) -> int:
        """Take the vertex of most arcs."""
        return int(self._degree.argmax())

    def _of_most_arcs(self, vertices: Any) -> int:
        return int(vertices[self._degree[vertices].argmax()])

    def most_promising(self, count: int) -> Any:
        """Take so many vertices whose eccentricities decide most for the goal."""
        largest = self._goal in ("diameter", "periphery")
        wanted = -self.upper[self.undecided] if largest else self.lower[self.undecided]
        return self.undecided[self._xp.argsort(wanted)[:count]]
