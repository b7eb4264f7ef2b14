"""Predecessors from final distances, as `gravel.kernels.sssp` defines them, on all threads."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.sssp.cpu.words import lengthened, lower
from gravel.kernels.sssp.weights import WeightedRows


def tree_of(rows: WeightedRows, words: NDArray[Any], source: int) -> NDArray[Any]:
    """Find the predecessor of each vertex, int32 or int64, -1 for none."""
    none = numpy.iinfo(rows.tree).max
    tree = numpy.full(rows.vertices, none, rows.tree)
    graph = (rows.row_offsets, rows.column_indices, rows.weights)
    blocks = row_blocks(rows.row_offsets)
    unreached = rows.words.type(rows.unreached)

    def nearer(low: int, high: int) -> None:
        _nearer(*graph, words, unreached, tree, source, low, high, len(blocks) == 1)

    run_blocks(nearer, blocks)
    return completed(rows, words, tree, source)


def completed(rows: WeightedRows, words: NDArray[Any], tree: NDArray[Any], source: int) -> NDArray[Any]:
    """Give predecessors to those that only arcs of length zero reach; return int32 or int64, -1 for none."""
    unreached = rows.words.type(rows.unreached)
    if _lacks_any(words, unreached, tree, source):
        graph = (rows.row_offsets, rows.column_indices, rows.weights)
        _equally_near(*graph, words, unreached, tree, source)
    return rows.predecessors(tree)  # type: ignore[no-any-return]


@serial
def _nearer(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    words: NDArray[Any],
    unreached: Any,
    tree: NDArray[Any],
    source: int,
    low: int,
    high: int,
    alone: bool,
) -> None:
    for u in range(low, high):
        word = words[u]
        if word == unreached:
            continue
        name = tree.dtype.type(u)
        for k in range(row_offsets[u], row_offsets[u + 1]):
            v = columns[k]
            there = words[v]
            if word < there and lengthened(word, weights[k]) == there and name < tree[v]:
                lower(tree, v, name, alone)


@serial
def _lacks_any(words: NDArray[Any], unreached: Any, tree: NDArray[Any], source: int) -> bool:
    none = tree.dtype.type(numpy.int64(-1))
    lacking = False
    for v in range(len(words)):
        lacking |= tree[v] == none and words[v] != unreached and v != source
    return lacking


@serial
def _equally_near(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    words: NDArray[Any],
    unreached: Any,
    tree: NDArray[Any],
    source: int,
) -> None:
    """Go along arcs of length zero from the vertices that have predecessors, breadth-first."""
    none = tree.dtype.type(numpy.int64(-1))
    n = len(words)
    frontier, found = numpy.empty(n, numpy.int64), numpy.empty(n, numpy.int64)
    size = 0
    for v in range(n):
        if tree[v] != none or v == source:
            frontier[size] = v
            size += 1
    step = numpy.zeros(n, numpy.int32)
    steps = 0
    while size > 0:
        steps += 1
        count = 0
        for i in range(size):
            at = frontier[i]
            word = words[at]
            name = tree.dtype.type(at)
            for k in range(row_offsets[at], row_offsets[at + 1]):
                to = numpy.int64(columns[k])
                if words[to] != word or to == source or lengthened(word, weights[k]) != word:
                    continue
                if tree[to] == none:
                    tree[to] = name
                    step[to] = steps
                    found[count] = to
                    count += 1
                elif step[to] == steps and name < tree[to]:
                    tree[to] = name
        frontier, found = found, frontier
        size = count
