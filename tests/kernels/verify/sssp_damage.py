"""Answers of shortest paths, damaged in every way in which they can be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from tests.kernels.sssp_case import WeightedGraph, distances, predecessors, weighted


def answer(graph: WeightedGraph, source: int, dtype: Any = None) -> tuple[Any, Any]:
    """Distances by Bellman and Ford, of a type that traversals have, and the tree that is expected."""
    found = distances(graph, source)
    tree = predecessors(graph, found, source).astype(numpy.int32)
    wanted = numpy.dtype(dtype or (numpy.float64 if graph.weights.dtype.kind == "f" else numpy.int64))
    if wanted.kind != "f":
        found = numpy.where(numpy.isfinite(found), found, -1)
    return found.astype(wanted), tree


class Broken:
    """One answer and what damages need to choose a place in it."""

    def __init__(self, graph: WeightedGraph, source: int, seed: int, dtype: Any = None) -> None:
        self.graph, self.source = graph, source
        self.d, self.p = answer(graph, source, dtype)
        self.n, self.floats = len(self.d), self.d.dtype.kind == "f"
        self.none = numpy.inf if self.floats else -1
        self.random = numpy.random.default_rng(seed)

    @property
    def is_reached(self) -> Any:
        return numpy.isfinite(self.d) if self.floats else self.d >= 0

    def some(self, where: Any) -> int:
        """A vertex for which this holds; raises LookupError where there is none."""
        found = numpy.flatnonzero(where)
        if not len(found):
            raise LookupError
        return int(self.random.choice(found))

    def reached(self) -> int:
        return self.some(self.is_reached & (numpy.arange(self.n) != self.source))

    def unreached(self) -> int:
        return self.some(~self.is_reached)


def _longer(b: Broken) -> None:
    b.d[b.reached()] += 1


def _shorter(b: Broken) -> None:
    v = b.some(b.is_reached & (b.d >= 1) & (numpy.arange(b.n) != b.source))
    b.d[v] -= 1


def _branch_longer(b: Broken) -> None:
    """A whole branch of the tree: all its tree arcs stay right."""
    top = b.reached()
    branch = {top}
    while True:
        more = set(numpy.flatnonzero(numpy.isin(b.p, list(branch))).tolist()) - branch
        if not more:
            break
        branch |= more
    b.d[list(branch)] += 3


def _reached_lost(b: Broken) -> None:
    v = b.reached()
    b.d[v], b.p[v] = b.none, -1


def _found(b: Broken) -> None:
    v = b.unreached()
    b.d[v], b.p[v] = 1, b.source


def _without_parent(b: Broken) -> None:
    b.p[b.reached()] = -1


def _without_distance(b: Broken) -> None:
    b.d[b.reached()] = b.none


def _parent_of_unreached(b: Broken) -> None:
    b.p[b.unreached()] = b.source


def _unreached_pair(b: Broken) -> None:
    """Vertices that nothing reaches, each the other's predecessor."""
    found = numpy.flatnonzero(~b.is_reached)[:2]
    if len(found) < 2:
        raise LookupError
    b.p[found] = found[::-1]


def _parent_unreached(b: Broken) -> None:
    v = b.reached()
    b.p[v] = b.unreached()


def _stranger(b: Broken) -> None:
    """A predecessor that has no arc of the right length."""
    v = b.reached()
    ends = b.graph.heads[b.graph.columns == v]
    b.p[v] = b.some(b.is_reached & ~numpy.isin(numpy.arange(b.n), [*ends, v]))


def _long_arc(b: Broken) -> None:
    """A predecessor whose arc is too long for the distance."""
    g = b.graph
    d = b.d.astype(numpy.float64)
    length = d[g.heads] + g.weights
    here = numpy.isfinite(d[g.heads]) & (d[g.heads] >= 0)
    tight = {
        (int(u), int(v))
        for u, v in zip(g.heads[length == d[g.columns]], g.columns[length == d[g.columns]], strict=True)
    }
    arcs = [
        (int(u), int(v))
        for u, v in zip(g.heads[here], g.columns[here], strict=True)
        if v != b.source and (int(u), int(v)) not in tight
    ]
    if not arcs:
        raise LookupError
    u, v = arcs[int(b.random.integers(len(arcs)))]
    b.p[v] = u


def _of_itself(b: Broken) -> None:
    v = b.reached()
    b.p[v] = v


def _cycle(b: Broken) -> None:
    found = numpy.flatnonzero(b.is_reached & (numpy.arange(b.n) != b.source))
    if len(found) < 3:
        raise LookupError
    ring = b.random.choice(found, 3, replace=False)
    b.p[ring] = numpy.roll(ring, 1)


def _source_farther(b: Broken) -> None:
    b.d[b.source] = 1


def _source_with_parent(b: Broken) -> None:
    b.p[b.source] = b.random.integers(b.n)


def _source_unreached(b: Broken) -> None:
    b.d[b.source] = b.none


def _value(which: str, value: Callable[[Broken], Any]) -> Callable[[Broken], None]:
    def damage(b: Broken) -> None:
        getattr(b, which)[b.random.integers(b.n)] = value(b)

    return damage


def _float(value: float) -> Callable[[Broken], None]:
    def damage(b: Broken) -> None:
        if not b.floats:
            raise LookupError
        b.d[b.random.integers(b.n)] = value

    return damage


def _much(b: Broken) -> None:
    some = b.random.random(b.n) < 0.3
    if not some.any():
        raise LookupError
    b.d[some] = b.random.integers(0, 50, some.sum())
    b.p[some] = b.random.integers(-1, b.n, some.sum())


def _of_another_source(b: Broken) -> None:
    b.d, b.p = answer(b.graph, b.some(b.d > 0 if not b.floats else (b.d > 0) & (b.d < numpy.inf)), b.d.dtype)


DAMAGES: dict[str, Callable[[Broken], None]] = {
    "a distance too large": _longer,
    "a distance too small": _shorter,
    "a branch too far": _branch_longer,
    "a reached vertex marked unreached": _reached_lost,
    "an unreached vertex marked reached": _found,
    "a reached vertex without predecessor": _without_parent,
    "a predecessor without distance": _without_distance,
    "an unreached vertex with a predecessor": _parent_of_unreached,
    "unreached vertices that are each other's predecessor": _unreached_pair,
    "a predecessor that is unreached": _parent_unreached,
    "a predecessor without an arc": _stranger,
    "a predecessor with a longer arc": _long_arc,
    "a vertex that is its own predecessor": _of_itself,
    "a cycle of predecessors": _cycle,
    "a source with a distance": _source_farther,
    "a source with a predecessor": _source_with_parent,
    "a source that is unreached": _source_unreached,
    "a distance of -2": _value("d", lambda b: -2),
    "a predecessor of -2": _value("p", lambda b: -2),
    "a predecessor out of range": _value("p", lambda b: b.n),
    "a distance that is not a number": _float(numpy.nan),
    "a distance of minus infinity": _float(-numpy.inf),
    "a distance below zero": _float(-0.5),
    "much": _much,
    "of another source": _of_another_source,
}


def damaged(graph: WeightedGraph, source: int, seed: int, dtype: Any = None) -> Iterator[tuple[str, Any]]:
    """Yield the right answer, named "", and each damage that this graph has room for and that changes it."""
    right = answer(graph, source, dtype)
    yield "", right
    for number, (name, damage) in enumerate(DAMAGES.items()):
        broken = Broken(graph, source, seed + number, dtype)
        try:
            damage(broken)
        except LookupError:
            continue
        if not (numpy.array_equal(broken.d, right[0]) and numpy.array_equal(broken.p, right[1])):
            yield name, (broken.d, broken.p)


def hub_graph(dtype: Any) -> WeightedGraph:
    """Two rows that are cut into pieces, and vertices that nothing reaches."""
    rng = numpy.random.default_rng(7)
    n = 5200
    first = [(0, v) for v in range(1, 2600)]
    second = [(1, v) for v in range(2600, 4800)]
    path = [(v, v + 1) for v in range(4799, 4860)]
    others = rng.integers(2, 4860, (3000, 2)).tolist()
    pairs = first + second + path + others
    weights = rng.integers(1, 90, len(pairs)).astype(dtype)
    return weighted(
        f"hubs {numpy.dtype(dtype)}", n, pairs, weights / dtype(8) if dtype is numpy.float32 else weights
    )
