"""All shortest paths without weights, and the predecessors on them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import Any

import networkx

from gravel.kernels.ordered.bfs import Found, search
from gravel.kernels.ordered.predecessors import predecessors
from gravel.networkx.graph import GravelGraph
from gravel.networkx.lookup import last_level, vertex_for_paths


def predecessor(
    G: GravelGraph, source: Any, target: Any = None, cutoff: Any = None, return_seen: Any = None
) -> Any:
    """Return the predecessors of each reached node on shortest paths from the source.

    With a target only those of the target; with `return_seen` the distances as well.
    """
    vertex = vertex_for_paths(G, source, f"Source {source} not in G")
    # NetworkX expands the first level before it reads the limit, and takes 0 for none.
    found = search(*G.forward, [vertex], max(1, last_level(G, cutoff)) if cutoff else None)
    nodes, lists = G.take(found.order), _lists(G, found)
    ends = found.level_offsets.tolist()
    levels: list[int] = []
    for level, (begin, end) in enumerate(pairwise(ends)):
        levels.extend(repeat(level, end - begin))
    before = dict(zip(nodes, lists, strict=True))
    seen = dict(zip(nodes, levels, strict=True))
    if target is None:
        return (before, seen) if return_seen else before
    of_target = before.get(target, [])
    return (of_target, seen.get(target, -1)) if return_seen else of_target


def all_shortest_paths(
    G: GravelGraph, source: Any, target: Any, weight: None = None, method: str = "dijkstra"
) -> Iterator[list[Any]]:
    """Return an iterator over all shortest paths from the source to the target."""
    return _paths_to(source, target, predecessor(G, source))


def single_source_all_shortest_paths(
    G: GravelGraph, source: Any, weight: None = None, method: str = "dijkstra"
) -> Iterator[tuple[Any, list[list[Any]]]]:
    """Yield each node that the source reaches with all shortest paths to it."""
    before = predecessor(G, source)
    for node in before:
        yield node, list(_paths_to(source, node, before))


def all_pairs_all_shortest_paths(
    G: GravelGraph, weight: None = None, method: str = "dijkstra"
) -> Iterator[tuple[Any, dict[Any, list[list[Any]]]]]:
    """Yield each node with all shortest paths from it."""
    for node in G:
        yield node, dict(single_source_all_shortest_paths(G, node))


def _lists(G: GravelGraph, found: Found) -> list[list[Any]]:
    offsets, vertices = predecessors(*G.forward, found)
    nodes, ends = G.take(vertices), offsets.tolist()
    return [nodes[begin:end] for begin, end in pairwise(ends)]


def _paths_to(source: Any, target: Any, before: dict[Any, list[Any]]) -> Iterator[list[Any]]:
    """Go back from the target, through the predecessors in their order; levels fall, so no node repeats."""
    if target not in before:
        raise networkx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    path = [target]
    choices = [iter(before[target])]
    if not before[target]:
        yield path[::-1]
    while choices:
        node = next(choices[-1], None)
        if node is None:
            choices.pop()
            path.pop()
            continue
        path.append(node)
        choices.append(iter(before[node]))
        if not before[node]:
            yield path[::-1]
