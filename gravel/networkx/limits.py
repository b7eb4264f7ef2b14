"""The calls that the backend takes: `can_run` by the arguments, `should_run` by the size of the graph."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import networkx

from gravel.networkx import link_analysis
from gravel.networkx.graph import GravelGraph
from gravel.networkx.info import FUNCTIONS, MODULE_OF
from gravel.networkx.weights import reason_against

WEIGHTED = {
    **dict.fromkeys((*FUNCTIONS["weighted_paths"], "shortest_path", "shortest_path_length"), "weight"),
    **dict.fromkeys(("betweenness_centrality", "edge_betweenness_centrality", "pagerank"), "weight"),
    "closeness_centrality": "distance",
}
"""Functions that take the name of an edge attribute as weight, and the parameter that has it."""

REFUSED = {
    "weight": "edge weights are not supported here",
    "distance": "edge weights are not supported here",
    "sort_neighbors": "a Python function would have to order the neighbours of every node",
    "neighbors": "a Python function would have to return the neighbours of every node",
    "sp": "with given distances there is nothing to search",
    "e": "with given eccentricities there is nothing to search",
}
"""Parameters that must be None, and why; `distance` where it names an edge attribute."""

LOCAL = frozenset(
    {
        "all_shortest_paths",
        "descendants_at_distance",
        "node_connected_component",
        "predecessor",
    }
)
"""Functions that may need a small part of the graph, which the conversion reads whole."""

ALL_PAIRS = frozenset(
    {
        "all_pairs_all_shortest_paths",
        "all_pairs_dijkstra",
        "all_pairs_dijkstra_path",
        "all_pairs_dijkstra_path_length",
        "all_pairs_shortest_path",
        "all_pairs_shortest_path_length",
        "average_shortest_path_length",
        "betweenness_centrality",
        "center",
        "closeness_centrality",
        "diameter",
        "edge_betweenness_centrality",
        "eccentricity",
        "harmonic_centrality",
        "periphery",
        "radius",
    }
)
"""Functions that search from every node, so that a conversion pays on small graphs."""

PAIRS = frozenset(
    {
        "bidirectional_dijkstra",
        "bidirectional_shortest_path",
        "dijkstra_path",
        "dijkstra_path_length",
        "has_path",
    }
)
"""Functions that find one path."""

CROSSOVER = {"all_pairs": 30, "converted": 200, "search": 1000, "pair": 2000}
"""Nodes from which on a call goes to gravel: a search from every node, one on a graph that is converted, one
that has to convert it, and a path between two nodes of one that is converted.

From `python -m tests.benchmarks.networkx --part crossover` on 2 cores of an Intel Xeon, with 4 edges per
node: gravel is as fast as NetworkX from 20, 60 to 200, and 2,000 nodes. A search that converts takes 0.6 to
1.5 times as long as NetworkX at 1,000 nodes, and the next one a third or less.
"""


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Say whether gravel's function takes these arguments, or why it does not."""
    given = _bound(name, args, kwargs)
    for parameter, reason in REFUSED.items():
        is_other = (parameter == "distance" and name == "descendants_at_distance") or (
            parameter == WEIGHTED.get(name)
        )
        if given.get(parameter) is not None and not is_other:
            return f"{parameter} is given, and {reason}"
    if name == "average_shortest_path_length" and given.get("method") not in (None, "unweighted"):
        return "its method is not a breadth-first search"
    graph: Any = given.get("G")
    if name == "edge_betweenness_centrality" and graph.is_multigraph():
        return "parallel edges share the paths between their ends"
    if name == "pagerank":
        against = link_analysis.reason_against(given)
        if against is not None:
            return against
    weight = _weight(name, given)
    if weight is None and MODULE_OF[name] == "weighted_paths":
        return "weight is None, so that edges have no weights"
    if weight is not None and (callable(weight) or given.get("method") == "bellman-ford"):
        return "weights are supported as edge attributes and in Dijkstra's algorithm"
    if isinstance(graph, GravelGraph):
        known = weight is None or weight in graph.weights
        return known or f"the graph was converted without the weights {weight!r}"
    kind: Any = type(graph)
    if not _is_plain(kind):
        return f"{kind.__name__} finds neighbours by methods of its own"
    if hasattr(graph, "_graph"):
        # NetworkX clears the cache of a graph that changes, but not those of its views.
        graph.__networkx_cache__.get("backends", {}).pop("gravel", None)
    if weight is None or _is_converted(graph, weight):
        return True
    return reason_against(graph, weight) or True


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Say whether gravel is likely to be faster than NetworkX, or why it is not."""
    given = _bound(name, args, kwargs)
    graph: Any = given.get("G")
    nodes = len(graph)
    converted = _is_converted(graph, _weight(name, given))
    if name in ALL_PAIRS:
        least = CROSSOVER["all_pairs"]
    elif converted:
        least = CROSSOVER["pair" if _is_pair(name, given) else "converted"]
    elif _is_local(name, given):
        return "it may need few nodes, and the graph is not converted yet"
    else:
        least = CROSSOVER["search"]
    return nodes >= least or f"the graph has {nodes} nodes; gravel is faster from about {least}"


def _weight(name: str, given: Mapping[str, Any]) -> Any:
    """Return the weight of a call, None for none."""
    default = "weight" if MODULE_OF[name] in ("weighted_paths", "link_analysis") else None
    return given.get(WEIGHTED[name], default) if name in WEIGHTED else None


def _is_converted(graph: Any, weight: Any) -> bool:
    """Say whether NetworkX keeps a conversion of the graph, with the weight if there is one."""
    kept = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("gravel", {})
    graphs = [each for each in kept.values() if isinstance(each, GravelGraph)]
    return any(weight is None or weight in each.weights for each in graphs)


def _is_pair(name: str, given: Mapping[str, Any]) -> bool:
    if name in ("shortest_path", "shortest_path_length"):
        return given.get("source") is not None and given.get("target") is not None
    if name in ("single_source_dijkstra", "multi_source_dijkstra"):
        return given.get("target") is not None
    return name in PAIRS


def _is_local(name: str, given: Mapping[str, Any]) -> bool:
    limits = (given.get("depth_limit"), given.get("cutoff"))
    return name in LOCAL or _is_pair(name, given) or any(limit is not None for limit in limits)


def _bound(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments by name; those that the function does not know are left to it."""
    return {**dict(zip(_parameters(name), args, strict=False)), **kwargs}


@cache
def _parameters(name: str) -> tuple[str, ...]:
    module = importlib.import_module(f"gravel.networkx.{MODULE_OF[name]}")
    return tuple(inspect.signature(getattr(module, name)).parameters)


@cache
def _is_plain(kind: Any) -> bool:
    """Say whether a class is a graph of NetworkX that has not changed how neighbours are found."""
    names = ("__getitem__", "__iter__", "adj", "neighbors", "is_directed", "is_multigraph")
    base = networkx.DiGraph if issubclass(kind, networkx.DiGraph) else networkx.Graph
    multi = networkx.MultiDiGraph if issubclass(kind, networkx.DiGraph) else networkx.MultiGraph
    return issubclass(kind, networkx.Graph) and any(
        all(getattr(kind, name) is getattr(like, name) for name in names) for like in (base, multi)
    )
