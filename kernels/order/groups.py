"""Least degrees of groups of vertices, which the light orders on the CPU and on a GPU share."""

from __future__ import annotations

HIGHEST = 32
"""The first of eight groups has at least so many times the mean degree, as Faldu et al. evaluate it."""

GROUPS = 7
"""Groups with a least degree, down to half of the mean; the eighth has the rest."""


def mean_multiple(vertices: int, arcs: int, numerator: int, denominator: int = 1) -> int:
    """Least degree that is at least numerator / denominator of the mean degree, exactly."""
    return -(-arcs * numerator // max(1, vertices * denominator))


def above_mean(vertices: int, arcs: int) -> int:
    """Least degree above the mean degree: that of a hub."""
    return arcs // max(1, vertices) + 1


def eight_groups(vertices: int, arcs: int) -> list[int]:
    """Least degrees of groups, each half of the one before, from `HIGHEST` times the mean degree down."""
    return [mean_multiple(vertices, arcs, HIGHEST, 1 << k) for k in range(GROUPS)]
