"""Brandes' algorithm on one CPU thread: a search for each source, then its levels in reverse.

Brandes, A Faster Algorithm for Betweenness Centrality, Journal of Mathematical Sociology 25(2), 2001, without
weights. Between two levels the end with fewer arcs does the work: forward the frontier or what is not visited
yet, backward the level or the one below it. With s(v) shortest paths to v and the share d(v) of its source,
c(v) = (1 + d(v)) / s(v) = 1 / s(v) + sum of c(w) over the arcs v -> w to the level below: an arc reads one
number.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import atomic_load
from gravel.kernels.betweenness.buffers import workspace
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial

CHOOSING = 64
"""Levels whose direction is chosen; below them frontiers are small, and push forward and gather backward."""

SCAN = 8
"""Vertices whose level is compared in the time of an arc, when those not visited are sought."""


class Workspace:
    """What one thread needs: the search of a source, and the sums of the sources that share them."""

    def __init__(self, vertices: int, sums: int, dtype: Any) -> None:
        made = make(workspace(vertices, dtype.itemsize, sums), numpy)
        self.level, self.paths, self.share, self.queue, self.sums = made.values()
        self.level_arcs = numpy.zeros((2, CHOOSING + 1), numpy.int64)

    @property
    def search(self) -> tuple[NDArray[Any], ...]:
        """The arrays that a search leaves as it found them."""
        return self.level, self.paths, self.share, self.queue, self.level_arcs


@serial
def search_each(
    graph: Any,
    sources: NDArray[Any],
    of_arcs: bool,
    endpoints: bool,
    own: Any,
    sums: NDArray[Any],
    stop: NDArray[Any],
) -> int:
    """Add the shares of each source to `sums`, of the vertices or of the arcs.

    `graph` has the rows of successors and those of predecessors, `own` is `Workspace.search`. Returns -1, or
    the first source whose number of paths no float64 holds; later ones are not searched. It ends early, and
    leaves its arrays as they are, where `stop` becomes 1.
    """
    level, paths, share, queue, _ = own
    overflowed = -1
    for i in range(len(sources)):
        if overflowed < 0:
            source = int(sources[i])
            tail, depth = _forward(graph, source, own, stop)
            if atomic_load(stop, 0) != 0:
                break
            if not all_finite(paths, queue, tail):
                overflowed = source
            else:
                if endpoints:
                    sums[source] += tail - 1
                _backward(graph, tail, depth, of_arcs, endpoints, own, sums, stop)
            for k in range(tail):
                v = numpy.int64(queue[k])
                level[v] = -1
                paths[v] = 0.0
                share[v] = 0.0
    return overflowed


@serial
def _forward(graph: Any, source: int, own: Any, stop: NDArray[Any]) -> tuple[int, int]:
    """Count the paths to each vertex. Returns the vertices that are reached, and the largest distance."""
    row_offsets, column_indices, back_offsets, back_indices = graph
    level, paths, _, queue, level_arcs = own
    n = len(level)
    level[source] = 0
    paths[source] = 1.0
    queue[0] = source
    head, tail, depth = 0, 1, 0
    out = int(row_offsets[source + 1] - row_offsets[source])
    into = int(back_offsets[source + 1] - back_offsets[source])
    unvisited = int(back_offsets[n]) - into
    while True:
        if depth <= CHOOSING:
            level_arcs[0, depth] = out
            level_arcs[1, depth] = into
        end = tail
        if depth < CHOOSING and unvisited + n // SCAN < out:
            for v in range(n):
                if level[v] < 0:
                    found = 0.0
                    for k in range(back_offsets[v], back_offsets[v + 1]):
                        u = back_indices[k]
                        if level[u] == depth:
                            found += paths[u]
                    if found > 0.0:
                        level[v] = depth + 1
                        paths[v] = found
                        queue[tail] = v
                        tail += 1
        else:
            for i in range(head, end):
                u = numpy.int64(queue[i])
                own = paths[u]
                for k in range(row_offsets[u], row_offsets[u + 1]):
                    v = column_indices[k]
                    if level[v] < 0:
                        level[v] = depth + 1
                        queue[tail] = v
                        tail += 1
                    if level[v] == depth + 1:
                        paths[v] += own
        if tail == end or atomic_load(stop, 0) != 0:
            return tail, depth
        out, into = 0, 0
        for i in range(end, tail):
            w = numpy.int64(queue[i])
            out += int(row_offsets[w + 1] - row_offsets[w])
            into += int(back_offsets[w + 1] - back_offsets[w])
        unvisited -= into
        head = end
        depth += 1


@serial
def all_finite(paths: NDArray[Any], queue: NDArray[Any], tail: int) -> bool:
    """Whether the paths to the first `tail` vertices of a queue are numbers that float64 holds."""
    finite = True
    for i in range(tail):
        finite &= numpy.isfinite(paths[numpy.int64(queue[i])])
    return finite


@serial
def _backward(
    graph: Any,
    tail: int,
    depth: int,
    of_arcs: bool,
    endpoints: bool,
    own: Any,
    sums: NDArray[Any],
    stop: NDArray[Any],
) -> None:
    """Add what the paths to farther vertices leave at each vertex or arc; `share` becomes c."""
    row_offsets, column_indices, back_offsets, back_indices = graph
    level, paths, share, queue, level_arcs = own
    below_begin, below_end = tail, tail
    for d in range(depth, -1, -1):
        if atomic_load(stop, 0) != 0:
            break
        begin, end = below_begin, below_begin
        while begin > 0 and level[numpy.int64(queue[begin - 1])] == d:
            begin -= 1
        gather = of_arcs or d >= CHOOSING or level_arcs[0, d] <= level_arcs[1, d + 1]
        if not gather:
            for i in range(below_begin, below_end):
                w = numpy.int64(queue[i])
                own = share[w]
                for k in range(back_offsets[w], back_offsets[w + 1]):
                    v = back_indices[k]
                    if level[v] == d:
                        share[v] += own
        for i in range(begin, end):
            v = numpy.int64(queue[i])
            through = share[v]
            if gather and d < depth:
                for k in range(row_offsets[v], row_offsets[v + 1]):
                    w = column_indices[k]
                    if level[w] == d + 1:
                        through += share[w]
                        if of_arcs:
                            sums[k] += paths[v] * share[w]
            share[v] = 1.0 / paths[v] + through
            if d > 0 and not of_arcs:
                sums[v] += paths[v] * through + (1.0 if endpoints else 0.0)
        below_begin, below_end = begin, end
