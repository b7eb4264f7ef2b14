"""What is checked of a result, in words, by the name of the check."""

from __future__ import annotations

# In the order of kernels/verify/cuda/rules.cuh.
BFS = {
    "ranges": "distances and predecessors are -1 or within the graph and max_depth",
    "source": "the source alone has distance 0, and no predecessor",
    "tree": "predecessors form a tree rooted at the source",
    "tree_levels": "a vertex is one level below its predecessor",
    "edge_levels": "the ends of an arc differ by at most one level",
    "component": "no arc leads from a reached vertex to an unreached one",
    "tree_arcs": "every tree edge is an arc of the graph",
    "nearer_neighbour": "every reached vertex has a neighbour one level nearer",
}

COMPONENTS = {
    "ranges": "labels are vertices of the graph",
    "edges_agree": "both ends of every arc have the same label",
    "smallest": "a label is no larger than its vertex and is the label of itself",
    "connected": "a vertex is connected with its label and with no smaller vertex",
    "not_merged": "a vertex is connected with its label",
}

PAGERANK = {
    "ranges": "ranks are finite and not negative",
    "sum": "ranks add up to 1",
    "residual": "one more step changes all ranks together by less than the tolerance times the vertices",
}


def skipped_checks(*, distance: bool, predecessor: bool) -> list[dict[str, str]]:
    """Say which of the five checks a result of distances or predecessors alone does not get, and why."""
    if not predecessor:
        reason = "the result has no predecessors"
        return [{"check": name, "reason": reason} for name in ("tree", "tree_levels", "tree_arcs")]
    if not distance:
        reason = "levels are counted along the tree, so its edges join neighbouring levels by construction"
        return [{"check": "tree_levels", "reason": reason}]
    return []
