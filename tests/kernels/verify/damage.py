"""Answers of searches and components, damaged in every way in which they can be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import ZooGraph, scipy_distances, zoo

Csr = tuple[Any, Any]
Labels = tuple[Any, Any]

ZOO = [graph for graph in zoo() if graph.vertex_count]


def _hubs() -> ZooGraph:
    """Two rows that many warps share, a path behind them, and vertices that nothing reaches."""
    n = 5000
    first = [(0, i) for i in range(1, 2600)]
    second = [(2500, i) for i in range(2501, 4700)]
    path = [(i, i + 1) for i in range(4699, 4760)]
    array = numpy.array(first + second + path, dtype=numpy.uint32)
    return ZooGraph("hubs", n, array[:, 0].copy(), array[:, 1].copy())


HUBS = _hubs()


def search(csr: Csr, source: int, max_depth: int | None = None) -> Labels:
    """Distances by SciPy and some valid predecessor of each vertex (the largest)."""
    offsets, columns = csr
    distance = scipy_distances(offsets, columns, source)
    tails = numpy.repeat(numpy.arange(len(distance), dtype=numpy.int32), numpy.diff(offsets))
    heads = columns.astype(numpy.int64)
    tree = (distance[tails] >= 0) & (distance[heads] == distance[tails] + 1)
    predecessor = numpy.full(len(distance), -1, numpy.int32)
    numpy.maximum.at(predecessor, heads[tree], tails[tree])
    if max_depth is not None:
        deep = distance > max_depth
        distance[deep] = predecessor[deep] = -1
    return distance, predecessor


class Broken:
    """One answer and what damages need to choose a place in it."""

    def __init__(self, csr: Csr, source: int, seed: int, max_depth: int | None = None) -> None:
        self.csr, self.source, self.n = csr, source, len(csr[0]) - 1
        self.d, self.p = search(csr, source, max_depth)
        self.random = numpy.random.default_rng(seed)

    def some(self, where: Any) -> int | None:
        """A vertex for which this holds, None where there is none."""
        found = numpy.flatnonzero(where)
        return int(self.random.choice(found)) if len(found) else None

    def reached(self) -> int | None:
        return self.some((self.d > 0) & (numpy.arange(self.n) != self.source))

    def neighbours(self, v: int) -> Any:
        return self.csr[1][self.csr[0][v] : self.csr[0][v + 1]].astype(numpy.int64)


def _distance_off(by: int) -> Callable[[Broken], bool]:
    def damage(b: Broken) -> bool:
        v = b.reached()
        if v is not None:
            b.d[v] += by
        return v is not None

    return damage


def _reached_lost(b: Broken) -> bool:
    v = b.reached()
    if v is not None:
        b.d[v] = b.p[v] = -1
    return v is not None


def _unreached_found(b: Broken) -> bool:
    v = b.some(b.d < 0)
    if v is not None:
        b.d[v], b.p[v] = 1, b.source
    return v is not None


def _label_without(which: str) -> Callable[[Broken], bool]:
    def damage(b: Broken) -> bool:
        v = b.reached()
        if v is not None:
            getattr(b, which)[v] = -1
        return v is not None

    return damage


def _stranger(b: Broken) -> bool:
    """A predecessor of the right level that is no neighbour."""
    for v in b.random.permutation(numpy.flatnonzero(b.d > 1)):
        near = set(b.neighbours(int(v)).tolist())
        others = [u for u in numpy.flatnonzero(b.d == b.d[v] - 1).tolist() if u not in near]
        # In a directed graph the arc leads from the predecessor.
        others = [u for u in others if v not in b.neighbours(u)]
        if others:
            b.p[v] = int(b.random.choice(others))
            return True
    return False


def _parent_of_other_level(b: Broken) -> bool:
    v = b.reached()
    if v is None:
        return False
    u = b.some((b.d >= 0) & (b.d != b.d[v] - 1) & (numpy.arange(b.n) != v))
    if u is not None:
        b.p[v] = u
    return u is not None


def _parent_unreached(b: Broken) -> bool:
    v, u = b.reached(), b.some(b.d < 0)
    if v is not None and u is not None:
        b.p[v] = u
    return v is not None and u is not None


def _parent_of_source(b: Broken) -> bool:
    b.p[b.source] = b.random.integers(b.n)
    return True


def _cycle(length: int) -> Callable[[Broken], bool]:
    def damage(b: Broken) -> bool:
        found = numpy.flatnonzero(b.d > 0)
        if len(found) < length:
            return False
        ring = b.random.choice(found, length, replace=False)
        b.p[ring] = numpy.roll(ring, 1)
        return True

    return damage


def _island(b: Broken) -> bool:
    """Unreached vertices that are a tree of their own."""
    found = numpy.flatnonzero(b.d < 0)[:3]
    if len(found) < 2:
        return False
    b.d[found] = numpy.arange(1, len(found) + 1)
    b.p[found] = numpy.roll(found, 1)
    return True


def _source_distance(value: int) -> Callable[[Broken], bool]:
    def damage(b: Broken) -> bool:
        b.d[b.source] = value
        return True

    return damage


def _second_source(b: Broken) -> bool:
    v = b.reached()
    if v is not None:
        b.d[v] = 0
    return v is not None


def _value(which: str, value: Callable[[Broken], int]) -> Callable[[Broken], bool]:
    def damage(b: Broken) -> bool:
        getattr(b, which)[b.random.integers(b.n)] = value(b)
        return True

    return damage


def _much(b: Broken) -> bool:
    some = b.random.random(b.n) < 0.3
    b.d[some] = b.random.integers(-1, max(1, int(b.d.max()) + 1), some.sum())
    b.p[some] = b.random.integers(-1, b.n, some.sum())
    return bool(some.any())


def _of_another_source(b: Broken) -> bool:
    other = b.some(b.d > 0)
    if other is not None:
        b.d, b.p = search(b.csr, other)
    return other is not None


DAMAGES: dict[str, Callable[[Broken], bool]] = {
    "a distance one too large": _distance_off(1),
    "a distance one too small": _distance_off(-1),
    "a distance two too large": _distance_off(2),
    "a reached vertex marked unreached": _reached_lost,
    "an unreached vertex marked reached": _unreached_found,
    "a predecessor without a distance": _label_without("d"),
    "a distance without a predecessor": _label_without("p"),
    "a predecessor that is no neighbour": _stranger,
    "a predecessor of another level": _parent_of_other_level,
    "a predecessor that is unreached": _parent_unreached,
    "a predecessor of the source": _parent_of_source,
    "a vertex that precedes itself": _cycle(1),
    "two vertices that precede each other": _cycle(2),
    "a cycle of five": _cycle(5),
    "an island with a tree of its own": _island,
    "a source at distance 1": _source_distance(1),
    "a source that is unreached": _source_distance(-1),
    "a second source": _second_source,
    "a distance below -1": _value("d", lambda b: -2),
    "a distance beyond all vertices": _value("d", lambda b: b.n),
    "the largest distance there is": _value("d", lambda b: 2**31 - 1),
    "a predecessor below -1": _value("p", lambda b: -2),
    "a predecessor beyond all vertices": _value("p", lambda b: b.n),
    "the largest predecessor there is": _value("p", lambda b: 2**31 - 1),
    "a third of all labels": _much,
    "the search of another source": _of_another_source,
}


def damaged(csr: Csr, source: int, seed: int, max_depth: int | None = None) -> Iterator[tuple[str, Labels]]:
    """The right answer, called "", and every damaged one that this graph allows."""
    right = Broken(csr, source, seed, max_depth)
    yield "", (right.d, right.p)
    for number, (name, damage) in enumerate(DAMAGES.items()):
        broken = Broken(csr, source, seed + number, max_depth)
        same = numpy.array_equal
        if damage(broken) and not (same(broken.d, right.d) and same(broken.p, right.p)):
            yield name, (broken.d, broken.p)


def _relabelled(right: Any, random: Any, kind: str) -> Any:
    labels, n = right.copy(), len(right)
    names, some = numpy.unique(right), int(random.integers(n))
    match kind:
        case "a label of another component":
            labels[some] = random.choice(names)
        case "a component that is split":
            members = numpy.flatnonzero(right == right[some])
            labels[members[len(members) // 2 :]] = members[len(members) // 2]
        case "two components that are merged":
            labels[right == names[-1]] = names[0]
        case "a component named by its largest vertex":
            members = right == right[some]
            labels[members] = numpy.flatnonzero(members).max()
        case "a label that is not its own":
            labels[labels == names[-1]] = some
        case "a label beyond all vertices":
            labels[some] = n
        case "a label below 0":
            labels[some] = -1
        case "labels of nobody in particular":
            labels = random.integers(0, n, n)
    return labels


COMPONENT_DAMAGES = (
    "a label of another component",
    "a component that is split",
    "two components that are merged",
    "a component named by its largest vertex",
    "a label that is not its own",
    "a label beyond all vertices",
    "a label below 0",
    "labels of nobody in particular",
)


def damaged_components(right: Any, seed: int) -> Iterator[tuple[str, Any]]:
    """The right labels (int64), called "", and every damaged form of them."""
    yield "", right
    for kind in COMPONENT_DAMAGES:
        labels = _relabelled(right, numpy.random.default_rng(seed), kind)
        if not numpy.array_equal(labels, right):
            yield kind, labels


def large() -> list[ZooGraph]:
    """Graphs with rows that several warps share."""
    return [HUBS, rmat(10)]


def csr_of(graph: ZooGraph, *, symmetric: bool, index: Any = numpy.uint32) -> Csr:
    return fast_csr(graph, symmetric=symmetric, index=index)
