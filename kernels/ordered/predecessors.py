"""All predecessors of each vertex on shortest paths."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.ordered.bfs import Found


def predecessors(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], found: Found
) -> tuple[NDArray[numpy.int64], NDArray[Any]]:
    """Return (offsets, vertices): the predecessors of `found.order[i]` lie from offsets[i] to offsets[i + 1].

    They come in the order of the queue. Sources have none.
    """
    order = found.order
    place = numpy.zeros(len(row_offsets) - 1, column_indices.dtype)
    place[order] = numpy.arange(1, len(order) + 1)
    offsets = numpy.zeros(len(order) + 1, numpy.int64)
    search = row_offsets, column_indices, order, found.level_offsets, place
    _distribute(*search, offsets[1:], numpy.empty(0, column_indices.dtype))
    numpy.cumsum(offsets, out=offsets)
    vertices = numpy.empty(int(offsets[-1]), column_indices.dtype)
    _distribute(*search, offsets[:-1].copy(), vertices)
    return offsets, vertices


@serial
def _distribute(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    order: NDArray[Any],
    level_offsets: NDArray[Any],
    place: NDArray[Any],
    cursor: NDArray[Any],
    vertices: NDArray[Any],
) -> None:
    """Add each vertex to its successors' lists, which are where the cursors are; without room, only count.

    `place` is 1 + the position of each vertex in `order`.
    """
    writes = len(vertices) > 0
    for level in range(len(level_offsets) - 2):
        end, far = level_offsets[level + 1], level_offsets[level + 2]
        for i in range(level_offsets[level], end):
            u = numpy.int64(order[i])
            for k in range(row_offsets[u], row_offsets[u + 1]):
                p = numpy.int64(place[numpy.int64(column_indices[k])]) - 1
                if end <= p < far:
                    if writes:
                        vertices[cursor[p]] = u
                    cursor[p] += 1
