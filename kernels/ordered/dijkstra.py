"""Dijkstra's algorithm that finds vertices, and paths among equal ones, as one heap with a counter does.

`gravel.kernels.sssp` is faster on large graphs; it takes other weights and knows nothing of this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import atomic_load
from gravel.kernels.buffers import make
from gravel.kernels.interruptible import LOOK
from gravel.kernels.jit import serial
from gravel.kernels.ordered.buffers import UNSEEN, workspace

DONE = -2
"""The place in the heap of a vertex whose distance is final."""


class Nearest(NamedTuple):
    """Vertices by ascending distance, those at the same distance in the order in which it was found.

    `order`, `predecessor` and `distance` have one entry per reached vertex; a source is its own predecessor.
    """

    order: NDArray[Any]
    predecessor: NDArray[Any]
    distance: NDArray[Any]


def dijkstra(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    weights: NDArray[Any],
    sources: Sequence[int],
    *,
    target: int = -1,
    cutoff: Any = None,
) -> Nearest:
    """Search from one or several vertices at once, which must exist; repeated sources count once.

    Parameters
    ----------
    row_offsets, column_indices : int64 (vertices + 1,) and uint32 or uint64 (arcs,).
    weights : int64 or float64 (arcs,), none negative or NaN; no path of integers may be longer than int64.
    sources : where to start, in this order.
    target : the vertex at which the search ends; -1 for none.
    cutoff : the largest distance, of the type of the weights.

    """
    n, starts = len(row_offsets) - 1, numpy.asarray(sources, numpy.int64)
    dtype = weights.dtype
    space = tuple(make(workspace(n, column_indices.itemsize, dtype.str[1:]), numpy).values())
    _, best, order, before, *_ = space
    rows, limit = (row_offsets, column_indices, weights), dtype.type(0 if cutoff is None else cutoff)
    stop = numpy.zeros(1, numpy.int32)
    reached = order[: nearest_first(rows, starts, target, cutoff is not None, limit, space, stop)]
    return Nearest(reached, before[reached], best[reached])


@serial
def nearest_first(
    rows: Any,
    sources: NDArray[Any],
    target: int,
    limited: bool,
    cutoff: Any,
    space: Any,
    stop: NDArray[Any],
) -> int:
    """Search with a `workspace`; returns the number of reached vertices, which `order` begins with.

    `best` has the distance of each, and `before` its predecessor. Weights may be of a narrower type than
    distances. It ends early where `stop` becomes 1.
    """
    row_offsets, column_indices, weights = rows
    place, best, order, before, keys, numbers, vertices = space
    size, number, reached = 0, 0, 0
    zero = best.dtype.type(0)
    for i in range(len(sources)):
        v = sources[i]
        if place[v] == UNSEEN:
            best[v], before[v] = zero, v
            _rise(keys, numbers, vertices, place, size, zero, number, v)
            size += 1
            number += 1
    while size > 0:
        near, v = keys[0], numpy.int64(vertices[0])
        size -= 1
        _sink(keys, numbers, vertices, place, size)
        place[v] = DONE
        order[reached] = v
        reached += 1
        if v == target or (reached % LOOK == 0 and atomic_load(stop, 0) != 0):
            break
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(column_indices[k])
            longer = near + best.dtype.type(weights[k])
            at = place[w]
            if at == DONE or (limited and longer > cutoff):
                continue
            if at == UNSEEN or longer < best[w]:
                best[w], before[w] = longer, v
                _rise(keys, numbers, vertices, place, size if at == UNSEEN else at, longer, number, w)
                size += at == UNSEEN
                number += 1
    return reached


@serial
def _rise(
    keys: NDArray[Any],
    numbers: NDArray[Any],
    vertices: NDArray[Any],
    place: NDArray[Any],
    at: int,
    key: Any,
    number: int,
    vertex: int,
) -> None:
    """Bring a vertex up from a place of the heap; its number is larger than all others."""
    while at > 0:
        above = (at - 1) // 2
        if keys[above] <= key:
            break
        keys[at], numbers[at], vertices[at] = keys[above], numbers[above], vertices[above]
        place[vertices[at]] = at
        at = above
    keys[at], numbers[at], vertices[at] = key, number, vertex
    place[vertex] = at


@serial
def _sink(
    keys: NDArray[Any], numbers: NDArray[Any], vertices: NDArray[Any], place: NDArray[Any], size: int
) -> None:
    """Bring the last vertex, at place `size`, down from the first place."""
    key, number, vertex = keys[size], numbers[size], vertices[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            keys[other] < keys[child] or (keys[other] == keys[child] and numbers[other] < numbers[child])
        ):
            child = other
        if key < keys[child] or (key == keys[child] and number < numbers[child]):
            break
        keys[at], numbers[at], vertices[at] = keys[child], numbers[child], vertices[child]
        place[vertices[at]] = at
        at = child
    keys[at], numbers[at], vertices[at] = key, number, vertex
    place[vertex] = at
