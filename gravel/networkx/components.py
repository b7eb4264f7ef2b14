"""Components, with the orders and exceptions of `networkx.algorithms.components`.

NetworkX refuses a directed or an undirected graph before it calls a backend. So the functions for weak
components serve undirected graphs as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx
import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import on_host
from gravel.networkx.device import distances, everything_on_gpu, rows_on_gpu, strong_component_count
from gravel.networkx.graph import GravelGraph


def weakly_connected_components(G: GravelGraph) -> Iterator[set[Any]]:
    """Yield the nodes of each component without regard to directions, in the order of their first nodes."""
    label = _labels(G)
    members = numpy.argsort(label, kind="stable")
    ascending = label[members]
    starts = numpy.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    bounds = numpy.concatenate([[0], starts, [len(members)]]) if len(members) else numpy.zeros(1, int)
    yield from _sets(G, members, bounds)


def number_weakly_connected_components(G: GravelGraph) -> int:
    """Count the components without regard to directions."""
    return int(numpy.count_nonzero(_labels(G) == numpy.arange(len(G))))


def is_weakly_connected(G: GravelGraph) -> bool:
    """Say whether there is a path between any two nodes without regard to directions.

    Raises NetworkXPointlessConcept without nodes.
    """
    _check_nodes(G)
    return not bool(_labels(G).any())


connected_components = weakly_connected_components
number_connected_components = number_weakly_connected_components
is_connected = is_weakly_connected


def node_connected_component(G: GravelGraph, n: Any) -> set[Any]:
    """Return the nodes of one node's component."""
    label = _labels(G)
    return set(G.take(numpy.flatnonzero(label == label[G.vertices[n]])))


def strongly_connected_components(G: GravelGraph) -> Iterator[set[Any]]:
    """Yield the nodes of each strongly connected component, in the order of NetworkX."""
    offsets, members = _strong(G)
    return _sets(G, members, offsets)


def number_strongly_connected_components(G: GravelGraph) -> int:
    """Count the strongly connected components."""
    if everything_on_gpu():
        return strong_component_count(G)
    return len(_strong(G)[0]) - 1


def is_strongly_connected(G: GravelGraph) -> bool:
    """Say whether every node reaches every other; raises NetworkXPointlessConcept without nodes."""
    from gravel.kernels.ordered.bfs import search

    _check_nodes(G)
    if everything_on_gpu():
        return all(bool((distances(G, 0, backward=backward) >= 0).all()) for backward in (False, True))
    return all(len(search(*rows, [0]).order) == len(G) for rows in (G.forward, G.backward))


def _strong(G: GravelGraph) -> Any:
    from gravel.kernels.ordered.strong_components import strong_components

    return strong_components(*G.forward)


def _labels(G: GravelGraph) -> NDArray[Any]:
    """Return for each vertex the smallest vertex of its component, without regard to directions."""
    from gravel.kernels.components import components

    def found() -> Any:
        rows = rows_on_gpu(G) if everything_on_gpu() else G.ascending
        return on_host(components(*rows, symmetric=not G.directed).component)

    labels: NDArray[Any] = G.once("component", found)
    return labels


def _sets(G: GravelGraph, members: Any, bounds: Any) -> Iterator[set[Any]]:
    nodes = G.take(members)
    for begin, end in pairwise(bounds.tolist()):
        yield set(nodes[begin:end])


def _check_nodes(G: GravelGraph) -> None:
    if not len(G):
        raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
