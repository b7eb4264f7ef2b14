"""Eccentricities and measures derived from them, with the exceptions of NetworkX."""

from __future__ import annotations

from typing import Any

import networkx
import numpy
from numpy.typing import NDArray

from gravel.conversion.networkx import Rows
from gravel.kernels.arrays import on_host
from gravel.kernels.distances.eccentricity import eccentricities
from gravel.kernels.distances.many import aggregate
from gravel.networkx.components import is_connected
from gravel.networkx.device import many_on_gpu, rows_on_gpu
from gravel.networkx.graph import GravelGraph
from gravel.networkx.lookup import FROM_3_7, nodes_in

NOT_STRONG = "Found infinite path length because the digraph is not strongly connected"
NOT_CONNECTED = "Found infinite path length because the graph is not connected"
NOT_BOUNDED = "Cannot compute metric because graph is not connected."


def eccentricity(G: GravelGraph, v: Any = None, sp: None = None, weight: None = None) -> Any:
    """Return the largest distance from one node, or from each of several or all of them as a dictionary."""
    _check_nodes(G)
    if v is None:
        return dict(zip(G, _all(G).tolist(), strict=True))
    if v in G:
        return int(_some(G, [G.vertices[v]])[0])
    vertices = [vertex for vertex in map(G.find, nodes_in(v)) if vertex is not None]
    vertices = list(dict.fromkeys(vertices))
    return {
        G.nodes[vertex]: value for vertex, value in zip(vertices, _some(G, vertices).tolist(), strict=True)
    }


def diameter(G: GravelGraph, e: None = None, usebounds: bool = False, weight: None = None) -> int:
    """Return the largest eccentricity."""
    return int(max(_for_goal(G, "diameter", usebounds).tolist()))


def radius(G: GravelGraph, e: None = None, usebounds: bool = False, weight: None = None) -> int:
    """Return the smallest eccentricity."""
    return int(min(_for_goal(G, "radius", usebounds).tolist()))


def periphery(G: GravelGraph, e: None = None, usebounds: bool = False, weight: None = None) -> list[Any]:
    """List the nodes with the largest eccentricity."""
    found = _for_goal(G, "periphery", usebounds)
    return G.take(numpy.flatnonzero(found == max(found.tolist())))


def center(G: GravelGraph, e: None = None, usebounds: bool = False, weight: None = None) -> list[Any]:
    """List the nodes with the smallest eccentricity."""
    if not len(G) and not G.directed and not usebounds:
        raise networkx.NetworkXPointlessConcept("G has no nodes.")
    found = _for_goal(G, "center", usebounds)
    return G.take(numpy.flatnonzero(found == min(found.tolist())))


def average_shortest_path_length(G: GravelGraph, weight: None = None, method: str | None = None) -> float:
    """Return the mean of the distances between all pairs of nodes."""
    n = len(G)
    if n == 0:
        raise networkx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if n == 1:
        return 0
    sums = None
    if G.directed or is_connected(G):
        with G.lock:
            sums = aggregate(*_rows(G, n), numpy.arange(n), symmetric=not G.directed)
    if sums is None or int(sums.reached.min()) < n:
        strongly = "strongly " if G.directed else ""
        raise networkx.NetworkXError(f"Graph is not {strongly}connected.")
    return int(sums.total.sum()) / (n * (n - 1))


def _check_nodes(G: GravelGraph) -> None:
    if FROM_3_7 and not len(G):
        raise networkx.NetworkXPointlessConcept("Cannot compute eccentricity of a null graph.")


def _some(G: GravelGraph, vertices: list[int]) -> NDArray[numpy.int64]:
    starts = numpy.array(vertices, numpy.int64)
    with G.lock:
        sums = aggregate(*_rows(G, len(vertices)), starts, symmetric=not G.directed)
    if len(vertices) and int(sums.reached.min()) < len(G):
        raise networkx.NetworkXError(NOT_STRONG if G.directed else NOT_CONNECTED)
    found: NDArray[numpy.int64] = sums.eccentricity
    return found


def _all(G: GravelGraph) -> NDArray[numpy.int64]:
    if not G.directed:
        return _for_goal(G, "all", False)
    if len(G):
        _some(G, [0])  # most graphs that are not strongly connected show it here
    return _some(G, list(range(len(G))))


def _for_goal(G: GravelGraph, goal: str, usebounds: bool) -> NDArray[numpy.int64]:
    """Return the eccentricities, exact where the goal needs them."""
    if G.directed or not usebounds:
        _check_nodes(G)
    if G.directed:
        return _all(G)
    with G.lock:
        found = eccentricities(*(rows_on_gpu(G) if many_on_gpu(G, len(G)) else G.ascending), goal)
    if found is None:
        raise networkx.NetworkXError(NOT_BOUNDED if usebounds else NOT_CONNECTED)
    values: NDArray[numpy.int64] = on_host(found)
    return values


def _rows(G: GravelGraph, searches: int) -> Rows:
    return rows_on_gpu(G) if many_on_gpu(G, searches) else G.forward
