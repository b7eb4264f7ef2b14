"""Drawn graphs for PageRank: what NetworkX finds in them, and their rows as kernels take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import networkx
import numpy
from hypothesis import strategies as st
from numpy.typing import NDArray

from gravel.kernels.csr.reversed import reversed_rows


@dataclass(frozen=True)
class Case:
    """A graph, with rows of predecessors; `asked` are arguments of the kernels."""

    graph: Any
    rows: tuple[NDArray[Any], NDArray[Any]]
    outgoing: NDArray[Any]
    weights: NDArray[Any] | None
    asked: dict[str, Any] = field(default_factory=dict)

    def expected(self, tolerance: float, iterations: int) -> NDArray[Any] | None:
        """Return the ranks of NetworkX, or None where it does not converge in so many iterations."""
        names = {"damping": "alpha", "start": "nstart"}
        given = {names.get(name, name): value for name, value in self.asked.items()}
        given |= {name: dict(enumerate(value.tolist())) for name, value in given.items() if name != "alpha"}
        given |= {"tol": tolerance, "weight": None if self.weights is None else "weight"}
        try:
            found = networkx.pagerank(self.graph, max_iter=iterations, **given)
        except networkx.PowerIterationFailedConvergence:
            return None
        return numpy.array([found[v] for v in range(len(self.graph))])


def case(arcs: Any, n: int, weights: Any, *, directed: bool, index: Any = numpy.uint32, **asked: Any) -> Case:
    """Make a case of distinct arcs (u, v), and of a weight for each; of an undirected graph u <= v."""
    made = networkx.empty_graph(n, networkx.DiGraph if directed else networkx.Graph)
    for (u, v), weight in zip(arcs, weights if weights is not None else [1] * len(arcs), strict=True):
        made.add_edge(u, v, weight=weight)
    both = [(u, v, each["weight"]) for u, v, each in made.edges(data=True)]
    if not directed:
        both += [(v, u, weight) for u, v, weight in both if u != v]
    both.sort()
    ends = numpy.array([each[:2] for each in both], numpy.int64).reshape(-1, 2)
    of_arcs = numpy.array([each[2] for each in both], numpy.float32)
    offsets = numpy.searchsorted(ends[:, 0], numpy.arange(n + 1)).astype(numpy.int64)
    outgoing = numpy.bincount(ends[:, 0], None if weights is None else of_arcs, n).astype(numpy.float64)
    columns = ends[:, 1].astype(index)
    if directed:
        offsets, columns, of_arcs = reversed_rows(offsets, columns, of_arcs)
    return Case(made, (offsets, columns), outgoing, None if weights is None else of_arcs, asked)


@st.composite
def cases(draw: Any, most: int = 40) -> Case:
    """Draw a graph, sparse enough to have dangling vertices, and some of the arguments."""
    n = draw(st.integers(1, most))
    directed = draw(st.booleans())
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    kept = pairs if directed else pairs.map(lambda ends: tuple(sorted(ends)))
    arcs = draw(st.lists(kept, max_size=3 * n, unique=True))
    weights = None
    if draw(st.booleans()):
        each = st.one_of(st.integers(0, 5), st.floats(0, 2, width=32))
        weights = draw(st.lists(each, min_size=len(arcs), max_size=len(arcs)))
        weights = [weight if weight > 1e-3 else 0 for weight in weights]
    asked: dict[str, Any] = {}
    for name in ("personalization", "dangling", "start"):
        if draw(st.booleans()):
            values = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
            asked[name] = numpy.array(values, numpy.float64)
    if draw(st.booleans()):
        asked["damping"] = draw(st.sampled_from([0.0, 0.5, 0.95]))
    index = draw(st.sampled_from([numpy.uint32, numpy.uint64]))
    return case(arcs, n, weights, directed=directed, index=index, **asked)


def skewed(vertices: int = 3000, *, directed: bool = True, weighted: bool = False) -> Case:
    """Draw a graph with a hub, many dangling vertices, and rows of all lengths."""
    random = numpy.random.default_rng(7)
    tails = random.zipf(1.5, 4 * vertices) % vertices
    heads = random.zipf(1.3, 4 * vertices) % vertices
    found = {(int(u), int(v)) for u, v in zip(tails, heads, strict=True)}
    found |= {(v, 5) for v in range(0, vertices, 2)}
    arcs = sorted(found if directed else {tuple(sorted(each)) for each in found})
    weights = random.integers(1, 9, len(arcs)).tolist() if weighted else None
    return case(arcs, vertices, weights, directed=directed)
