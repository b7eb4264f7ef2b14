"""Exact eccentricities of a connected graph with far fewer searches than it has vertices.

Takes, Kosters, Computing the Eccentricity Distribution of Large Graphs, Algorithms 6(1), 2013: a search from
v with eccentricity e bounds that of each w at distance d: from below by max(d, e - d), from above by e + d.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs import prepare
from gravel.kernels.distances.sums import BATCH, distance_sums
from gravel.kernels.team import thread_count

GOALS = ("all", "diameter", "periphery", "radius", "center")

SLOW = 8
"""Vertices that a search has to decide; below, 64 searches at once, which bound no others, decide more."""

NEVER = numpy.iinfo(numpy.int64).max


def eccentricities(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], goal: str = "all"
) -> NDArray[numpy.int64] | None:
    """Return the eccentricities of a symmetric graph with ascending rows, or None if it is not connected.

    With another goal than "all" only what it needs is exact: the largest one for "diameter", every one that
    equals the largest for "periphery", the smallest for "radius" and every one that equals it for "center".
    The others are bounds: of the largest from below, of the smallest from above.
    """
    if goal not in GOALS:
        raise ValueError(f"goal is {goal!r}; it can be {', '.join(GOALS)}")
    n = len(row_offsets) - 1
    lower, upper = numpy.zeros(n, numpy.int64), numpy.full(n, NEVER)
    if n == 0:
        return lower
    degree = numpy.diff(row_offsets)
    one = prepare(
        row_offsets, column_indices, strategy="direction_optimizing", output="distance", symmetric=True
    )
    vertex, largest = int(degree.argmax()), False
    undecided = numpy.arange(n)
    while len(undecided):
        before = len(undecided)
        distance = one.run(vertex).distance
        assert distance is not None
        if before == n and int(distance.min()) < 0:
            return None
        found = int(distance.max())
        numpy.maximum(lower, numpy.maximum(distance, found - distance), out=lower)
        numpy.minimum(upper, distance + numpy.int64(found), out=upper)
        undecided = _undecided(undecided, lower, upper, goal)
        if before - len(undecided) < SLOW:
            break
        if len(undecided):
            vertex = _next(undecided, lower, upper, degree, largest)
            largest = not largest
    step = BATCH * thread_count()
    while len(undecided):
        wanted = -upper[undecided] if goal in ("diameter", "periphery") else lower[undecided]
        some = undecided[numpy.argsort(wanted, kind="stable")[:step]]
        lower[some] = upper[some] = distance_sums(row_offsets, column_indices, some).eccentricity
        undecided = _undecided(undecided, lower, upper, goal)
    return lower if goal in ("all", "diameter", "periphery") else upper


def _undecided(
    among: NDArray[numpy.int64], lower: NDArray[numpy.int64], upper: NDArray[numpy.int64], goal: str
) -> NDArray[numpy.int64]:
    """List the vertices whose bounds still differ and whose eccentricity may matter for the goal."""
    low, high = lower[among], upper[among]
    open_ = low < high
    if goal == "diameter":
        open_ &= high > lower.max()
    elif goal == "periphery":
        open_ &= high >= lower.max()
    elif goal == "radius":
        open_ &= low < upper.min()
    elif goal == "center":
        open_ &= low <= upper.min()
    return among[open_]


def _next(
    undecided: NDArray[numpy.int64],
    lower: NDArray[numpy.int64],
    upper: NDArray[numpy.int64],
    degree: NDArray[numpy.int64],
    largest: bool,
) -> int:
    """Take the vertex with the largest upper bound or smallest lower one, of several that of most arcs."""
    bound = -upper[undecided] if largest else lower[undecided]
    first = undecided[bound == bound.min()]
    return int(first[degree[first].argmax()])
