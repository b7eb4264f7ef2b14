"""Levels counted along predecessors, and what is wrong with a vertex by itself."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

UNKNOWN, LOST = -2, -3
"""In `levels`: not walked yet; the walk does not end at the source."""

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
    levels = numpy.full(len(predecessor), UNKNOWN, numpy.int32)
    levels[source] = 0
    run_blocks(lambda a, b: _walk(a, b, predecessor, source, levels), even_blocks(len(predecessor)))
    return levels


@serial
def _faults_of(v, distance, predecessor, source, limit):  # type: ignore[no-untyped-def]
    """Give the broken rules of one vertex as bits; `predecessor` is empty where there is none."""
    n = len(distance)
    d = numpy.int64(distance[v])
    has_predecessor = len(predecessor) > 0
    p = numpy.int64(predecessor[v]) if has_predecessor else numpy.int64(-1)
    if d < -1 or d > limit or p < -1 or p >= n:
        return RANGES
    if v == source:
        return SOURCE if d != 0 or p != -1 else 0
    if d == 0:
        return SOURCE
    if not has_predecessor:
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
        faults = _faults_of(v, distance, predecessor, source, limit)
        if faults:
            for rule in range(4):
                counts[rule] += (faults >> rule) & 1
    return counts


@serial
def _collect(distance, predecessor, source, limit, rule, found):  # type: ignore[no-untyped-def]
    filled = 0
    for v in range(len(distance)):
        if filled == len(found):
            break
        if _faults_of(v, distance, predecessor, source, limit) & rule:
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
    counts = run_blocks(lambda a, b: _count(a, b, distance, predecessor, source, limit), blocks)
    total = numpy.sum(counts, axis=0)
    return {1 << rule: int(total[rule]) for rule in range(4)}


def first_vertices(
    distance: NDArray[Any], predecessor: NDArray[Any], source: int, limit: int, rule: int, most: int
) -> tuple[int, ...]:
    """Name the first few vertices that break a rule."""
    found = numpy.empty(most, numpy.int64)
    filled = _collect(distance, predecessor, source, limit, rule, found)
    return tuple(int(v) for v in found[:filled])
