"""Breadth-first search that returns the vertices in the order in which one queue finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial

Rows = tuple[NDArray[numpy.int64], NDArray[Any]]
"""Row offsets (vertices + 1,) and columns (arcs,)."""


class Found(NamedTuple):
    """Vertices in the order of the queue.

    `order` and `predecessor` have one entry per reached vertex; a source is its own predecessor. Level d
    holds the entries from `level_offsets[d]` to `level_offsets[d + 1]`.
    """

    order: NDArray[Any]
    predecessor: NDArray[Any]
    level_offsets: NDArray[numpy.int64]


def search(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    sources: Sequence[int] | NDArray[Any],
    max_depth: int | None = None,
) -> Found:
    """Search from one or several vertices at once, which must exist; repeated sources count once.

    `max_depth` is the last level that is reached. A search of a few vertices costs little on a large
    graph, because memory is only written where it goes.
    """
    n = len(row_offsets) - 1
    order = numpy.empty(n, column_indices.dtype)
    predecessor = numpy.empty(n, column_indices.dtype)
    level_offsets = numpy.empty(n + 2, numpy.int64)
    starts, limit = numpy.asarray(sources, numpy.int64), n if max_depth is None else max_depth
    rows, seen = (row_offsets, column_indices), numpy.zeros(n, numpy.uint8)
    levels = _search(rows, starts, limit, seen, order, predecessor, level_offsets)
    level_offsets = level_offsets[: levels + 1]
    reached = int(level_offsets[-1])
    return Found(order[:reached], predecessor[:reached], level_offsets)


@serial
def queue_sources(sources: NDArray[Any], seen: NDArray[Any], queue: NDArray[Any]) -> int:
    """Mark each source with 1, and queue it once; returns how many there are."""
    count = 0
    for i in range(len(sources)):
        if seen[sources[i]] == 0:
            seen[sources[i]] = 1
            queue[count] = sources[i]
            count += 1
    return count


@serial
def _search(
    rows: Rows,
    sources: NDArray[Any],
    max_depth: int,
    seen: NDArray[Any],
    order: NDArray[Any],
    predecessor: NDArray[Any],
    level_offsets: NDArray[Any],
) -> int:
    """Fill the arrays; returns the number of levels."""
    row_offsets, column_indices = rows
    begin, tail, levels = 0, queue_sources(sources, seen, order), 0
    predecessor[:tail] = order[:tail]
    level_offsets[0] = 0
    while begin < tail:
        end = tail
        levels += 1
        level_offsets[levels] = end
        if levels > max_depth:
            break
        for i in range(begin, end):
            u = numpy.int64(order[i])
            for k in range(row_offsets[u], row_offsets[u + 1]):
                v = numpy.int64(column_indices[k])
                if seen[v] == 0:
                    seen[v] = 1
                    order[tail] = v
                    predecessor[tail] = u
                    tail += 1
            if tail == len(order):
                break
        begin = end
    return levels
