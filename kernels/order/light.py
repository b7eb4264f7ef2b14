"""Orders that read degrees alone, or nothing: each takes a pass or two over the vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.buffers import vertex_type
from gravel.kernels.jit import serial
from gravel.kernels.order import buffers
from gravel.kernels.order.groups import above_mean, eight_groups
from gravel.kernels.row_blocks import even_blocks, run_blocks


def original(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Leave every vertex where it is; returns (vertices,)."""
    vertices = len(row_offsets) - 1
    return numpy.arange(vertices, dtype=index_dtype(vertices))


def random(row_offsets: NDArray[numpy.int64], seed: int) -> NDArray[Any]:
    """Shuffle the vertices by NumPy's PCG64 with this seed; returns (vertices,).

    It shows what locality is worth, seen from below.
    """
    order = original(row_offsets)
    numpy.random.Generator(numpy.random.PCG64(seed)).shuffle(order)
    return order


def degree(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number the vertices by descending degree, equal degrees by ascending vertex; returns (vertices,).

    Hubs share cache lines, and a row's first neighbours are its hubs.
    """
    vertices = len(row_offsets) - 1
    order: NDArray[Any] = buffers.order(vertices, vertex_type(vertices), "host").make(numpy)
    _sort_from(row_offsets, 0, order)
    return order


def hub_sort(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number hubs by descending degree, equal ones by vertex, then the others; returns (vertices,).

    Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia (Making Caches Work for Graph Analytics, IEEE Big Data
    2017): only hubs are worth sorting, since the others gain nothing and lose their neighbourhood.
    """
    least = above_mean(len(row_offsets) - 1, int(row_offsets[-1]))
    order = _by_group(row_offsets, [least])
    _sort_from(row_offsets, least, order)
    return order


def hub_cluster(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number hubs, then the others, each as they were among themselves; returns (vertices,).

    Balaji, Lucia (When is Graph Reordering an Optimization?, IISWC 2018): hubs share cache lines, and nothing
    else moves apart.
    """
    return _by_group(row_offsets, [above_mean(len(row_offsets) - 1, int(row_offsets[-1]))])


def degree_groups(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number eight groups of falling degree, each as it was; returns (vertices,).

    Faldu, Diamond, Grot (A Closer Look at Lightweight Graph Reordering, IISWC 2019): hot vertices come
    together, and what the numbering knew of the graph's structure survives within a group.
    """
    return _by_group(row_offsets, eight_groups(len(row_offsets) - 1, int(row_offsets[-1])))


def _by_group(row_offsets: NDArray[numpy.int64], least: Sequence[int]) -> NDArray[Any]:
    """Number the vertices group by group, in their order within each; returns (vertices,).

    `least` descends: a vertex belongs to the first group whose least degree it has, else to the last group.
    """
    vertices = len(row_offsets) - 1
    order: NDArray[Any] = buffers.order(vertices, vertex_type(vertices), "host").make(numpy)
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


@serial
def _sort_from(row_offsets: NDArray[numpy.int64], least: int, order: NDArray[Any]) -> None:
    """Number the vertices of `least` arcs or more by descending degree: a counting sort."""
    # Degrees from the number of vertices on occur only with duplicates, and are few.
    longest = least
    for vertex in range(len(order)):
        longest = max(longest, row_offsets[vertex + 1] - row_offsets[vertex])
    place = numpy.zeros(longest - least + 2, numpy.int64)
    for vertex in range(len(order)):
        arcs = row_offsets[vertex + 1] - row_offsets[vertex]
        if arcs >= least:
            place[longest - arcs + 1] += 1
    for rank in range(longest - least + 1):
        place[rank + 1] += place[rank]
    for vertex in range(len(order)):
        arcs = row_offsets[vertex + 1] - row_offsets[vertex]
        if arcs >= least:
            order[vertex] = place[longest - arcs]
            place[longest - arcs] += 1


@serial
def _group_of(degree: int, bounds: NDArray[numpy.int64]) -> int:
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
        counts[_group_of(row_offsets[vertex + 1] - row_offsets[vertex], bounds)] += 1


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
        group = _group_of(row_offsets[vertex + 1] - row_offsets[vertex], bounds)
        order[vertex] = next_place[group]
        next_place[group] += 1
