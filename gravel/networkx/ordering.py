"""Cuthill-McKee orders. NetworkX has these functions but dispatches none of them, so call them from here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx
import numpy

from gravel.networkx.graph import GravelGraph


def reverse_cuthill_mckee_ordering(G: Any, heuristic: Any = None) -> Iterator[Any]:
    """Iterate over the nodes of an undirected graph in an order with small bandwidth.

    Parameters
    ----------
    G : a graph of NetworkX, or what `gravel.networkx.backend` made of one.
    heuristic : a function from a graph to the node to start at; with one, NetworkX computes the order.

    Raises NetworkXNotImplemented for a directed graph.

    """
    if heuristic is not None:
        ordering: Iterator[Any] = networkx.utils.reverse_cuthill_mckee_ordering(_plain(G), heuristic)
        return ordering
    return iter(_ordered(G, True))


def cuthill_mckee_ordering(G: Any, heuristic: Any = None) -> Iterator[Any]:
    """Iterate over the nodes in the opposite order of `reverse_cuthill_mckee_ordering`."""
    if heuristic is not None:
        ordering: Iterator[Any] = networkx.utils.cuthill_mckee_ordering(_plain(G), heuristic)
        return ordering
    return iter(_ordered(G, False))


def _plain(G: Any) -> Any:
    return G.to_networkx() if isinstance(G, GravelGraph) else G


def _ordered(G: Any, reverse: bool) -> list[Any]:
    from gravel.kernels.order.rcm import rcm

    if G.is_directed():
        raise networkx.NetworkXNotImplemented("not implemented for directed type")
    graph = G if isinstance(G, GravelGraph) else GravelGraph.from_networkx(G)
    place = rcm(*graph.ascending)
    vertices = numpy.empty_like(place)
    vertices[place] = numpy.arange(len(place), dtype=place.dtype)
    return graph.take(vertices if reverse else vertices[::-1])
