"""Betweenness: how many shortest paths go through each vertex or arc, each pair of ends counting as one.

Brandes, A Faster Algorithm for Betweenness Centrality, Journal of Mathematical Sociology 25(2), 2001, without
weights. Sources come in ascending order and on one thread, so that sums are rounded as those of NetworkX.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


def betweenness(
    forward: tuple[NDArray[numpy.int64], NDArray[Any]],
    backward: tuple[NDArray[numpy.int64], NDArray[Any]],
    *,
    endpoints: bool = False,
) -> NDArray[numpy.float64]:
    """Return the sum over all ordered pairs of ends, float64 (vertices,).

    `forward` and `backward` are the rows of successors and of predecessors, as (row_offsets, column_indices).
    With `endpoints` a path counts for its ends as well.
    """
    return _run(forward, backward, endpoints, numpy.empty(0, numpy.int64), 0)[0]


def edge_betweenness(
    forward: tuple[NDArray[numpy.int64], NDArray[Any]],
    backward: tuple[NDArray[numpy.int64], NDArray[Any]],
    edge_of: NDArray[numpy.int64],
    edges: int,
) -> NDArray[numpy.float64]:
    """Return the sum over all ordered pairs of ends, float64 (edges,).

    `edge_of[k]` is the edge of arc k of `backward`; the two arcs of an undirected edge share one.
    """
    return _run(forward, backward, False, edge_of, edges)[1]


def _run(
    forward: tuple[NDArray[numpy.int64], NDArray[Any]],
    backward: tuple[NDArray[numpy.int64], NDArray[Any]],
    endpoints: bool,
    edge_of: NDArray[numpy.int64],
    edges: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    n = len(forward[0]) - 1
    total, edge_total = numpy.zeros(n, numpy.float64), numpy.zeros(edges, numpy.float64)
    _accumulate(
        *forward,
        *backward,
        edge_of,
        endpoints,
        numpy.full(n, -1, numpy.int64),
        numpy.zeros(n, numpy.float64),
        numpy.zeros(n, numpy.float64),
        numpy.empty(n, forward[1].dtype),
        total,
        edge_total,
    )
    return total, edge_total


@serial
def _accumulate(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    back_offsets: NDArray[Any],
    back_indices: NDArray[Any],
    edge_of: NDArray[Any],
    endpoints: bool,
    level: NDArray[Any],
    paths: NDArray[Any],
    share: NDArray[Any],
    queue: NDArray[Any],
    total: NDArray[Any],
    edge_total: NDArray[Any],
) -> None:
    """Search from every vertex, then go back through its queue; each leaves the workspace clean."""
    for source in range(len(total)):
        level[source] = 0
        paths[source] = 1.0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            v = numpy.int64(queue[head])
            head += 1
            for k in range(row_offsets[v], row_offsets[v + 1]):
                w = numpy.int64(column_indices[k])
                if level[w] < 0:
                    level[w] = level[v] + 1
                    queue[tail] = w
                    tail += 1
                if level[w] == level[v] + 1:
                    paths[w] += paths[v]
        if endpoints:
            total[source] += tail - 1
        for i in range(tail - 1, -1, -1):
            w = numpy.int64(queue[i])
            part = (1.0 + share[w]) / paths[w]
            for k in range(back_offsets[w], back_offsets[w + 1]):
                v = numpy.int64(back_indices[k])
                if level[v] >= 0 and level[v] + 1 == level[w]:
                    passed = paths[v] * part
                    share[v] += passed
                    if len(edge_of) > 0:
                        edge_total[edge_of[k]] += passed
            if w != source:
                total[w] += share[w] + 1.0 if endpoints else share[w]
        for i in range(tail):
            v = numpy.int64(queue[i])
            level[v] = -1
            paths[v] = 0.0
            share[v] = 0.0
