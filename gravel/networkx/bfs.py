"""Breadth-first searches, with the signatures, orders and exceptions of `networkx.algorithms.traversal`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import networkx
import numpy

from gravel.kernels.ordered.bfs import Found, search
from gravel.networkx.device import distances, everything_on_gpu
from gravel.networkx.graph import GravelGraph
from gravel.networkx.lookup import FROM_3_7, last_level, vertex_for_search

LABELS = ("tree", "forward", "level", "reverse")
"""NetworkX's words for the labels of `gravel.kernels.ordered.labelled_arcs`."""

PREDECESSORS_DEPRECATED = (
    "bfs_predecessors is deprecated and will be removed in NetworkX 3.9\n"
    "Use ``(t, s) for (s, t) in bfs_edges`` instead"
)
"""The warning of NetworkX from 3.7 on."""


def generic_bfs_edges(
    G: GravelGraph, source: Any, neighbors: None = None, depth_limit: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Yield the edges of the search tree."""
    yield from bfs_edges(G, source, depth_limit=depth_limit)


def bfs_edges(
    G: GravelGraph,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: None = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield the edges of the search tree, in the order of the search."""
    parents, children = _tree(G, _found(G, source, depth_limit, reverse))
    yield from zip(parents, children, strict=True)


def bfs_tree(
    G: GravelGraph,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: None = None,
) -> Any:
    """Return the search tree as a DiGraph of NetworkX."""
    tree = networkx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, reverse, depth_limit))
    return tree


def bfs_predecessors(
    G: GravelGraph, source: Any, depth_limit: Any = None, sort_neighbors: None = None
) -> Iterator[tuple[Any, Any]]:
    """Yield each reached node with its predecessor."""
    if FROM_3_7:
        warnings.warn(PREDECESSORS_DEPRECATED, DeprecationWarning, stacklevel=2)
    parents, children = _tree(G, _found(G, source, depth_limit))
    yield from zip(children, parents, strict=True)


def bfs_successors(
    G: GravelGraph, source: Any, depth_limit: Any = None, sort_neighbors: None = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each node that has successors in the tree with the list of them; the source in any case."""
    found = _found(G, source, depth_limit)
    order, predecessor = found.order[1:], found.predecessor[1:]
    if not len(order):
        yield source, []
        return
    first = numpy.flatnonzero(predecessor[1:] != predecessor[:-1]) + 1
    starts = [0, *first.tolist()]
    ends = [*starts[1:], len(order)]
    children = G.take(order)
    for parent, begin, end in zip(G.take(predecessor[starts]), starts, ends, strict=True):
        yield parent, children[begin:end]


def bfs_layers(G: GravelGraph, sources: Any) -> Iterator[list[Any]]:
    """Yield the nodes at distance 0, 1, 2, ... from the sources, one list for each."""
    first = list({sources} if sources in G else set(sources))
    for node in first:
        if node not in G:
            raise networkx.NetworkXError(f"The node {node} is not in the graph.")
    if not first:
        return
    found = search(*G.forward, [G.vertices[node] for node in first])
    yield first
    for begin, end in _levels(found)[1:]:
        yield G.take(found.order[begin:end])


def bfs_labeled_edges(G: GravelGraph, sources: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield the edges that the search follows, with "tree", "forward", "level" or "reverse" for each."""
    from gravel.kernels.ordered.labelled_arcs import labelled_arcs

    nodes: Iterable[Any] = [sources] if sources in G else dict.fromkeys(sources)
    vertices = [G.vertices[node] for node in nodes]
    tails, heads, labels = labelled_arcs(*G.forward, vertices, symmetric=not G.directed)
    words = map(LABELS.__getitem__, labels.tolist())
    yield from zip(G.take(tails), G.take(heads), words, strict=True)


def descendants_at_distance(G: GravelGraph, source: Any, distance: Any) -> set[Any]:
    """Return the nodes at one distance from the source."""
    vertex = G.find(source)
    if vertex is None:
        raise networkx.NetworkXError(f"The node {source} is not in the graph.")
    if everything_on_gpu():
        return set(G.take(numpy.flatnonzero(distances(G, vertex) == distance))) if distance >= 0 else set()
    found = search(*G.forward, [vertex], last_level(G, distance))
    levels = dict(enumerate(_levels(found)))
    if distance not in levels:
        return set()
    begin, end = levels[distance]
    return set(G.take(found.order[begin:end]))


def descendants(G: GravelGraph, source: Any) -> set[Any]:
    """Return the nodes that can be reached from the source, without itself."""
    return _reached(G, source)


def ancestors(G: GravelGraph, source: Any) -> set[Any]:
    """Return the nodes from which the source can be reached, without itself."""
    return _reached(G, source, reverse=True)


def _reached(G: GravelGraph, source: Any, reverse: bool = False) -> set[Any]:
    """Return the nodes that a search reaches beyond its source."""
    if everything_on_gpu():
        vertex = vertex_for_search(G, source)
        return set(G.take(numpy.flatnonzero(distances(G, vertex, backward=reverse) > 0)))
    return set(G.take(_found(G, source, reverse=reverse).order[1:]))


def _found(G: GravelGraph, source: Any, limit: Any = None, reverse: bool = False) -> Found:
    vertex = vertex_for_search(G, source)
    return search(*(G.backward if reverse else G.forward), [vertex], last_level(G, limit))


def _tree(G: GravelGraph, found: Found) -> tuple[list[Any], list[Any]]:
    return G.take(found.predecessor[1:]), G.take(found.order[1:])


def _levels(found: Found) -> list[tuple[int, int]]:
    ends = found.level_offsets.tolist()
    return list(pairwise(ends))
