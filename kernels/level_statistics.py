"""What a search reached, level by level, counted after the clock has stopped."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


@serial
def level_sums(
    distance: NDArray[Any],
    row_offsets: NDArray[Any],
    extra_ends: NDArray[Any],
    vertices: NDArray[Any],
    arcs: NDArray[Any],
) -> int:
    """Count vertices and stored arcs of each level, into arrays that are as long as there are levels.

    Returns the sum of `extra_ends`, ends of distinct edges less arcs of each vertex, over the reached
    vertices; 0 where `extra_ends` is empty.
    """
    total = 0
    for v in range(len(distance)):
        level = distance[v]
        if level >= 0:
            vertices[level] += 1
            arcs[level] += row_offsets[v + 1] - row_offsets[v]
            if len(extra_ends) > 0:
                total += extra_ends[v]
    return total


@serial
def distinct_neighbours(
    order: NDArray[Any],
    distance: NDArray[Any],
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Count, per level, the vertices that its vertices lead to: its edge frontier without duplicates.

    `order` lists the reached vertices by ascending distance; `counts` (levels,) starts at 0 (Merrill,
    Garland, Grimshaw, PPoPP 2012, section 3.2).
    """
    latest = numpy.full(len(distance), -1, numpy.int32)
    for position in range(len(order)):
        v = order[position]
        level = distance[v]
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[arc])
            if latest[w] != level:
                latest[w] = level
                counts[level] += 1


@serial
def distances_of_tree(predecessor: NDArray[Any], source: int, distance: NDArray[Any]) -> int:
    """Fill the distance of every vertex of a tree of predecessors, -1 outside; returns the largest.

    Each vertex walks up to the nearest known one, then back down by the same way, so no step is made more
    than twice.
    """
    distance[:] = -1
    distance[source] = 0
    deepest = 0
    for v in range(len(predecessor)):
        hops = 0
        u = v
        while distance[u] < 0 and predecessor[u] >= 0:
            u = predecessor[u]
            hops += 1
        if distance[u] < 0:
            continue
        depth = distance[u] + hops
        deepest = max(deepest, depth)
        u = v
        while distance[u] < 0:
            distance[u] = depth
            depth -= 1
            u = predecessor[u]
    return deepest


def edge_ends(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], first_row: int = 0
) -> NDArray[numpy.int64]:
    """Count each vertex's ends of distinct edges in a symmetric graph: a self-loop has both of its own.

    Lists are sorted, so that duplicates lie side by side; the first one is that of vertex `first_row`. int64
    (rows,).
    """
    ends = numpy.empty(len(row_offsets) - 1, numpy.int64)
    _edge_ends(row_offsets, column_indices, first_row, ends)
    return ends


@serial
def _edge_ends(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], first_row: int, ends: NDArray[Any]
) -> None:
    for v in range(len(ends)):
        count = 0
        for k in range(row_offsets[v], row_offsets[v + 1]):
            if k == row_offsets[v] or column_indices[k] != column_indices[k - 1]:
                count += 2 if numpy.int64(column_indices[k]) == v + first_row else 1
        ends[v] = count
