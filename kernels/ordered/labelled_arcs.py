"""The arcs that a breadth-first search follows, each with what the search learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.ordered.bfs import Rows, queue_sources

TREE, FORWARD, LEVEL, REVERSE = range(4)
"""An arc that finds its head; one to a vertex of the next level that was found before; one within a level;
one to an earlier level."""


def labelled_arcs(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    sources: Sequence[int],
    *,
    symmetric: bool,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[numpy.uint8]]:
    """Return (tails, heads, labels) of the arcs in the order of the queue.

    Of a symmetric graph each edge is returned once: not from its end that was expanded later, except for an
    edge to the next level, which is found from its near end only.
    """
    n, arcs, dtype = len(row_offsets) - 1, len(column_indices), column_indices.dtype
    tails, heads, labels = numpy.empty(arcs, dtype), numpy.empty(arcs, dtype), numpy.empty(arcs, numpy.uint8)
    depth, expanded = numpy.zeros(n, numpy.int64), numpy.zeros(n, numpy.uint8)
    rows, starts = (row_offsets, column_indices), numpy.asarray(sources, numpy.int64)
    count = _label(rows, starts, symmetric, depth, expanded, numpy.empty(n, dtype), tails, heads, labels)
    return tails[:count], heads[:count], labels[:count]


@serial
def _label(
    rows: Rows,
    sources: NDArray[Any],
    symmetric: bool,
    depth: NDArray[Any],
    expanded: NDArray[Any],
    queue: NDArray[Any],
    tails: NDArray[Any],
    heads: NDArray[Any],
    labels: NDArray[Any],
) -> int:
    """Fill the last three arrays; `depth` is 1 + the level, 0 for unvisited."""
    row_offsets, column_indices = rows
    head, tail, count = 0, queue_sources(sources, depth, queue), 0
    while head < tail:
        u = numpy.int64(queue[head])
        head += 1
        own = depth[u]
        for k in range(row_offsets[u], row_offsets[u + 1]):
            v = numpy.int64(column_indices[k])
            if depth[v] == 0:
                depth[v] = own + 1
                queue[tail] = v
                tail += 1
                label = TREE
            elif depth[v] > own:
                label = FORWARD
            elif depth[v] == own:
                if symmetric and expanded[v] != 0:
                    continue
                label = LEVEL
            elif symmetric:
                continue
            else:
                label = REVERSE
            tails[count] = u
            heads[count] = v
            labels[count] = label
            count += 1
        expanded[u] = 1
    return count
