"""Every question that a graph answers, and answers as values that can be compared."""

from __future__ import annotations

import inspect
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy

import gravel

ROOT = str(Path(gravel.__file__).parent)

NOT_ASKED = {"info", "load", "to_igraph"}
"""Public names of a graph that search nothing, or need what is not installed for tests."""

THREADS = 8

Question = Callable[[gravel.Graph], Any]


def skewed(
    seed: int = 5, vertices: int = 400, edges: int = 4000, *, directed: bool = False, **options: Any
) -> gravel.Graph:
    """Make a graph of few hubs and many arcs, some of weight 0: later searches read it by weight."""
    rng = numpy.random.default_rng(seed)
    ends = (vertices * rng.random((2, edges)) ** 2).astype(numpy.int64)
    weights = rng.integers(0, 64, edges).astype(numpy.uint32)
    ends[:, :vertices] = numpy.arange(vertices), numpy.roll(numpy.arange(vertices), 1)
    return gravel.graph((ends[0], ends[1]), weights=weights, directed=directed, **options)


def lengths(found: Any) -> list[Any]:
    """Distances of a search, which does not make the same tree each time, and whether its tree fits them."""
    distance, before = found.distance.to_numpy(), on_host(found.predecessor.array)
    later = numpy.flatnonzero(distance > 0)
    return [distance, bool((distance[before[later]] == distance[later] - 1).all())]


def on_host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array


def columns(found: Any) -> list[Any]:
    return list(found.to_numpy().values())


def of_graph(found: gravel.Graph) -> list[Any]:
    return [*lengths(found.bfs(3)), found.info().layout, found.info().order]


def saved(graph: gravel.Graph) -> list[Any]:
    folder = Path(tempfile.mkdtemp(prefix="gravel-asked-"))
    try:
        return of_graph(gravel.load(graph.save(folder / "graph")))
    finally:
        shutil.rmtree(folder)


QUESTIONS: dict[str, Question] = {
    "bfs": lambda g: lengths(g.bfs(7)),
    "bfs in": lambda g: lengths(g.bfs(7, direction="in")),
    "bfs top_down": lambda g: lengths(g.bfs(9, strategy="top_down")),
    "shortest_paths": lambda g: columns(g.shortest_paths(7)),
    "shortest_paths again": lambda g: columns(g.shortest_paths(11)),
    "shortest_paths both": lambda g: columns(g.shortest_paths(7, direction="both")),
    "distance": lambda g: g.distance(7, 200),
    "distance by arcs": lambda g: g.distance(7, 200, by="arcs"),
    "path": lambda g: g.path(9, 333),
    "path by arcs": lambda g: g.path(9, 333, by="arcs"),
    "paths": lambda g: list(g.paths(range(40), range(40, 80))),
    "paths both": lambda g: g.paths(range(40), range(40, 80), "distance", direction="both").lengths(),
    "components": lambda g: columns(g.components()),
    "components strong": lambda g: columns(g.components(connection="strong")),
    "reorder": lambda g: of_graph(g.reorder("degree")),
    "compress": lambda g: of_graph(g.compress()),
    "place": lambda g: of_graph(g.place("host")),
    "save": saved,
    "subgraph": lambda g: of_graph(g.subgraph(range(200))),
    "subgraph near": lambda g: of_graph(g.bfs(3).within(2)),
    "core": lambda g: of_graph(g.core(4)) if not g.directed else None,
    "neighbors": lambda g: g.neighbors(7).to_pylist(),
    "neighbors in": lambda g: g.neighbors(7, direction="in").to_pylist(),
    "degree": lambda g: g.degree(7),
    "degrees": lambda g: g.degrees().to_numpy(),
    "has_edge": lambda g: [g.has_edge(7, 6), g.has_edge(7, 300)],
    "edges": lambda g: [each.to_numpy() for each in g.edges().columns],
    "to_networkx": lambda g: sorted(g.to_networkx().edges(data="weight")),
    "to_scipy": lambda g: g.to_scipy().toarray(),
    "closeness": lambda g: columns(g.closeness()),
    "harmonic": lambda g: columns(g.harmonic(range(50))),
    "neighbourhood": lambda g: columns(g.neighbourhood(2)),
    "eccentricity": lambda g: columns(g.eccentricity()),
    "diameter": lambda g: g.diameter(direction="both"),
    "radius": lambda g: g.radius(direction="both"),
    "average_path_length": lambda g: float(g.average_path_length(20)),
    "distances": lambda g: columns(g.distances(range(5), range(30))),
    "pagerank": lambda g: columns(g.pagerank()),
    "betweenness": lambda g: columns(g.betweenness(30)),
    "edge_betweenness": lambda g: columns(g.edge_betweenness(30)),
}

ON_CPU: dict[str, Question] = {
    "bfs serial": lambda g: lengths(g.bfs(9, strategy="serial")),
    "shortest_paths dijkstra": lambda g: columns(g.shortest_paths(9, strategy="dijkstra")),
}


def methods() -> set[str]:
    """Return the public methods of a graph that search it."""
    names = inspect.getmembers(gravel.Graph, inspect.isfunction)
    return {name for name, _ in names if not name.startswith("_")} - NOT_ASKED


def same(one: Any, other: Any) -> bool:
    """Say whether two answers are the same."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, numpy.ndarray):
        return one.dtype == other.dtype and numpy.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return type(one) is type(other) and bool(one == other)


def answered(graph: Any, questions: dict[Any, Question], times: int) -> list[Any]:
    """Ask in a random order from many threads; returns which answers are others than those of one thread."""
    answers = {name: question(graph) for name, question in questions.items()}
    names = [name for name in questions for _ in range(times)]
    random.Random(1).shuffle(names)
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda name: questions[name](graph), names)
        return [name for name, each in zip(names, found, strict=True) if not same(each, answers[name])]


class Steps:
    """Counts the lines of gravel that a call runs on this thread; the one numbered `last` is cut off."""

    def __init__(self, last: float = float("inf")) -> None:
        self.count, self._last = 0, last

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        if event == "line":
            self.count += 1
            if self.count == self._last:
                raise KeyboardInterrupt
        return self.trace


@contextmanager
def counted(steps: Steps) -> Iterator[Steps]:
    """Count what runs inside."""
    before = sys.gettrace()
    sys.settrace(steps.trace)
    try:
        yield steps
    finally:
        sys.settrace(before)


def spoiled(graph: gravel.Graph, name: str, question: Question, rng: Any, times: int) -> list[str]:
    """Cut a question off at random lines, and ask it and others again; returns other answers than before."""
    answers = {name: question(graph), **{each: QUESTIONS[each](graph) for each in ("bfs", "distance")}}
    with counted(Steps()) as steps:
        question(graph)
    wrong = []
    for last in sorted(1 + rng.permutation(steps.count)[:times]):
        with suppress(KeyboardInterrupt), counted(Steps(last)):
            question(graph)
        for each, answer in answers.items():
            asked = question if each == name else QUESTIONS[each]
            if not same(asked(graph), answer):
                wrong.append(f"{each}, after {name} was cut off at line {last} of {steps.count}")
    return wrong
