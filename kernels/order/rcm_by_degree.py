"""The simpler order that is also called RCM: levels of a search, each by ascending degree, reversed.

Moschou (Adaptive BFS & Afforest), section 5.1: a vertex does not follow its parent's place in the level
before, so levels can be sorted without regard to each other, and bandwidth is larger for it. Starts and the
order of components are those of `gravel.kernels.order.rcm`.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.index import index_dtype
from gravel.kernels.jit import serial
from gravel.kernels.order.rcm import DONE, peripheral


def rcm_by_degree(row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]) -> NDArray[Any]:
    """Order a symmetric graph; returns (vertices,), permutation[old] = new.

    Equal degrees of one level stand by vertex. Beside the result it takes three indices and one byte per
    vertex while it runs.
    """
    vertices = len(row_offsets) - 1
    order = numpy.empty(vertices, index_dtype(vertices))
    if vertices:
        queue, begins, ascending = (numpy.empty_like(order) for _ in range(3))
        _find_levels(row_offsets, column_indices, queue, numpy.zeros(vertices, numpy.uint8), begins)
        _by_degree(row_offsets, ascending)
        _place(begins, ascending, queue, order)
    return order


@serial
def _find_levels(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    queue: NDArray[Any],
    mark: NDArray[numpy.uint8],
    begins: NDArray[Any],
) -> None:
    """Write for each vertex the place where its level begins, components one after the other."""
    begin = 0
    for vertex in range(len(queue)):
        if mark[vertex] == DONE:
            continue
        if row_offsets[vertex] == row_offsets[vertex + 1]:
            begins[vertex] = begin
            mark[vertex] = DONE
            begin += 1
            continue
        root = peripheral(row_offsets, column_indices, queue, begin, vertex, mark)
        queue[begin] = root
        mark[root] = DONE
        level, end = begin, begin + 1
        while level < end:
            stop = end
            for place in range(level, stop):
                reached = numpy.int64(queue[place])
                begins[reached] = level
                for i in range(row_offsets[reached], row_offsets[reached + 1]):
                    neighbour = numpy.int64(column_indices[i])
                    if mark[neighbour] != DONE:
                        mark[neighbour] = DONE
                        queue[end] = neighbour
                        end += 1
            level = stop
        begin = end


@serial
def _by_degree(row_offsets: NDArray[numpy.int64], ascending: NDArray[Any]) -> None:
    """List the vertices by ascending degree, equal degrees by vertex: a counting sort."""
    longest = 0
    for vertex in range(len(ascending)):
        longest = max(longest, row_offsets[vertex + 1] - row_offsets[vertex])
    place = numpy.zeros(longest + 2, numpy.int64)
    for vertex in range(len(ascending)):
        place[row_offsets[vertex + 1] - row_offsets[vertex] + 1] += 1
    for degree in range(longest + 1):
        place[degree + 1] += place[degree]
    for vertex in range(len(ascending)):
        degree = row_offsets[vertex + 1] - row_offsets[vertex]
        ascending[place[degree]] = vertex
        place[degree] += 1


@serial
def _place(
    begins: NDArray[Any], ascending: NDArray[Any], next_place: NDArray[Any], order: NDArray[Any]
) -> None:
    last = len(order) - 1
    for place in range(len(order)):
        next_place[place] = place
    for rank in range(len(order)):
        vertex = numpy.int64(ascending[rank])
        level = numpy.int64(begins[vertex])
        order[vertex] = last - numpy.int64(next_place[level])
        next_place[level] += 1
