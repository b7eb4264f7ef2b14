"""A tree of predecessors checked against the list of edges that the graph was made of.

These are the rules of the Graph500 specification 2.0, section 8, by the numbers it gives them:

1. `tree`: the predecessors form a tree rooted at the source, without cycles.
2. Levels are counted along the tree, so the ends of its edges differ by one level by construction.
3. `edge_levels`: both ends of an edge of the list are in the tree and differ by at most one level, or
   neither is in it.
4. `component`: no edge of the list leads out of the tree, so that it spans a connected component.
5. `tree_edges`: a vertex and its predecessor are joined by an edge of the list.

The arrays are NumPy's or CuPy's; everything is computed where they lie. One pass over the list checks rules
3 to 5 and counts its edges within the component, multiple edges and self-loops included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.buffers import Buffer, Table, table
from gravel.kernels.verify.result import NAMED, Check

EDGES_AT_ONCE = {"cpu": 1 << 20, "cuda": 1 << 25}
"""Edges of the list looked up at a time: on the CPU they stay in cache, on a GPU they take about 1 GB."""

RULES = {
    "ranges": "predecessors are -1 or vertices of the graph",
    "source": "the source has no predecessor",
    "tree": "predecessors form a tree rooted at the source",
    "edge_levels": "the ends of an edge of the input list differ by at most one level",
    "component": "no edge of the input list leads from a reached vertex to an unreached one",
    "tree_edges": "every tree edge is in the input list",
}

BY_CONSTRUCTION = {
    "check": "tree_levels",
    "reason": "levels are counted along the tree, so its edges join neighbouring levels by construction",
}
"""Rule 2, as a verification tells what it did not check."""


def levels_of_tree(vertices: int, place: str) -> Buffer:
    """Steps from the root, -1 outside of the tree."""
    return Buffer("levels", "i4", vertices, -1, place)


def checking(vertices: int, edges: int, place: str) -> Table:
    """State what `check_with_list` takes at most beside predecessors, by the side where they lie.

    Levels of both ends of edges, their difference and its size, and what is found of them; predecessors in a
    row, levels, those of predecessors, and marks.
    """
    at_once = min(edges, EDGES_AT_ONCE["cpu" if place == "host" else "cuda"])
    ends = table(place, ends=("i4", (2, at_once)), difference=("i4", (2, at_once)), found=("u4", at_once))
    rows = table(place, predecessor=("i8" if place == "device" else "i4", vertices), marks=("u4", vertices))
    return *ends, *rows, levels_of_tree(vertices, place), *table(place, above=("i4", vertices))


@dataclass(frozen=True)
class ListCheck:
    """The verdict on each rule; `levels` (-1 outside) and `edges`, the list's edges in the component.

    Both are None where predecessors are out of range.
    """

    checks: list[Check]
    levels: Any
    edges: int | None


def check_with_list(source: Any, target: Any, root: int, predecessor: Any) -> ListCheck:
    """Check one tree.

    Parameters
    ----------
    source, target : the ends of the edges, uint32 or uint64 (edges,), as they were given to be searched.
    root : where the search began.
    predecessor : int32 or int64 (vertices,), -1 for the root and outside of the tree.

    """
    predecessor = _module(predecessor).ascontiguousarray(predecessor)
    strange = (predecessor < -1) | (predecessor >= len(predecessor))
    faults = int(strange.sum())
    if faults:
        return ListCheck([_vertices("ranges", strange, faults)], None, None)
    levels = levels_along(predecessor, root)
    rootless = int(int(predecessor[root]) != -1)
    lost = (predecessor >= 0) & (levels < 0)
    checks = [
        Check("ranges", RULES["ranges"]),
        Check("source", RULES["source"], rootless, (root,) * rootless),
        _vertices("tree", lost, int(lost.sum())),
    ]
    more, edges = _over_list(source, target, predecessor, levels)
    return ListCheck([*checks, *more], levels, edges)


def levels_along(predecessor: Any, root: int) -> Any:
    """Count the steps from the root along the tree: int32, -1 for what it does not reach.

    Each level takes a pass over all vertices, which suits graphs of few levels.
    """
    arrays = _module(predecessor)
    levels = levels_of_tree(len(predecessor), backend_of(predecessor)).make(arrays)
    levels[root] = 0
    inside = predecessor >= 0
    depth = 0
    while True:
        found = inside & (levels < 0) & (levels[predecessor] == depth)
        if not bool(found.any()):
            return levels
        depth += 1
        levels[found] = depth


def _over_list(source: Any, target: Any, predecessor: Any, levels: Any) -> tuple[list[Check], int]:
    arrays = _module(source)
    joined = predecessor < 0
    edges: Any = 0
    faults: dict[str, Any] = {"edge_levels": 0, "component": 0}
    for one, other in _parts(source, target):
        joined[other[arrays.flatnonzero(predecessor[other] == one)]] = True
        joined[one[arrays.flatnonzero(predecessor[one] == other)]] = True
        edges = edges + (levels[one] >= 0).sum()
        for rule, broken in _broken(arrays, levels[one], levels[other]).items():
            faults[rule] = faults[rule] + broken.sum()
    checks = []
    for rule, count in faults.items():
        pairs = _first(rule, source, target, levels) if int(count) else ()
        vertices = tuple(sorted({vertex for pair in pairs for vertex in pair}))[:NAMED]
        checks.append(Check(rule, RULES[rule], int(count), vertices, pairs))
    apart = ~joined
    return [*checks, _vertices("tree_edges", apart, int(apart.sum()))], int(edges)


def _broken(arrays: Any, one: Any, other: Any) -> dict[str, Any]:
    """Tell which edges break a rule, by the levels of their ends."""
    both = (one >= 0) & (other >= 0)
    return {"edge_levels": both & (arrays.abs(one - other) > 1), "component": (one >= 0) != (other >= 0)}


def _first(rule: str, source: Any, target: Any, levels: Any) -> tuple[tuple[int, int], ...]:
    """Name the first edges of the list that break a rule."""
    arrays = _module(source)
    found: list[tuple[int, int]] = []
    for one, other in _parts(source, target):
        places = arrays.flatnonzero(_broken(arrays, levels[one], levels[other])[rule])[:NAMED]
        found += [(int(one[place]), int(other[place])) for place in places]
        if len(found) >= NAMED:
            break
    return tuple(found[:NAMED])


def _parts(source: Any, target: Any) -> Any:
    step = EDGES_AT_ONCE[backend_of(source)]
    for low in range(0, len(source), step):
        yield source[low : low + step], target[low : low + step]


def _vertices(name: str, broken: Any, faults: int) -> Check:
    named = _module(broken).flatnonzero(broken)[:NAMED] if faults else ()
    return Check(name, RULES[name], faults, tuple(int(vertex) for vertex in named))


def _module(array: Any) -> Any:
    if backend_of(array) == "cuda":
        import cupy

        return cupy
    import numpy

    return numpy
