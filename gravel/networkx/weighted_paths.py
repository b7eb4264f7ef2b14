"""Shortest paths by weights, with the orders and exceptions of `networkx.algorithms.shortest_paths.weighted`.

`weight` is the name of an edge attribute that the graph was converted with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx
import numpy
from numpy.typing import NDArray

from gravel.kernels.ordered.dijkstra import Nearest, dijkstra
from gravel.networkx.device import everything_on_gpu, lengths
from gravel.networkx.graph import GravelGraph
from gravel.networkx.lookup import vertex_for_paths


def dijkstra_path(G: GravelGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return a shortest path from the source to the target."""
    return single_source_dijkstra(G, source, target, weight=weight)[1]


def dijkstra_path_length(G: GravelGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the length of a shortest path from the source to the target."""
    vertex = vertex_for_paths(G, source, f"Node {source} not found in graph")
    if source == target:
        return 0
    hash(target)
    found = _lengths_on_gpu(G, vertex, weight)
    if found is None:
        found = _lengths(G, _search(G, [vertex], weight, target))
    if target not in found:
        raise networkx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found[target]


def single_source_dijkstra(
    G: GravelGraph, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return the lengths of shortest paths from the source, and the paths; of the target alone if given."""
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def single_source_dijkstra_path(
    G: GravelGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    """Return a shortest path from the source to each node that it reaches."""
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


def single_source_dijkstra_path_length(
    G: GravelGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return the length of a shortest path from the source to each node that it reaches."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def multi_source_dijkstra(
    G: GravelGraph, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return the lengths of shortest paths from the nearest source, and the paths."""
    starts = _starts(G, sources)
    if target in sources:
        return 0, [target]
    found = _search(G, starts, weight, target, cutoff)
    distance, paths = _lengths(G, found), _paths(G, found)
    if target is None:
        return distance, paths
    if target not in distance:
        raise networkx.NetworkXNoPath(f"No path to {target}.")
    return distance[target], paths[target]


def multi_source_dijkstra_path(
    G: GravelGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    """Return a shortest path from the nearest source to each node that they reach."""
    return _paths(G, _search(G, _starts(G, sources), weight, None, cutoff))


def multi_source_dijkstra_path_length(
    G: GravelGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return the distance from the nearest source of each node that they reach."""
    starts = _starts(G, sources)
    found = _lengths_on_gpu(G, starts[0], weight) if cutoff is None and len(starts) == 1 else None
    return _lengths(G, _search(G, starts, weight, None, cutoff)) if found is None else found


def all_pairs_dijkstra(
    G: GravelGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[Any, Any]]]:
    """Yield each node with the lengths of shortest paths from it and the paths."""
    for node in G:
        yield node, single_source_dijkstra(G, node, None, cutoff, weight)


def all_pairs_dijkstra_path(
    G: GravelGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Yield each node with the shortest paths from it."""
    for node in G:
        yield node, single_source_dijkstra_path(G, node, cutoff, weight)


def all_pairs_dijkstra_path_length(
    G: GravelGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Yield each node with the lengths of shortest paths from it."""
    for node in G:
        yield node, single_source_dijkstra_path_length(G, node, cutoff, weight)


def bidirectional_dijkstra(
    G: GravelGraph, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    """Return the length of a shortest path from the source to the target, and the path."""
    from gravel.kernels.ordered.bidirectional_dijkstra import weighted_path

    first = vertex_for_paths(G, source, f"Source {source} is not in G")
    last = vertex_for_paths(G, target, f"Target {target} is not in G")
    if source == target:
        return 0, [source]
    weights = G.weights[weight]
    found = weighted_path((*G.forward, weights.forward), (*G.backward, weights.backward), first, last)
    if found is None:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found[0].item(), G.take(found[1])


def paths_to(G: GravelGraph, target: Any, weight: Any) -> dict[Any, list[Any]]:
    """Return a shortest path to the target from each node that reaches it."""
    found = _search(G, _starts(G, {target}), weight, reverse=True)
    return {node: path[::-1] for node, path in _paths(G, found).items()}


def lengths_to(G: GravelGraph, target: Any, weight: Any) -> dict[Any, Any]:
    """Return the length of a shortest path to the target from each node that reaches it."""
    return _lengths(G, _search(G, _starts(G, {target}), weight, reverse=True))


class _Found(NamedTuple):
    nearest: Nearest
    sources: list[int]


def _starts(G: GravelGraph, sources: Any) -> list[int]:
    """Return the vertices of the sources; raises as `multi_source_dijkstra` does."""
    if not sources:
        raise ValueError("sources must not be empty")
    return [vertex_for_paths(G, node, f"Node {node} not found in graph") for node in sources]


def _search(
    G: GravelGraph,
    sources: list[int],
    weight: Any,
    target: Any = None,
    cutoff: Any = None,
    *,
    reverse: bool = False,
) -> _Found:
    vertex = None if target is None else G.find(target)
    weights = G.weights[weight].backward if reverse else G.weights[weight].forward
    rows = G.backward if reverse else G.forward
    limit = _limit(weights, cutoff)
    end = -1 if vertex is None else vertex
    nearest = dijkstra(*rows, weights, sources, target=end, cutoff=limit)
    return _Found(nearest, list(dict.fromkeys(sources)))


def _limit(weights: NDArray[Any], cutoff: Any) -> Any:
    """Return a cutoff as the type of the weights has it; None for none, and for NaN as NetworkX does."""
    if cutoff is None or not cutoff < math.inf:
        return None
    if weights.dtype == numpy.float64:
        return cutoff
    return math.floor(min(max(cutoff, -1), 1 << 62))


def _lengths(G: GravelGraph, found: _Found) -> dict[Any, Any]:
    count = len(found.sources)
    # NetworkX starts with the integer 0 whatever the weights are.
    distance = [0] * count + found.nearest.distance[count:].tolist()
    return dict(zip(G.take(found.nearest.order), distance, strict=False))


def _lengths_on_gpu(G: GravelGraph, source: int, weight: Any) -> dict[Any, Any] | None:
    """Return lengths by ascending length, if a GPU is asked for and takes the weights."""
    distance = lengths(G, source, weight) if everything_on_gpu() else None
    if distance is None:
        return None
    distance[source] = -1  # so that it is the first of those at distance 0
    reached = numpy.flatnonzero((distance >= 0) & (distance < numpy.inf))
    order = reached[numpy.argsort(distance[reached], kind="stable")]
    found = {G.nodes[source]: 0}
    found.update(zip(G.take(order), distance[order].tolist(), strict=True))
    return found


def _paths(G: GravelGraph, found: _Found) -> dict[Any, list[Any]]:
    count, nearest = len(found.sources), found.nearest
    paths = {node: [node] for node in map(G.nodes.__getitem__, found.sources)}
    befores = G.take(nearest.predecessor[count:])
    for node, before in zip(G.take(nearest.order[count:]), befores, strict=True):
        paths[node] = [*paths[before], node]
    return paths
