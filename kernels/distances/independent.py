"""Breadth-first searches from many sources, one after the other on one CPU thread, for deep graphs.

Their frontiers are small and share little, so a search for each source reads less than rows of bits would.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import atomic_load
from gravel.kernels.buffers import make
from gravel.kernels.distances.buffers import own_search
from gravel.kernels.jit import serial


class Workspace:
    """What one thread needs."""

    def __init__(self, vertices: int, dtype: Any) -> None:
        self.visited, self.queue = make(own_search(vertices, dtype.itemsize), numpy).values()


@serial
def search_each(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    max_depth: int,
    sources: NDArray[Any],
    visited: NDArray[Any],
    queue: NDArray[Any],
    reached: NDArray[Any],
    total: NDArray[Any],
    reciprocal: NDArray[Any],
    eccentricity: NDArray[Any],
    counts: NDArray[Any],
    vertex_reached: NDArray[Any],
    vertex_total: NDArray[Any],
    vertex_largest: NDArray[Any],
    stop: NDArray[Any],
) -> None:
    """Search from each source along the arcs, and add to the results.

    `visited` is zero before and after. `counts` (sources, levels) and the three of the vertices may be of
    length 0 and are then left alone. It ends early where `stop` becomes 1.
    """
    for i in range(len(sources)):
        queue[0] = sources[i]
        visited[sources[i]] = 1
        head, tail, level = 0, 1, 0
        while head < tail:
            found, end = tail - head, tail
            reached[i] += found
            total[i] += found * level
            if level > 0:
                reciprocal[i] += found / level
            eccentricity[i] = level
            if level < counts.shape[1]:
                counts[i, level] = found
            if len(vertex_reached) > 0:
                for k in range(head, end):
                    v = queue[k]
                    vertex_reached[v] += 1
                    vertex_total[v] += level
                    vertex_largest[v] = max(vertex_largest[v], level)
            if level >= max_depth or atomic_load(stop, 0) != 0:
                break
            for at in range(head, end):
                u = numpy.int64(queue[at])
                for k in range(row_offsets[u], row_offsets[u + 1]):
                    v = column_indices[k]
                    if visited[v] == 0:
                        visited[v] = 1
                        queue[tail] = v
                        tail += 1
            head = end
            level += 1
        for k in range(tail):
            visited[queue[k]] = 0
