"""The checks of the Graph500 benchmark's third kernel on shortest paths, from the weighted graph alone.

1. `source`: the source has distance 0 and no predecessor.
2. `tree`: predecessors form a tree rooted at the source that spans exactly the reached vertices.
3. `tree_arcs`: every tree edge is an arc of the graph whose weight is the difference of its ends' distances.
4. `relaxed`: no arc leads to a vertex that is farther than the arc's tail and its weight allow.
5. `component`: no arc leads from a reached vertex to an unreached one.

With 1 to 3 every distance is the length of a path, and with 4 and 5 none is shorter. Distances of float32
weights are compared as float64, exactly: each is a sum along its path, rounded at every arc.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.verify import buffers
from gravel.kernels.verify.given import refuse_labels, refuse_sources
from gravel.kernels.verify.result import NAMED, Check
from gravel.kernels.verify.tree import LOST, levels_of

RULES = {
    "ranges": "distances are not negative, or -1 (floats: inf) if unreached; predecessors are -1 or vertices",
    "source": "the source has distance 0 and no predecessor",
    "tree": "predecessors form a tree rooted at the source that spans the reached vertices",
    "tree_arcs": "every tree edge is an arc that is as long as its ends are apart",
    "relaxed": "no arc makes a shorter path",
    "component": "no arc leads from a reached vertex to an unreached one",
}

RELAXED, COMPONENT = 1, 2

EXACT: dict[Any, tuple[Any, ...]] = {
    numpy.int64: (numpy.uint32, numpy.int32, numpy.int64),
    numpy.float64: (numpy.float32, numpy.float64),
}
"""Weights that are added to distances of a type as they are."""


def check_sssp(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    weights: NDArray[Any],
    source: int,
    distance: NDArray[Any],
    predecessor: NDArray[Any] | None,
) -> list[Check]:
    """Check one search; without predecessors, whether distances could be those of paths is not known.

    Parameters
    ----------
    row_offsets, column_indices, weights : the graph, int64, uint32 or uint64, and any numbers (arcs,).
    distance : int32, int64 or float64 (vertices,); predecessor : int32 or int64 (vertices,), or None.

    Returns one `Check` per rule; when `ranges` is broken, that alone. Raises ValueError for arrays that do
    not belong to this graph.

    """
    n = len(row_offsets) - 1
    refuse_labels((n,), distance=distance, predecessor=predecessor)
    if weights.shape != column_indices.shape:
        raise ValueError(f"there are {len(weights)} weights and {len(column_indices)} arcs")
    refuse_sources([source], n)
    reached = numpy.isfinite(distance) if distance.dtype.kind == "f" else distance >= 0
    strange = ~reached & (distance != (numpy.inf if distance.dtype.kind == "f" else -1)) | (distance < -1)
    strange |= reached & (distance < 0)
    if predecessor is not None:
        strange |= (predecessor < -1) | (predecessor >= n)
    if strange.any():
        return [Check.of(RULES, "ranges", numpy.flatnonzero(strange))]
    rooted = distance[source] != 0 or (predecessor is not None and predecessor[source] != -1)
    checks = [Check.of(RULES, "ranges", ()), Check.of(RULES, "source", [source] * bool(rooted))]
    exact = numpy.float64 if distance.dtype.kind == "f" else numpy.int64
    if weights.dtype not in EXACT[exact]:
        weights = weights.astype(exact)
    graph = (row_offsets, column_indices, weights, distance.astype(exact, copy=False))
    blocks = row_blocks(row_offsets)
    has, faults = make(buffers.marks(n), numpy).values()
    if predecessor is not None:
        levels = levels_of(predecessor, source)
        lost = (levels == LOST) | ((levels >= 0) != reached)
        checks.append(Check.of(RULES, "tree", numpy.flatnonzero(lost)))
        run_blocks(lambda low, high: _mark_tree(*graph, predecessor, has, low, high), blocks)
        missing = numpy.flatnonzero((predecessor >= 0) & (has == 0))
        pairs = tuple((int(predecessor[v]), int(v)) for v in missing[:NAMED])
        checks.append(Check.of(RULES, "tree_arcs", missing, pairs))
    run_blocks(lambda low, high: _find_faults(*graph, reached, faults, low, high), blocks)
    for name, rule in (("relaxed", RELAXED), ("component", COMPONENT)):
        found = numpy.flatnonzero(faults & rule)
        pairs = tuple((int(v), _offender(*graph, reached, int(v), rule)) for v in found[:NAMED])
        checks.append(Check.of(RULES, name, found, pairs))
    return checks


def skipped_sssp_checks(*, predecessor: bool) -> list[dict[str, str]]:
    """Say which checks a result without predecessors does not get, and why."""
    reason = "the result has no predecessors"
    return [] if predecessor else [{"check": name, "reason": reason} for name in ("tree", "tree_arcs")]


@serial
def _mark_tree(row_offsets, columns, weights, distance, predecessor, has, low, high):  # type: ignore[no-untyped-def]
    """Mark the vertices whose predecessor has an arc of the right length to them; all write the same."""
    for u in range(low, high):
        for arc in range(row_offsets[u], row_offsets[u + 1]):
            v = columns[arc]
            if predecessor[v] == u and distance[u] + weights[arc] == distance[v]:
                has[v] = 1


@serial
def _find_faults(row_offsets, columns, weights, distance, reached, faults, low, high):  # type: ignore[no-untyped-def]
    for u in range(low, high):
        if not reached[u]:
            continue
        for arc in range(row_offsets[u], row_offsets[u + 1]):
            v = columns[arc]
            if not reached[v]:
                faults[u] |= COMPONENT
            elif distance[u] + weights[arc] < distance[v]:
                faults[u] |= RELAXED


@serial
def _offender(row_offsets, columns, weights, distance, reached, u, rule):  # type: ignore[no-untyped-def]
    for arc in range(row_offsets[u], row_offsets[u + 1]):
        v = numpy.int64(columns[arc])
        if not reached[v]:
            if rule == COMPONENT:
                return v
        elif rule == RELAXED and distance[u] + weights[arc] < distance[v]:
            return v
    return numpy.int64(-1)
