"""Shortest paths, with the orders and exceptions of `networkx.algorithms.shortest_paths`.

Edges have length 1 unless a weight is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise, repeat
from typing import Any

import networkx

from gravel.conversion.networkx import Rows
from gravel.kernels.ordered.bfs import search
from gravel.networkx import weighted_paths
from gravel.networkx.device import distances, everything_on_gpu
from gravel.networkx.graph import GravelGraph
from gravel.networkx.lookup import last_level, vertex_for_paths

METHODS = ("dijkstra", "bellman-ford")


def single_source_shortest_path_length(G: GravelGraph, source: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return the distance from the source to each node that it reaches."""
    vertex = vertex_for_paths(G, source, f"Source {source} is not in G")
    return _lengths(G, G.forward, vertex, cutoff)


def single_target_shortest_path_length(G: GravelGraph, target: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return the distance to the target from each node that reaches it."""
    vertex = vertex_for_paths(G, target, f"Target {target} is not in G")
    return _lengths(G, G.backward, vertex, cutoff)


def all_pairs_shortest_path_length(
    G: GravelGraph, cutoff: Any = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Yield each node with the distances from it."""
    for vertex, node in enumerate(G):
        yield node, _lengths(G, G.forward, vertex, cutoff)


def single_source_shortest_path(G: GravelGraph, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a shortest path from the source to each node that it reaches."""
    vertex = vertex_for_paths(G, source, f"Source {source} not in G")
    return _paths(G, G.forward, vertex, cutoff)


def single_target_shortest_path(G: GravelGraph, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a shortest path to the target from each node that reaches it."""
    vertex = vertex_for_paths(G, target, f"Target {target} not in G")
    return _paths(G, G.backward, vertex, cutoff, towards=True)


def all_pairs_shortest_path(G: GravelGraph, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Yield each node with the shortest paths from it."""
    for vertex, node in enumerate(G):
        yield node, _paths(G, G.forward, vertex, cutoff)


def bidirectional_shortest_path(G: GravelGraph, source: Any, target: Any) -> list[Any]:
    """Return a shortest path from the source to the target."""
    from gravel.kernels.ordered.bidirectional import path

    first, last = _ends(G, source, target)
    found = path(G.forward, G.backward, first, last)
    if found is None:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.take(found)


def has_path(G: GravelGraph, source: Any, target: Any) -> bool:
    """Say whether there is a path from the source to the target."""
    try:
        _distance(G, source, target)
    except networkx.NetworkXNoPath:
        return False
    return True


def shortest_path(
    G: GravelGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Return one path, or paths from the source, to the target or between all nodes."""
    _check_method(method)
    if weight is not None:
        return _shortest_by_weight(G, source, target, weight)
    if source is None:
        if target is None:
            return all_pairs_shortest_path(G)
        vertex = vertex_for_paths(G, target, f"Source {target} not in G")
        return _paths(G, G.backward, vertex, None, towards=True)
    if target is None:
        return single_source_shortest_path(G, source)
    return bidirectional_shortest_path(G, source, target)


def shortest_path_length(
    G: GravelGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Return one distance, or distances from the source, to the target or between all nodes."""
    _check_method(method)
    if weight is not None:
        return _lengths_by_weight(G, source, target, weight)
    if source is None:
        if target is None:
            return all_pairs_shortest_path_length(G)
        vertex = vertex_for_paths(G, target, f"Source {target} is not in G")
        return _lengths(G, G.backward, vertex, None)
    if target is None:
        return single_source_shortest_path_length(G, source)
    return _distance(G, source, target)


def _distance(G: GravelGraph, source: Any, target: Any) -> int:
    """Return the distance between two nodes; raises as `bidirectional_shortest_path` does."""
    if not everything_on_gpu():
        return len(bidirectional_shortest_path(G, source, target)) - 1
    first, last = _ends(G, source, target)
    found = int(distances(G, first)[last])
    if found < 0:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found


def _ends(G: GravelGraph, source: Any, target: Any) -> tuple[int, int]:
    """Find the two nodes of a path; raises NodeNotFound."""
    first = vertex_for_paths(G, source, f"Source {source} is not in G")
    return first, vertex_for_paths(G, target, f"Target {target} is not in G")


def _shortest_by_weight(G: GravelGraph, source: Any, target: Any, weight: Any) -> Any:
    if source is None and target is None:
        return weighted_paths.all_pairs_dijkstra_path(G, weight=weight)
    if source is None:
        return weighted_paths.paths_to(G, target, weight)
    if target is None:
        return weighted_paths.single_source_dijkstra_path(G, source, weight=weight)
    return weighted_paths.bidirectional_dijkstra(G, source, target, weight)[1]


def _lengths_by_weight(G: GravelGraph, source: Any, target: Any, weight: Any) -> Any:
    if source is None and target is None:
        return weighted_paths.all_pairs_dijkstra_path_length(G, weight=weight)
    if source is None:
        return weighted_paths.lengths_to(G, target, weight)
    if target is None:
        return weighted_paths.single_source_dijkstra_path_length(G, source, weight=weight)
    return weighted_paths.dijkstra_path_length(G, source, target, weight)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method not supported: {method}")


def _lengths(G: GravelGraph, rows: Rows, vertex: int, cutoff: Any) -> dict[Any, int]:
    found = search(*rows, [vertex], last_level(G, cutoff))
    ends = found.level_offsets.tolist()
    counts = (end - begin for begin, end in pairwise(ends))
    levels = chain.from_iterable(repeat(level, count) for level, count in enumerate(counts))
    return dict(zip(G.take(found.order), levels, strict=True))


def _paths(
    G: GravelGraph, rows: Rows, vertex: int, cutoff: Any, *, towards: bool = False
) -> dict[Any, list[Any]]:
    """Return the paths from a vertex, or with `towards` the paths to it along reversed rows."""
    found = search(*rows, [vertex], last_level(G, cutoff))
    nodes = G.take(found.order)
    paths = {nodes[0]: [nodes[0]]}
    for node, before in zip(nodes[1:], G.take(found.predecessor[1:]), strict=True):
        paths[node] = [node, *paths[before]] if towards else [*paths[before], node]
    return paths
