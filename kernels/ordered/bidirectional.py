"""One shortest path between two vertices, searched from both ends."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.ordered.bfs import Rows


def path(forward: Rows, backward: Rows, source: int, target: int) -> NDArray[Any] | None:
    """Return the vertices of a shortest path from source to target, or None if there is none.

    `forward` and `backward` are the rows of successors and of predecessors.
    The smaller frontier is expanded, the forward one if both are equal, and the path through the first vertex
    that both sides know is taken: the path that NetworkX returns.
    """
    n, dtype = len(forward[0]) - 1, forward[1].dtype
    if source == target:
        return numpy.array([source], dtype)
    before, after = numpy.zeros(n, dtype), numpy.zeros(n, dtype)
    ahead, behind = numpy.empty(n, dtype), numpy.empty(n, dtype)
    middle = _search(forward, backward, source, target, before, after, ahead, behind)
    if middle < 0:
        return None
    back = _follow(before, middle, source, ahead)
    on = _follow(after, middle, target, behind)
    return numpy.concatenate([ahead[:back][::-1], behind[1:on]])


@serial
def _expand(
    rows: Rows, queue: NDArray[Any], first: int, last: int, own: NDArray[Any], other: NDArray[Any]
) -> tuple[int, int]:
    """Visit the neighbours of queue[first:last]; return where the queue ends then, and whom both sides know.

    The second value is the first vertex that the other side has visited, or -1.
    """
    row_offsets, column_indices = rows
    tail = last
    for i in range(first, last):
        v = numpy.int64(queue[i])
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(column_indices[k])
            if own[w] == 0:
                own[w] = v + 1
                queue[tail] = w
                tail += 1
            if other[w] != 0:
                return tail, int(w)
    return tail, -1


@serial
def _search(
    forward: Rows,
    backward: Rows,
    source: int,
    target: int,
    before: NDArray[Any],
    after: NDArray[Any],
    ahead: NDArray[Any],
    behind: NDArray[Any],
) -> int:
    """Return the first vertex that both sides have visited, or -1.

    `before` and `after` hold 1 + the neighbour towards the source and towards the target, 0 for unvisited.
    `ahead` and `behind` are the two queues.
    """
    before[source] = source + 1
    after[target] = target + 1
    ahead[0] = source
    behind[0] = target
    first, last = 0, 1
    back_first, back_last = 0, 1
    middle = -1
    while middle < 0 and first < last and back_first < back_last:
        if last - first <= back_last - back_first:
            tail, middle = _expand(forward, ahead, first, last, before, after)
            first, last = last, tail
        else:
            tail, middle = _expand(backward, behind, back_first, back_last, after, before)
            back_first, back_last = back_last, tail
    return middle


@serial
def _follow(towards: NDArray[Any], vertex: int, end: int, path: NDArray[Any]) -> int:
    """Write the vertices on the way to an end, which is one of `_search`'s; returns how many."""
    v, length = numpy.int64(vertex), 1
    path[0] = v
    while v != end:
        v = numpy.int64(towards[v]) - 1
        path[length] = v
        length += 1
    return length
