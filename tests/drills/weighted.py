"""Weighted graphs of every kind, drawn by a number, and shortest paths by an own Dijkstra."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy

import gravel

Arcs = dict[tuple[int, int], float]

CLOSE = 1e-12
"""Of sums of floats that were added up from both ends."""


def _drawn(values: list[float]) -> Callable[[Any, int], Any]:
    return lambda rng, m: rng.choice(numpy.array(values, numpy.float32), m)


WEIGHTS: dict[str, Callable[[Any, int], Any]] = {
    "integers": lambda rng, m: rng.integers(1, 100, m).astype(numpy.uint32),
    "integers with zeros": lambda rng, m: rng.integers(0, 4, m).astype(numpy.int32),
    "large integers": lambda rng, m: rng.integers(1 << 30, 1 << 32, m).astype(numpy.uint32),
    "equal": lambda rng, m: numpy.full(m, 7, numpy.uint32),
    "all zero": lambda rng, m: numpy.zeros(m, numpy.uint32),
    "floats": lambda rng, m: rng.random(m).astype(numpy.float32),
    "reliabilities": lambda rng, m: -numpy.log(numpy.round(rng.random(m) * 0.9 + 0.1, 1)),
    "minus zeros": _drawn([-0.0, 0.0, 0.25, 1.0]),
    "tiny": _drawn([1.4e-45, 2.8e-45, 1e-44, 1e-38, 0.0]),
    "huge": _drawn([1e30, 3e38, 3.4e38, 1e37]),
    "extreme": _drawn([-0.0, 0.0, 1.4e-45, 1e-20, 1e-10, 0.5, 7.0, 1e20, 3e38]),
}


@dataclass
class Drawn:
    """A graph with its arcs, and the distances that were found in it."""

    name: str
    graph: gravel.Graph
    ids: list[int]
    arcs: Arcs
    floats: bool
    _known: dict[tuple[int, str], dict[int, float]] = field(default_factory=dict)
    _rows: dict[str, dict[int, list[tuple[int, float]]]] = field(default_factory=dict)

    def distances(self, source: int, direction: str = "out") -> dict[int, float]:
        """Return the distances of what the source reaches, by Dijkstra."""
        if (source, direction) not in self._known:
            if direction not in self._rows:
                self._rows[direction] = rows_of(turned(self.arcs, direction))
            self._known[source, direction] = dijkstra(self._rows[direction], source)
        return self._known[source, direction]


def dijkstra(rows: dict[int, list[tuple[int, float]]], source: int) -> dict[int, float]:
    """Return the smallest sums from a source on, each rounded as float64 or exact."""
    found: dict[int, float] = {}
    heap: list[tuple[float, int]] = [(0, source)]
    while heap:
        length, u = heapq.heappop(heap)
        if u in found:
            continue
        found[u] = length
        for v, weight in rows.get(u, ()):
            if v not in found:
                heapq.heappush(heap, (length + weight, v))
    return found


def rows_of(arcs: Arcs) -> dict[int, list[tuple[int, float]]]:
    """Return the successors of each vertex, with the weights."""
    rows: dict[int, list[tuple[int, float]]] = {}
    for (u, v), weight in arcs.items():
        rows.setdefault(u, []).append((v, weight))
    return rows


def turned(arcs: Arcs, direction: str) -> Arcs:
    """Return arcs in a direction; of those both ways the smaller counts."""
    if direction == "out":
        return arcs
    back = {(v, u): weight for (u, v), weight in arcs.items()}
    if direction == "in":
        return back
    return {pair: min(arcs.get(pair, numpy.inf), back.get(pair, numpy.inf)) for pair in arcs | back}


def draw(seed: int, number: int, kinds: list[str], largest: int = 4000, backend: str = "auto") -> Drawn:
    """Draw a graph, with weights of one of the kinds: few vertices mostly, `largest` sometimes."""
    rng = numpy.random.default_rng([seed, number])
    size = rng.random()
    n = int(rng.integers(2, 12) if size < 0.6 else rng.integers(12, 200) if size < 0.97 else largest)
    m = int(n * rng.choice([1, 2, 3, 8])) if n < 1000 else 8 * n
    kind = str(rng.choice(kinds))
    ends = (n * rng.random((2, m)) ** rng.choice([1, 2])).astype(numpy.int64)
    shape = rng.choice(["drawn", "path", "two ways", "zeros one way"])
    if shape == "path":
        ends = numpy.stack([numpy.arange(m) % n, (numpy.arange(m) + 1) % n])
    weights = WEIGHTS[kind](rng, m)
    directed = bool(rng.integers(2)) or shape == "zeros one way"
    if shape in ("two ways", "zeros one way"):
        # Every arc has one back of its weight, but those of weight 0.
        ends = numpy.concatenate([ends, ends[::-1]], axis=1)
        weights = numpy.concatenate([weights, weights])
    if shape == "zeros one way":
        ends = numpy.concatenate([ends, rng.integers(0, n, (2, n))], axis=1)
        weights = numpy.concatenate([weights, numpy.zeros(n, weights.dtype)])
    merge = (
        "minimum" if kind in ("large integers", "huge", "extreme") else str(rng.choice(["minimum", "sum"]))
    )
    ids = numpy.sort(rng.choice(10 * n, n, replace=False))
    graph = gravel.graph(
        (ids[ends[0]], ids[ends[1]]),
        weights=weights,
        directed=directed,
        duplicates=merge,  # type: ignore[arg-type]
        backend=backend,  # type: ignore[arg-type]
    )
    arrangement = rng.integers(6) if n < 1000 else 0
    if arrangement == 1:
        graph = graph.reorder("degree")
    elif arrangement == 2 and not directed:
        graph = graph.compress()
    floats = weights.dtype.kind == "f"
    arcs = merged(ids[ends], weights.astype(numpy.float32) if floats else weights, directed, merge)
    name = f"graph {number}: {n} vertices, {kind}, {shape}, {merge}, {'' if directed else 'un'}directed"
    return Drawn(name, graph, graph.vertices.to_pylist(), arcs, floats)


def merged(ends: Any, weights: Any, directed: bool, merge: str) -> Arcs:
    """Return one weight for each arc, without loops, as the graph has it."""
    several: dict[tuple[int, int], list[float]] = {}
    for u, v, weight in zip(*ends.tolist(), weights.tolist(), strict=True):
        if u == v:
            continue
        for pair in ((u, v),) if directed else ((u, v), (v, u)):
            several.setdefault(pair, []).append(abs(weight))
    if merge == "minimum":
        return {pair: min(each) for pair, each in several.items()}
    if weights.dtype.kind == "f":
        return {pair: float(numpy.float32(sum(sorted(each)))) for pair, each in several.items()}
    return {pair: sum(each) for pair, each in several.items()}


def faults_of_search(drawn: Drawn, source: int, direction: str, found: Any) -> list[str]:
    """Hold the distances of a search against Dijkstra's, to the last bit, and its tree against them."""
    expected = drawn.distances(source, direction)
    unreached = numpy.inf if drawn.floats else -1
    distance, before = found.distance.to_numpy().tolist(), found.predecessor.to_numpy().tolist()
    wrong = [v for v, each in zip(drawn.ids, distance, strict=True) if each != expected.get(v, unreached)]
    if wrong:
        return [f"{len(wrong)} distances, that of {wrong[0]} is {expected.get(wrong[0], unreached)}"]
    arcs, faults = turned(drawn.arcs, direction) if direction != "out" else drawn.arcs, []
    place = {v: i for i, v in enumerate(drawn.ids)}
    steps = {source: 0}
    for v, u in zip(drawn.ids, before, strict=True):
        if v == source or v not in expected:
            if u != -1:
                faults.append(f"{v} has the predecessor {u}")
            continue
        if (u, v) not in arcs or expected[u] + arcs[u, v] != expected[v]:
            faults.append(f"{u} is before {v}")
            continue
        way = [v]
        while way[-1] not in steps and len(way) <= len(before):
            way.append(before[place[way[-1]]])
        if way[-1] not in steps:
            faults.append(f"no way back from {v}")
            break
        for back, each in enumerate(reversed(way)):
            steps.setdefault(each, steps[way[-1]] + back)
    return faults


def faults_of_pair(
    drawn: Drawn, source: int, target: int, direction: str, length: Any, path: Any
) -> list[str]:
    """Hold a length against Dijkstra's, and see that the path is one, of that length."""
    expected = drawn.distances(source, direction).get(target)
    if expected is None:
        return [] if length is None and path is None else [f"{length} and {path} where there is no path"]
    close = CLOSE * expected if drawn.floats else 0
    if length is None or abs(length - expected) > close:
        return [f"a length of {length}, which is {expected}"]
    if path is None or (path[0], path[-1]) != (source, target) or len({*path}) != len(path):
        return [f"{path} is no path"]
    arcs = turned(drawn.arcs, direction) if direction != "out" else drawn.arcs
    if not all(arc in arcs for arc in pairwise(path)):
        return [f"{path} has what is no arc"]
    total = sum(arcs[arc] for arc in pairwise(path))
    return [] if abs(total - expected) <= close else [f"{path} is {total} long, not {expected}"]
