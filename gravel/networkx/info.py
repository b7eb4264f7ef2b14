"""The table of functions that NetworkX reads at its import; it imports nothing else of gravel."""

from __future__ import annotations

import os
from typing import Any

FUNCTIONS = {
    "bfs": (
        "ancestors",
        "bfs_edges",
        "bfs_labeled_edges",
        "bfs_layers",
        "bfs_predecessors",
        "bfs_successors",
        "bfs_tree",
        "descendants",
        "descendants_at_distance",
        "generic_bfs_edges",
    ),
    "paths": (
        "all_pairs_shortest_path",
        "all_pairs_shortest_path_length",
        "bidirectional_shortest_path",
        "has_path",
        "shortest_path",
        "shortest_path_length",
        "single_source_shortest_path",
        "single_source_shortest_path_length",
        "single_target_shortest_path",
        "single_target_shortest_path_length",
    ),
    "weighted_paths": (
        "all_pairs_dijkstra",
        "all_pairs_dijkstra_path",
        "all_pairs_dijkstra_path_length",
        "bidirectional_dijkstra",
        "dijkstra_path",
        "dijkstra_path_length",
        "multi_source_dijkstra",
        "multi_source_dijkstra_path",
        "multi_source_dijkstra_path_length",
        "single_source_dijkstra",
        "single_source_dijkstra_path",
        "single_source_dijkstra_path_length",
    ),
    "all_paths": (
        "all_pairs_all_shortest_paths",
        "all_shortest_paths",
        "predecessor",
        "single_source_all_shortest_paths",
    ),
    "components": (
        "connected_components",
        "is_connected",
        "is_strongly_connected",
        "is_weakly_connected",
        "node_connected_component",
        "number_connected_components",
        "number_strongly_connected_components",
        "number_weakly_connected_components",
        "strongly_connected_components",
        "weakly_connected_components",
    ),
    "distance_measures": (
        "average_shortest_path_length",
        "center",
        "diameter",
        "eccentricity",
        "periphery",
        "radius",
    ),
    "centrality": (
        "betweenness_centrality",
        "closeness_centrality",
        "core_number",
        "edge_betweenness_centrality",
        "harmonic_centrality",
    ),
    "link_analysis": ("pagerank",),
}
"""The functions of each module of `gravel.networkx`, named as NetworkX does."""

MODULE_OF = {name: module for module, names in FUNCTIONS.items() for name in names}

WEIGHTS = "with `weight` the name of an edge attribute whose numbers are not negative"

NOTES = {
    **dict.fromkeys(FUNCTIONS["weighted_paths"], f"{WEIGHTS[0].upper()}{WEIGHTS[1:]}."),
    **dict.fromkeys(
        ("shortest_path", "shortest_path_length"),
        f"Without `weight`, or {WEIGHTS}; not with Bellman-Ford then.",
    ),
    **dict.fromkeys(
        ("bfs_edges", "bfs_tree", "bfs_predecessors", "bfs_successors"),
        "Without `sort_neighbors`. The whole search is done before the first result.",
    ),
    "generic_bfs_edges": "Without `neighbors`. The whole search is done before the first result.",
    **dict.fromkeys(
        (
            "all_shortest_paths",
            "single_source_all_shortest_paths",
            "all_pairs_all_shortest_paths",
        ),
        "Without `weight`.",
    ),
    "average_shortest_path_length": "Without `weight`, and with `method` None or 'unweighted'.",
    "eccentricity": "Without `weight` and `sp`.",
    **dict.fromkeys(("center", "diameter", "periphery", "radius"), "Without `weight` and `e`."),
    "betweenness_centrality": f"Without `weight`, or {WEIGHTS}. By weights on the CPU.",
    "closeness_centrality": f"Without `distance`, or {WEIGHTS.replace('weight', 'distance')}. By weights on "
    "the CPU.",
    "harmonic_centrality": "Without `distance`.",
    "edge_betweenness_centrality": f"Without `weight`, or {WEIGHTS}, and for graphs without parallel edges. "
    "By weights on the CPU.",
    "pagerank": f"For graphs that are no multigraphs. {WEIGHTS[0].upper()}{WEIGHTS[1:]}, or None.",
}
"""Calls that a function does not take, and that NetworkX runs itself."""


DEVICES = ("auto", "cpu", "cuda")
"""Values of `nx.config.backends.gravel.device`."""


def get_info() -> dict[str, Any]:
    """Return the table for the entry point `networkx.backend_info`."""
    return {
        "backend_name": "gravel",
        "project": "gravel",
        "package": "gravel",
        "short_summary": "Compiled, parallel traversal of large graphs.",
        "default_config": {"device": os.environ.get("GRAVEL_NETWORKX_DEVICE", DEVICES[0])},
        "functions": {name: {"additional_docs": NOTES[name]} if name in NOTES else {} for name in MODULE_OF},
    }
