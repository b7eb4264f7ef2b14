"""Levels counted along predecessors, and what is wrong with a vertex by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks
from gravel.kernels.verify import buffers
from gravel.kernels.verify.buffers import UNKNOWN

LOST = -3
"""In `levels`: the walk does not end at the source."""

RANGES, SOURCE, TREE, TREE_LEVELS = 1, 2, 4, 8


@serial
def _walk(first, last, predecessor, source, levels):  # type: ignore[no-untyped-def]
    """Follow predecessors from each vertex to one of known level, then write the levels on the way back.

    Threads may walk the same path; they write the same values.
    """
    n = len(predecessor)
    for v in range(first, last):
        if levels[v] != UNKNOWN:
            continue
        if v != source and predecessor[v] == -1:
            levels[v] = -1
            continue
        w = numpy.int64(v)
        steps = 0
        end = levels[w]
        while end == UNKNOWN:
            parent = predecessor[w]
            if parent == -1 or steps > n:
                end = LOST
                break
            w = numpy.int64(parent)
            steps += 1
            end = levels[w]
        if end < 0:
            end = LOST
        w = numpy.int64(v)
        for step in range(steps):
            known = levels[w]
            if known != UNKNOWN:
                break
            levels[w] = LOST if end == LOST else end + steps - step
            w = numpy.int64(predecessor[w])


def levels_of(predecessor: NDArray[Any], source: int) -> NDArray[Any]:
    """Count each vertex's steps to the source: int32, -1 without a predecessor, `LOST` where none lead there.

    Predecessors must lie between -1 and the number of vertices.
    """
    levels: NDArray[numpy.int32] = buffers.levels(len(predecessor)).make(numpy)
    levels[source] = 0
    run_blocks(lambda a, b: _walk(a, b, predecessor, source, levels), even_blocks(len(predecessor)))
    return levels


@serial
def parent_of(v, predecessor):  # type: ignore[no-untyped-def]
    """Give the predecessor of a vertex, -1 where `predecessor` is empty."""
    return numpy.int64(predecessor[v]) if len(predecessor) else numpy.int64(-1)


@serial
def vertex_fault(v, p, distance, with_tree, source, limit):  # type: ignore[no-untyped-def]
    """Give the rule that a vertex with the predecessor p breaks as a bit, 0 for none."""
    n = len(distance)
    d = numpy.int64(distance[v])
    if d < -1 or d > limit or p < -1 or p >= n:
        return RANGES
    if v == source:
        return SOURCE if d != 0 or p != -1 else 0
    if d == 0:
        return SOURCE
    if not with_tree:
        return 0
    if (d == -1) != (p == -1):
        return TREE
    if d == -1:
        return 0
    above = numpy.int64(distance[p])
    if above == -1:
        return TREE
    return 0 if above == d - 1 else TREE_LEVELS


@serial
def _count(first, last, distance, predecessor, source, limit):  # type: ignore[no-untyped-def]
    counts = numpy.zeros(4, numpy.int64)
    for v in range(first, last):
        parent = parent_of(v, predecessor)
        fault = vertex_fault(v, parent, distance, len(predecessor) > 0, source, limit)
        for rule in range(4):
            counts[rule] += (fault >> rule) & 1
    return counts


@serial
def _collect(distance, predecessor, source, limit, rule, found):  # type: ignore[no-untyped-def]
    filled = 0
    for v in range(len(distance)):
        if filled == len(found):
            break
        parent = parent_of(v, predecessor)
        if vertex_fault(v, parent, distance, len(predecessor) > 0, source, limit) & rule:
            found[filled] = v
            filled += 1
    return filled


def vertex_faults(
    distance: NDArray[Any], predecessor: NDArray[Any], source: int, limit: int
) -> dict[int, int]:
    """Count the vertices that break each rule, keyed by RANGES, SOURCE, TREE and TREE_LEVELS.

    Parameters
    ----------
    predecessor : (vertices,) or empty where there are none.
    limit : the largest distance there may be.

    """
    blocks = even_blocks(len(distance))
    return faults_by_rule(lambda a, b: _count(a, b, distance, predecessor, source, limit), blocks)


def faults_by_rule(
    count: Callable[[int, int], NDArray[numpy.int64]], blocks: list[tuple[int, int]]
) -> dict[int, int]:
    """Add up what a function counts in each block, by rule; keyed by the rules' bits."""
    total = numpy.sum(run_blocks(count, blocks), axis=0)
    return {1 << rule: int(faults) for rule, faults in enumerate(total)}


def first_vertices(
    distance: NDArray[Any], predecessor: NDArray[Any], source: int, limit: int, rule: int, most: int
) -> tuple[int, ...]:
    """Name the first few vertices that break a rule."""
    found = numpy.empty(most, numpy.int64)
    filled = _collect(distance, predecessor, source, limit, rule, found)
    return tuple(int(v) for v in found[:filled])
