"""Pulls over symmetric rows that ascend by weight: distances that are left, and predecessors.

A vertex reads its row up to the first arc that alone is too long. Reads of words that other threads lower
meanwhile are of one of both values; a pull in which no word changes has read the last ones.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import run_blocks
from gravel.kernels.sssp.buffers import light_heavy
from gravel.kernels.sssp.cpu.by_weight import RowsByWeight, least_of_class
from gravel.kernels.sssp.cpu.tree import completed
from gravel.kernels.sssp.cpu.words import lengthened
from gravel.kernels.sssp.weights import WeightedRows

MAX_PULLS = 32
"""After so many the graph is deep, and buckets take it from there. Kronecker graphs take 4 or 5."""

Blocks = list[tuple[int, int]]


def to_the_end(
    rows: WeightedRows, ordered: RowsByWeight, words: NDArray[Any], end: Any, blocks: Blocks
) -> tuple[int, bool]:
    """Pull until no word changes; return how often, and whether that was reached.

    Words below `end` are final, and their vertices have relaxed no arc that leads out of it.
    """
    graph = (rows.row_offsets, ordered.columns, ordered.weights, ordered.mask)
    left = light_heavy(rows.vertices)[2].make(numpy)
    given = (*graph, words, rows.words.type(rows.unreached), end, left)
    run_blocks(lambda low, high: _from_expanded(*given, low, high), blocks)
    for pulls in range(1, MAX_PULLS):
        if not any(run_blocks(lambda low, high: _from_all(*given, low, high), blocks)):
            return pulls + 1, True
    return MAX_PULLS, False


@serial
def _from_expanded(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    mask: Any,
    words: NDArray[Any],
    unreached: Any,
    end: Any,
    left: NDArray[Any],
    low: int,
    high: int,
) -> None:
    """Let vertices that are not expanded read their arcs of any length; note who may come nearer still."""
    source = words.dtype.type(0)
    for v in range(low, high):
        best = words[v]
        left[v] = 0
        first, last = row_offsets[v], row_offsets[v + 1]
        if best < end or first == last:
            continue
        for k in range(first, last):
            weight = weights[k]
            if lengthened(source, least_of_class(weight, mask)) >= best:
                break
            word = words[columns[k]]
            if word < unreached:
                best = min(best, lengthened(word, weight))
        words[v] = best
        left[v] = lengthened(end, least_of_class(weights[first], mask)) < best


@serial
def _from_all(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    mask: Any,
    words: NDArray[Any],
    unreached: Any,
    end: Any,
    left: NDArray[Any],
    low: int,
    high: int,
) -> bool:
    """Let vertices that are left read the arcs along which others that are not expanded may be nearer."""
    changed = False
    for v in range(low, high):
        if left[v] == 0:
            continue
        before = best = words[v]
        first = row_offsets[v]
        for k in range(first, row_offsets[v + 1]):
            weight = weights[k]
            if lengthened(end, least_of_class(weight, mask)) >= best:
                break
            word = words[columns[k]]
            if word < unreached:
                best = min(best, lengthened(word, weight))
        if best < before:
            words[v] = best
            changed = True
        left[v] = lengthened(end, least_of_class(weights[first], mask)) < best
    return changed


def tree_of(
    rows: WeightedRows, ordered: RowsByWeight, words: NDArray[Any], source: int, blocks: Blocks
) -> NDArray[Any]:
    """Find the predecessor of each vertex, int32 or int64, -1 for none."""
    tree = numpy.full(rows.vertices, numpy.iinfo(rows.tree).max, rows.tree)
    graph = (rows.row_offsets, ordered.columns, ordered.weights, ordered.mask)
    given = (*graph, words, rows.words.type(rows.unreached), tree, source)
    run_blocks(lambda low, high: _nearer(*given, low, high), blocks)
    return completed(rows, words, tree, source)


@serial
def _nearer(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    mask: Any,
    words: NDArray[Any],
    unreached: Any,
    tree: NDArray[Any],
    source: int,
    low: int,
    high: int,
) -> None:
    zero = words.dtype.type(0)
    for v in range(low, high):
        here = words[v]
        if here == unreached or v == source:
            continue
        found = tree[v]
        for k in range(row_offsets[v], row_offsets[v + 1]):
            weight = weights[k]
            if lengthened(zero, least_of_class(weight, mask)) > here:
                break
            u = columns[k]
            word = words[u]
            if word < here and lengthened(word, weight) == here:
                found = min(found, tree.dtype.type(u))
        tree[v] = found
