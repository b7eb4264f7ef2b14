"""Weighted graphs for the tests of shortest paths, the distances of SciPy, and the tree that is expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.arrays import index_dtype


@dataclass(frozen=True)
class WeightedGraph:
    """Rows with weights, and their arcs one by one."""

    name: str
    row_offsets: Any
    columns: Any
    weights: Any
    heads: Any

    @property
    def rows(self) -> tuple[Any, Any, Any]:
        """The arrays that a search takes."""
        return self.row_offsets, self.columns, self.weights

    def __str__(self) -> str:
        return self.name


def weighted(name: str, n: int, pairs: Any, weights: Any) -> WeightedGraph:
    """Make rows of arcs, in any order, parallel ones included."""
    pairs = numpy.asarray(pairs, numpy.int64).reshape(-1, 2)
    order = numpy.lexsort((pairs[:, 1], pairs[:, 0]))
    heads = pairs[order, 0]
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(heads, minlength=n))
    columns = pairs[order, 1].astype(index_dtype(n))
    return WeightedGraph(name, offsets, columns, numpy.asarray(weights)[order], heads)


def random_graph(seed: int) -> WeightedGraph:
    """Draw a graph with loops, parallel arcs, unreachable vertices, ties and, often, zeros."""
    rng = numpy.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    m = int(rng.integers(0, 5 * n))
    pairs = rng.integers(0, n, (m, 2))
    dtype = (numpy.uint32, numpy.int32, numpy.float32)[seed % 3]
    most = (2, 10, 1000, 1 << 29)[seed // 3 % 4]
    drawn = rng.random(m) * most if dtype == numpy.float32 and seed % 2 else rng.integers(0, most, m)
    drawn = numpy.asarray(drawn).astype(dtype)
    if seed // 12 % 2:
        pairs, drawn = numpy.concatenate([pairs, pairs[:, ::-1]]), numpy.concatenate([drawn, drawn])
    return weighted(f"random {seed}", n, pairs, drawn)


def special(levels: int = 3000) -> list[WeightedGraph]:
    """Return graphs of one kind each, one of so many levels."""
    ring = [(v, (v + 1) % 50) for v in range(50)]
    both = ring + [(v, u) for u, v in ring]
    star = [(0, v) for v in range(1, 6000)] + [(v, 0) for v in range(1, 6000)]
    rng = numpy.random.default_rng(4)
    return [
        weighted("one vertex", 1, [], numpy.zeros(0, numpy.uint32)),
        weighted("no arcs", 3, [], numpy.zeros(0, numpy.float32)),
        weighted("a loop", 2, [(0, 0), (0, 1)], numpy.array([0, 3], numpy.int32)),
        weighted("ring of zeros", 50, both, numpy.zeros(100, numpy.uint32)),
        weighted("ring of float zeros", 50, both, numpy.zeros(100, numpy.float32)),
        weighted(
            "tiny beside large",
            4,
            [(0, 1), (1, 2), (2, 1), (2, 3)],
            numpy.array([1e30, 1e-30, 1e-30, 1], numpy.float32),
        ),
        weighted("star", 6000, star, rng.integers(0, 9, len(star)).astype(numpy.uint32)),
        weighted(
            "long path",
            levels,
            [(v, v + 1) for v in range(levels - 1)],
            numpy.full(levels - 1, 1 << 31, numpy.uint32),
        ),
        weighted("parallel", 2, [(0, 1)] * 5, numpy.array([5, 3, 9, 3, 4], numpy.uint32)),
    ]


def distances(graph: WeightedGraph, source: int) -> Any:
    """Return float64 distances by Bellman and Ford, inf for unreached: sums from the source on."""
    found = numpy.full(len(graph.row_offsets) - 1, numpy.inf)
    found[source] = 0
    while True:
        longer = found[graph.heads] + graph.weights.astype(numpy.float64)
        before = found.copy()
        numpy.minimum.at(found, graph.columns, longer)
        if (before == found).all():
            return found


def predecessors(graph: WeightedGraph, distance: Any, source: int) -> Any:
    """Return the tree that `gravel.kernels.sssp` describes, by its words."""
    n = len(distance)
    arcs = [
        (int(u), int(v))
        for u, v, w in zip(graph.heads, graph.columns, graph.weights, strict=True)
        if numpy.isfinite(distance[u]) and distance[u] + float(w) == distance[v] and v != source
    ]
    tree = [-1] * n
    for u, v in sorted(arcs, reverse=True):
        if distance[u] < distance[v]:
            tree[v] = u
    level = [v for v in range(n) if tree[v] >= 0 or v == source]
    has = set(level)
    while level:
        found: dict[int, int] = {}
        chosen = set(level)
        for u, v in arcs:
            if u in chosen and v not in has and distance[u] == distance[v]:
                found[v] = min(found.get(v, n), u)
        for v, u in found.items():
            tree[v] = u
        level = list(found)
        has |= set(level)
    return numpy.array(tree)


def as_floats(distance: Any) -> Any:
    """Return found distances as `distances` has them."""
    if distance.dtype.kind == "f":
        return distance
    return numpy.where(distance < 0, numpy.inf, distance.astype(numpy.float64))


def is_tree(tree: Any, distance: Any, source: int) -> bool:
    """Say whether every reached vertex leads to the source."""
    at = numpy.where(numpy.asarray(tree) < 0, numpy.arange(len(tree)), tree)
    for _ in range(len(tree).bit_length() + 1):
        at = at[at]
    reached = numpy.isfinite(distance)
    return bool((at[reached] == source).all())
