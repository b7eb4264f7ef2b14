"""Curves of thousands of points, left as many as a picture tells apart."""

from __future__ import annotations

from collections.abc import Sequence

MAX_POINTS = 300
"""Points of a curve over levels; more would not be told apart, and a road has thousands of levels."""

MAX_SINGLE_LEVELS = 60
"""Levels up to which a picture shows each by itself."""


def thinned(values: Sequence[float]) -> tuple[list[int], list[float]]:
    """Leave at most `MAX_POINTS` of a curve, evenly spread; returns places and values."""
    step = -(-len(values) // MAX_POINTS) or 1
    places = list(range(0, len(values), step))
    return places, [values[place] for place in places]


def bands(levels: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Join levels, ascending, into the first and last of each run of them, at most `MAX_POINTS` of `count`.

    Runs that a picture of so many levels would not tell apart are one.
    """
    gap = 1 + count // MAX_POINTS
    found: list[tuple[int, int]] = []
    for level in levels:
        if found and level - found[-1][1] <= gap:
            found[-1] = found[-1][0], level
        else:
            found.append((level, level))
    return found
