"""High degrees first: hubs share cache lines, and a row's first neighbours are its hubs."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.index import index_dtype
from gravel.kernels.jit import serial


def degree(row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number the vertices by descending degree, equal degrees by ascending vertex; returns (vertices,)."""
    vertices = len(row_offsets) - 1
    order = numpy.empty(vertices, index_dtype(vertices))
    if vertices:
        _by_degree(row_offsets, order)
    return order


@serial
def _by_degree(row_offsets: NDArray[numpy.int64], order: NDArray[Any]) -> None:
    # A counting sort; degrees from the number of vertices on occur only with duplicates, and are few.
    vertices = len(order)
    longest = 0
    for vertex in range(vertices):
        longest = max(longest, row_offsets[vertex + 1] - row_offsets[vertex])
    place = numpy.zeros(longest + 2, numpy.int64)
    for vertex in range(vertices):
        place[longest - (row_offsets[vertex + 1] - row_offsets[vertex]) + 1] += 1
    for rank in range(longest + 1):
        place[rank + 1] += place[rank]
    for vertex in range(vertices):
        rank = longest - (row_offsets[vertex + 1] - row_offsets[vertex])
        order[vertex] = place[rank]
        place[rank] += 1
