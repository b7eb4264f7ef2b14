"""The five checks of the Graph500 benchmark on a breadth-first search, and two on its numbers.

1. `tree`: predecessors form a tree rooted at the source, without cycles.
2. `tree_levels`: the ends of a tree edge differ by exactly one level.
3. `edge_levels`: the ends of every arc of the graph differ by at most one level. In a directed graph an
   arc's head lies at most one level below its tail.
4. `component`: the tree spans exactly what can be reached: no arc leads from a reached vertex to an
   unreached one (with check 1 and 5, nothing else is in the tree).
5. `tree_arcs`: every tree edge is an arc of the graph.

With `max_depth`, vertices at that distance are not expanded: their arcs may lead to unreached vertices, and
no distance is larger. A result of distances alone is checked for `nearer_neighbour` (every reached vertex
but the source has an in-neighbour one level nearer) in place of 1, 2 and 5; a result of predecessors alone
has its levels counted along the tree first.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.verify.arcs import COMPONENT, EDGE_LEVELS, NEARER, TREE_ARCS, ArcPass
from gravel.kernels.verify.given import refuse_labels, refuse_sources
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.rules import BFS
from gravel.kernels.verify.tree import (
    LOST,
    RANGES,
    SOURCE,
    TREE,
    TREE_LEVELS,
    first_vertices,
    levels_of,
    vertex_faults,
)

VERTEX_RULES = {"source": SOURCE, "tree": TREE, "tree_levels": TREE_LEVELS}
ARC_RULES = {
    "edge_levels": EDGE_LEVELS,
    "component": COMPONENT,
    "tree_arcs": TREE_ARCS,
    "nearer_neighbour": NEARER,
}


def check_bfs(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    source: int,
    distance: NDArray[Any] | None = None,
    predecessor: NDArray[Any] | None = None,
    *,
    symmetric: bool,
    max_depth: int | None = None,
    is_sorted: bool = True,
    blocks: list[tuple[int, int]] | None = None,
) -> list[Check]:
    """Check one search.

    Parameters
    ----------
    row_offsets, column_indices : the graph, int64 and uint32 or uint64.
    distance : int32 (vertices,), or None; predecessor : int32 or int64 (vertices,), or None.
    symmetric : whether every arc has its reverse.
    max_depth : the distance beyond which the search did not go.
    is_sorted : whether rows ascend.
    blocks : `gravel.kernels.row_blocks.row_blocks(row_offsets)`, to share between many searches.

    Returns one `Check` per rule. When `ranges` or the shape of the tree is broken beyond use, the rules
    that would build on it are left out. Raises ValueError for arrays that do not belong to this graph, or
    when both results are None.

    """
    n = len(row_offsets) - 1
    refuse_labels((n,), distance=distance, predecessor=predecessor)
    refuse_sources([source], n)
    limit = n - 1 if max_depth is None else max_depth
    deepest = n if max_depth is None else max_depth
    parents = numpy.empty(0, numpy.int32) if predecessor is None else predecessor
    if distance is None:
        checks, levels = check_tree(parents, source, limit)
    else:
        checks, levels = _check_vertices(distance, parents, source, limit)
    if levels is None:
        return checks
    arcs = ArcPass(
        row_offsets,
        column_indices,
        levels,
        parents,
        symmetric=symmetric,
        is_sorted=is_sorted,
        deepest=deepest,
        blocks=blocks,
    )
    return checks + _arc_checks(arcs, with_tree=len(parents) > 0)


def _check_vertices(
    distance: NDArray[Any], parents: NDArray[Any], source: int, limit: int
) -> tuple[list[Check], NDArray[Any] | None]:
    """Check what each vertex tells by itself; returns the distances, too, None where they are beyond use."""
    faults = vertex_faults(distance, parents, source, limit)
    vertex_rules = ("source", "tree", "tree_levels") if len(parents) else ("source",)
    checks = []
    for name in ("ranges", *vertex_rules):
        rule = VERTEX_RULES.get(name, RANGES)
        vertices = first_vertices(distance, parents, source, limit, rule, NAMED) if faults[rule] else ()
        checks.append(Check(name, BFS[name], faults[rule], vertices))
        if faults[RANGES]:
            return checks, None
    if faults[TREE] or faults[TREE_LEVELS]:
        # Levels that fall along the tree prove it free of cycles; these do not, so walk it.
        checks[2] = with_lost(levels_of(parents, source), checks[2])
    return checks, distance


def with_lost(levels: NDArray[Any], check: Check) -> Check:
    """Add the vertices whose predecessors do not lead to the source."""
    lost = numpy.flatnonzero(levels == LOST)
    vertices = sorted({*check.vertices, *(int(v) for v in lost[:NAMED])})[:NAMED]
    return Check(check.name, check.rule, max(check.faults, len(lost)), tuple(vertices))


def check_tree(
    parents: NDArray[Any], source: int, limit: int
) -> tuple[list[Check], NDArray[numpy.int32] | None]:
    """Check the shape of a tree of predecessors, and count its levels, -1 outside; None beyond use."""
    n = len(parents)
    strange = numpy.flatnonzero((parents < -1) | (parents >= n))
    if len(strange):
        return [Check.of(BFS, "ranges", strange)], None
    levels = levels_of(parents, source)
    tree = with_lost(levels, Check("tree", BFS["tree"]))
    levels[levels == LOST] = -1
    ranges = Check.of(BFS, "ranges", numpy.flatnonzero(levels > limit))
    return [ranges, Check.of(BFS, "source", [source] * int(parents[source] != -1)), tree], levels


def _arc_checks(arcs: ArcPass, *, with_tree: bool) -> list[Check]:
    checks = []
    for name in ("edge_levels", "component", "tree_arcs" if with_tree else "nearer_neighbour"):
        rule = ARC_RULES[name]
        found = arcs.offenders(rule) if arcs.faults[rule] else []
        pairs = [(v, w) for v, w in found if w >= 0]
        if name == "tree_arcs":
            pairs = [(w, v) for v, w in pairs]
        vertices = tuple(v for v, _ in found)
        checks.append(Check(name, BFS[name], arcs.faults[rule], vertices, tuple(pairs)))
    return checks
