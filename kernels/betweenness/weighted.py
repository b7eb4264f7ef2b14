"""Brandes' algorithm by weights on one CPU thread: Dijkstra's search of each source, then back in its order.

Brandes, A Faster Algorithm for Betweenness Centrality, Journal of Mathematical Sociology 25(2), 2001. Lengths
are equal where float64, or int64 of integers, adds them up to the same number from the source on, as in
NetworkX. Weights of zero are allowed: as in NetworkX, paths are counted in the order in which the search
finds vertices, and an arc of no length counts for what its ends have by then. Where such arcs are part of
shortest paths, values depend on the order of neighbours in rows.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import atomic_load
from gravel.kernels.betweenness.brandes import all_finite
from gravel.kernels.betweenness.buffers import weighted_workspace
from gravel.kernels.buffers import make
from gravel.kernels.interruptible import LOOK
from gravel.kernels.jit import serial
from gravel.kernels.ordered.buffers import UNSEEN
from gravel.kernels.ordered.dijkstra import nearest_first


class WeightedWorkspace:
    """What one thread needs: the search of a source, and the sums of the sources that share them."""

    def __init__(self, vertices: int, sums: int, dtype: Any, weights: Any) -> None:
        made = make(weighted_workspace(vertices, dtype.itemsize, sums, is_float=weights.kind == "f"), numpy)
        self.sums = made.pop("sums")
        *searched, paths, share = made.values()
        self.search = tuple(searched), paths, share


@serial
def search_each_by_weight(
    graph: Any,
    sources: NDArray[Any],
    of_arcs: bool,
    endpoints: bool,
    own: Any,
    sums: NDArray[Any],
    stop: NDArray[Any],
) -> int:
    """Add the shares of each source to `sums`, of the vertices or of the arcs; as `brandes.search_each`.

    `graph` has the rows of successors with their weights.
    """
    searched, paths, share = own
    place, distance, order, before = searched[:4]
    start = numpy.empty(1, numpy.int64)
    overflowed = -1
    for i in range(len(sources)):
        source = numpy.int64(sources[i])
        start[0] = source
        tail = nearest_first(graph, start, -1, False, distance.dtype.type(0), searched, stop)
        if atomic_load(stop, 0) != 0:
            break
        _count_paths(graph, source, tail, distance, order, before, paths, share)
        if not all_finite(paths, order, tail):
            overflowed = int(source)
        elif overflowed < 0:
            if endpoints:
                sums[source] += tail - 1
            _sum_up(graph, tail, of_arcs, endpoints, own, sums, stop)
        for k in range(tail):
            v = numpy.int64(order[k])
            place[v] = UNSEEN
            paths[v] = 0.0
            share[v] = 0.0
        if overflowed >= 0:
            break
    return overflowed


@serial
def _count_paths(
    graph: Any,
    source: int,
    tail: int,
    distance: NDArray[Any],
    order: NDArray[Any],
    before: NDArray[Any],
    paths: NDArray[Any],
    share: NDArray[Any],
) -> None:
    """Count the paths to each vertex; those over its predecessor are added when the search comes to it.

    Until then its `share` is 1, and 0 before and after.
    """
    row_offsets, column_indices, weights = graph
    for i in range(tail):
        v = numpy.int64(order[i])
        if i == 0:
            paths[v] = 1.0
        else:
            paths[v] += paths[numpy.int64(before[v])]
        share[v] = 0.0
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(column_indices[k])
            if distance[v] + distance.dtype.type(weights[k]) == distance[w]:
                if w != source and before[w] == v and share[w] == 0.0:
                    share[w] = 1.0
                else:
                    paths[w] += paths[v]


@serial
def _sum_up(
    graph: Any, tail: int, of_arcs: bool, endpoints: bool, own: Any, sums: NDArray[Any], stop: NDArray[Any]
) -> None:
    """Add what paths to farther vertices leave at each vertex; `share` becomes (1 + d(v)) / s(v)."""
    row_offsets, column_indices, weights = graph
    searched, paths, share = own
    _, distance, order, _ = searched[:4]
    for i in range(tail - 1, -1, -1):
        if i % LOOK == 0 and atomic_load(stop, 0) != 0:
            break
        v = numpy.int64(order[i])
        through = 0.0
        loops = 0
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(column_indices[k])
            if distance[v] + distance.dtype.type(weights[k]) == distance[w]:
                through += share[w]
                loops += w == v
        through *= paths[v]
        share[v] = (1.0 + through) / paths[v]
        if not of_arcs and i > 0:
            sums[v] += through + loops * paths[v] * share[v] + (1.0 if endpoints else 0.0)
    if of_arcs:
        for i in range(tail):
            v = numpy.int64(order[i])
            for k in range(row_offsets[v], row_offsets[v + 1]):
                w = numpy.int64(column_indices[k])
                if distance[v] + distance.dtype.type(weights[k]) == distance[w]:
                    sums[k] += paths[v] * share[w]
