"""The simpler order that is also called RCM: levels of a search, each by ascending degree, reversed.

Moschou (Adaptive BFS & Afforest), section 5.1: a vertex does not follow its parent's place in the level
before, so levels can be sorted without regard to each other, and bandwidth is larger for it. Starts and the
order of components are those of `gravel.kernels.order.rcm`.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make, vertex_type
from gravel.kernels.jit import serial
from gravel.kernels.order import buffers
from gravel.kernels.order.community_tree import grouped
from gravel.kernels.order.rcm import by_component


def rcm_by_degree(row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]) -> NDArray[Any]:
    """Order a symmetric graph; returns (vertices,), permutation[old] = new.

    Equal degrees of one level stand by vertex.
    """
    vertices = len(row_offsets) - 1
    vertex = vertex_type(vertices)
    order: NDArray[Any] = buffers.order(vertices, vertex, "host").make(numpy)
    if vertices:
        arcs = numpy.diff(row_offsets)
        ascending = grouped(arcs, int(arcs.max()) + 1, order.dtype)[1]
        del arcs
        made = buffers.rcm_on_host(vertices, vertex, by_degree=True)
        queue, mark, begins = make(made, numpy).values()
        by_component((row_offsets, column_indices), queue, mark, order, begins)
        _place(begins, ascending, queue, order)
    return order


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
