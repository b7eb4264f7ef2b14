"""What is wrong along the arcs of a search's levels: one pass over the rows of reached vertices."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.verify import buffers
from gravel.kernels.verify.result import NAMED
from gravel.kernels.verify.tree import faults_by_rule, parent_of

EDGE_LEVELS, COMPONENT, TREE_ARCS, NEARER = 1, 2, 4, 8


@serial
def row_faults(level, parent, jumps, leaves, found, with_tree, deepest):  # type: ignore[no-untyped-def]
    """Give the rules that a reached vertex breaks as bits, by what was seen along its row.

    That is an arc over more than a level, one to an unreached vertex, and the predecessor, or without
    predecessors a neighbour one level nearer.
    """
    faults = 0
    if jumps:
        faults |= EDGE_LEVELS
    if leaves and level < deepest:
        faults |= COMPONENT
    if level > 0 and not found:
        if not with_tree:
            faults |= NEARER
        elif parent >= 0:
            faults |= TREE_ARCS
    return faults


@serial
def _faults_of(v, row_offsets, columns, levels, predecessor, symmetric, deepest):  # type: ignore[no-untyped-def]
    """Give the broken rules of a reached vertex's row as bits.

    In a symmetric graph a row also holds the arcs towards its vertex, so its predecessor must be in it, or,
    where there are no predecessors, a neighbour one level nearer.
    """
    level = levels[v]
    lowest = level - 1 if symmetric else numpy.int32(-1)
    parent = parent_of(v, predecessor)
    jumps = False
    leaves = False
    has_parent = False
    has_nearer = False
    for arc in range(row_offsets[v], row_offsets[v + 1]):
        w = numpy.int64(columns[arc])
        other = levels[w]
        jumps |= (other > level + 1) | ((other >= 0) & (other < lowest))
        leaves |= other < 0
        has_parent |= w == parent
        has_nearer |= other == level - 1
    with_tree = len(predecessor) > 0
    found = not symmetric or (has_parent if with_tree else has_nearer)
    return row_faults(level, parent, jumps, leaves, found, with_tree, deepest)


@serial
def _count(first, last, row_offsets, columns, levels, predecessor, symmetric, deepest):  # type: ignore[no-untyped-def]
    counts = numpy.zeros(4, numpy.int64)
    for v in range(first, last):
        if levels[v] < 0:
            continue
        faults = _faults_of(v, row_offsets, columns, levels, predecessor, symmetric, deepest)
        for rule in range(4):
            counts[rule] += (faults >> rule) & 1
    return counts


@serial
def _collect(row_offsets, columns, levels, predecessor, symmetric, deepest, rule, found):  # type: ignore[no-untyped-def]
    """Store offending vertices and, for rules about arcs, the first bad neighbour of each, else -1."""
    filled = 0
    for v in range(len(levels)):
        if filled == len(found):
            break
        if levels[v] < 0:
            continue
        if not _faults_of(v, row_offsets, columns, levels, predecessor, symmetric, deepest) & rule:
            continue
        found[filled, 0] = v
        found[filled, 1] = -1
        if rule == TREE_ARCS:
            found[filled, 1] = predecessor[v]
        elif rule != NEARER:
            for arc in range(row_offsets[v], row_offsets[v + 1]):
                other = levels[numpy.int64(columns[arc])]
                far = other > levels[v] + 1 or (symmetric and 0 <= other < levels[v] - 1)
                if (other < 0) if rule == COMPONENT else far:
                    found[filled, 1] = numpy.int64(columns[arc])
                    break
        filled += 1
    return filled


@serial
def _follow_tree(first, last, row_offsets, columns, levels, predecessor, is_sorted, missing):  # type: ignore[no-untyped-def]
    """Look each predecessor's row up for its vertex, and mark vertices whose tree edge is no arc."""
    for v in range(first, last):
        if levels[v] <= 0 or predecessor[v] < 0:
            continue
        u = numpy.int64(predecessor[v])
        low, high = row_offsets[u], row_offsets[u + 1]
        if is_sorted:
            while low < high:
                middle = (low + high) >> 1
                if numpy.int64(columns[middle]) < v:
                    low = middle + 1
                else:
                    high = middle
            missing[v] = low == row_offsets[u + 1] or numpy.int64(columns[low]) != v
        else:
            missing[v] = True
            for arc in range(low, high):
                if numpy.int64(columns[arc]) == v:
                    missing[v] = False
                    break


@serial
def _mark_next(first, last, row_offsets, columns, levels, missing):  # type: ignore[no-untyped-def]
    """Clear the mark of every vertex with an in-neighbour one level nearer; threads clear, none sets."""
    for v in range(first, last):
        if levels[v] < 0:
            continue
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[arc])
            if levels[w] == levels[v] + 1:
                missing[w] = False


class ArcPass:
    """One search's levels against a graph: `faults` by rule, and the first offenders on demand."""

    def __init__(
        self,
        row_offsets: NDArray[Any],
        columns: NDArray[Any],
        levels: NDArray[Any],
        predecessor: NDArray[Any],
        *,
        symmetric: bool,
        is_sorted: bool,
        deepest: int,
        blocks: list[tuple[int, int]] | None = None,
    ) -> None:
        self._graph = (row_offsets, columns)
        self._levels, self._predecessor = levels, predecessor
        self._rest = (levels, predecessor, symmetric, numpy.int64(deepest))
        blocks = row_blocks(row_offsets) if blocks is None else blocks
        self.faults = faults_by_rule(lambda a, b: _count(a, b, *self._graph, *self._rest), blocks)
        self._missing: NDArray[Any] | None = None
        if not symmetric:
            self._check_towards(blocks, is_sorted)

    def _check_towards(self, blocks: list[tuple[int, int]], is_sorted: bool) -> None:
        """Check arcs towards a vertex, which a directed graph's own row does not hold."""
        levels, predecessor = self._levels, self._predecessor
        if len(predecessor):
            missing, rule = buffers.missing(len(levels)).make(numpy), TREE_ARCS
            tree = (*self._graph, levels, predecessor, is_sorted, missing)
            run_blocks(lambda a, b: _follow_tree(a, b, *tree), blocks)
        else:
            missing, rule = levels > 0, NEARER
            run_blocks(lambda a, b: _mark_next(a, b, *self._graph, levels, missing), blocks)
        self.faults[rule] = int(numpy.count_nonzero(missing))
        self._missing = missing

    def offenders(self, rule: int) -> list[tuple[int, int]]:
        """Name the first few vertices that break a rule, each with the other end of an arc, or -1."""
        if rule in (TREE_ARCS, NEARER) and self._missing is not None:
            vertices = numpy.flatnonzero(self._missing)[:NAMED]
            with_tree = rule == TREE_ARCS
            return [(int(v), int(self._predecessor[v]) if with_tree else -1) for v in vertices]
        found = numpy.empty((NAMED, 2), numpy.int64)
        filled = _collect(*self._graph, *self._rest, rule, found)
        return [(int(v), int(w)) for v, w in found[:filled]]
