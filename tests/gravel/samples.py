"""Graphs to compare with SciPy and NetworkX."""

from __future__ import annotations

from typing import Any

import numpy
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from gravel.kernels.ids.distinct import distinct

Ends = tuple[numpy.ndarray, numpy.ndarray]


def random_edges(seed: int = 1, vertices: int = 300, edges: int = 500) -> Ends:
    generator = numpy.random.default_rng(seed)
    return generator.integers(0, vertices, edges), generator.integers(0, vertices, edges)


def matrix(ends: Ends) -> Any:
    """The edges over the ids 0, 1, ..., whether they occur or not."""
    size = 1 + max(int(each.max()) for each in ends)
    return coo_array((numpy.ones(len(ends[0])), ends), shape=(size, size)).tocsr()


def distances(ends: Ends, source: int, *, directed: bool = False) -> dict[int, int]:
    """Hops from a source by id, -1 for unreached, of the ids that occur."""
    found = shortest_path(matrix(ends), directed=directed, unweighted=True, indices=source)
    occur = distinct(numpy.concatenate(ends))
    return {int(v): int(found[v]) if numpy.isfinite(found[v]) else -1 for v in occur}


def parts(ends: Ends) -> set[frozenset[int]]:
    _, labels = connected_components(matrix(ends), directed=False)
    occur = distinct(numpy.concatenate(ends))
    return {frozenset(int(v) for v in occur if labels[v] == label) for label in set(labels[occur])}


def by_id(search: Any) -> dict[Any, int]:
    """The distances of a search by id."""
    return dict(
        zip(search.to_arrow()["vertex"].to_pylist(), search.distance.to_numpy().tolist(), strict=True)
    )


def parts_of(components: Any) -> set[frozenset[Any]]:
    found: dict[Any, set[Any]] = {}
    for vertex, component in zip(*components.to_arrow().to_pydict().values(), strict=True):
        found.setdefault(component, set()).add(vertex)
    return {frozenset(each) for each in found.values()}


def check_tree(search: Any, arcs: set[tuple[Any, Any]]) -> None:
    """Every predecessor is one hop nearer, over an arc of the graph."""
    distance = by_id(search)
    table = search.to_arrow().to_pydict()
    for vertex, before in zip(table["vertex"], table["predecessor"], strict=True):
        if before is None:
            assert distance[vertex] in (-1, 0)
        else:
            assert (before, vertex) in arcs
            assert distance[before] == distance[vertex] - 1
