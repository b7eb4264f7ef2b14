"""Dijkstra's algorithm that finds vertices, and paths among equal ones, as one heap with a counter does.

`gravel.kernels.sssp` is faster on large graphs; it takes other weights and knows nothing of this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.ordered.heap import drop, heap, push


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
    n = len(row_offsets) - 1
    starts = numpy.asarray(sources, numpy.int64)
    order, before = numpy.empty(n, column_indices.dtype), numpy.empty(n, column_indices.dtype)
    distance, best = numpy.empty(n, weights.dtype), numpy.empty(n, weights.dtype)
    reached = _search(
        (row_offsets, column_indices, weights),
        starts,
        target,
        cutoff is not None,
        weights.dtype.type(0 if cutoff is None else cutoff),
        numpy.zeros(n, numpy.uint8),
        best,
        order,
        before,
        distance,
        heap(weights.dtype, len(starts) + len(column_indices)),
    )
    return Nearest(order[:reached], before[order[:reached]], distance[:reached])


@serial
def _search(
    rows: Any,
    sources: NDArray[Any],
    target: int,
    limited: bool,
    cutoff: Any,
    state: NDArray[Any],
    best: NDArray[Any],
    order: NDArray[Any],
    before: NDArray[Any],
    distance: NDArray[Any],
    entries: Any,
) -> int:
    """Fill the arrays; returns the number of reached vertices. `state` is 0 unseen, 1 in the heap, 2 done."""
    row_offsets, column_indices, weights = rows
    keys, numbers, vertices = entries
    size, number, reached = 0, 0, 0
    zero = best.dtype.type(0)
    for i in range(len(sources)):
        v = sources[i]
        if state[v] == 0:
            state[v], best[v], before[v] = 1, zero, v
            size = push(keys, numbers, vertices, size, zero, number, v)
            number += 1
    while size > 0:
        near, v = keys[0], vertices[0]
        size = drop(keys, numbers, vertices, size)
        if state[v] == 2:
            continue
        state[v] = 2
        order[reached], distance[reached] = v, near
        reached += 1
        if v == target:
            break
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(column_indices[k])
            longer = near + weights[k]
            if state[w] == 2 or (limited and longer > cutoff):
                continue
            if state[w] == 0 or longer < best[w]:
                state[w], best[w], before[w] = 1, longer, v
                size = push(keys, numbers, vertices, size, longer, number, w)
                number += 1
    return reached
