"""Arguments of functions: the vertices of nodes, and the depth of a search."""

from __future__ import annotations

import math
import re
from typing import Any

import networkx

from gravel.networkx.graph import GravelGraph

FROM_3_7 = tuple(map(int, re.findall(r"\d+", networkx.__version__)[:2])) >= (3, 7)
"""Whether eccentricities of a graph without nodes are errors and `bfs_predecessors` is deprecated."""


def vertex_for_paths(graph: GravelGraph, node: Any, message: str) -> int:
    """Find a node as the shortest-path functions do, which raise NodeNotFound with their message."""
    vertex = graph.find(node)
    if vertex is None:
        raise networkx.NodeNotFound(message)
    return vertex


def vertex_for_search(graph: GravelGraph, node: Any) -> int:
    """Find a node as the breadth-first searches do: TypeError if it has no hash, else NetworkXError."""
    hash(node)
    vertex = graph.find(node)
    if vertex is None:
        kind = "digraph" if graph.directed else "graph"
        raise networkx.NetworkXError(f"The node {node} is not in the {kind}.")
    return vertex


def last_level(graph: GravelGraph, limit: Any) -> int:
    """Return the last level that a search reaches; NetworkX expands level d if d < limit."""
    if limit is None or limit > len(graph):
        return len(graph)
    return math.ceil(limit) if limit > 0 else 0


def nodes_in(nbunch: Any) -> Any:
    """Iterate over the nodes of an argument that is no node, as `Graph.nbunch_iter` does."""
    try:
        nodes = list(nbunch)
    except TypeError as error:
        raise networkx.NetworkXError(f"Node {nbunch} is not in the graph.") from error
    for node in nodes:
        try:
            hash(node)
        except TypeError as error:
            raise networkx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from error
    return nodes
