"""Vertices by groups of degree, each group in the order that it had: what light orders have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.index import index_dtype
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

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


def by_group(row_offsets: NDArray[numpy.int64], least: Sequence[int]) -> NDArray[Any]:
    """Number the vertices group by group, in their order within each; returns (vertices,).

    `least` descends: a vertex belongs to the first group whose least degree it has, else to the last group.
    """
    vertices = len(row_offsets) - 1
    order = numpy.empty(vertices, index_dtype(vertices))
    bounds = numpy.array(least, numpy.int64)
    blocks = even_blocks(vertices)

    def count(low: int, high: int) -> NDArray[numpy.int64]:
        counts = numpy.zeros(len(bounds) + 1, numpy.int64)
        _count(row_offsets, bounds, low, high, counts)
        return counts

    counted = run_blocks(count, blocks)
    if not counted:
        return order
    # Groups first, blocks of vertices within a group second.
    ends = numpy.cumsum(numpy.array(counted).T.ravel()).reshape(len(bounds) + 1, len(blocks))
    starts = ends - numpy.array(counted).T
    begun = {low: starts[:, i].copy() for i, (low, _) in enumerate(blocks)}
    run_blocks(lambda low, high: _place(row_offsets, bounds, low, high, begun[low], order), blocks)
    return order


def eight_groups(vertices: int, arcs: int) -> list[int]:
    """Least degrees of groups, each half of the one before, from `HIGHEST` times the mean degree down."""
    return [mean_multiple(vertices, arcs, HIGHEST, 1 << k) for k in range(GROUPS)]


@serial
def group_of(degree: int, bounds: NDArray[numpy.int64]) -> int:
    """Find the first group whose least degree a vertex has."""
    group = 0
    while group < len(bounds) and degree < bounds[group]:
        group += 1
    return group


@serial
def _count(
    row_offsets: NDArray[numpy.int64],
    bounds: NDArray[numpy.int64],
    low: int,
    high: int,
    counts: NDArray[numpy.int64],
) -> None:
    for vertex in range(low, high):
        counts[group_of(row_offsets[vertex + 1] - row_offsets[vertex], bounds)] += 1


@serial
def _place(
    row_offsets: NDArray[numpy.int64],
    bounds: NDArray[numpy.int64],
    low: int,
    high: int,
    next_place: NDArray[numpy.int64],
    order: NDArray[Any],
) -> None:
    for vertex in range(low, high):
        group = group_of(row_offsets[vertex + 1] - row_offsets[vertex], bounds)
        order[vertex] = next_place[group]
        next_place[group] += 1
