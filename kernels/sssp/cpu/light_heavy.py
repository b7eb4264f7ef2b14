"""Delta-stepping with light and heavy arcs, and pulls: shortest paths over rows that ascend by weight.

In a bucket only light arcs are relaxed, those that lead to it again, which begin each row (Meyer and Sanders
2003). Heavy ones follow once the bucket is empty. On symmetric rows a search whose expanded vertices have
many of all arcs then pulls instead: each vertex that is left reads its arcs up to the first that is too long
(the pull phases of Chakaravarthy et al., IPDPS 2014, but to the end and without buckets).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import compare_and_swap, fetch_add
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks
from gravel.kernels.sssp.buffers import light_heavy
from gravel.kernels.sssp.cpu import pull
from gravel.kernels.sssp.cpu.buckets import (
    CHUNK,
    FAR,
    NEAR,
    OTHER,
    ROUND,
    THREADED_FROM,
    Queues,
    next_bucket,
)
from gravel.kernels.sssp.cpu.by_weight import RowsByWeight, least_of_class
from gravel.kernels.sssp.cpu.tree import tree_of
from gravel.kernels.sssp.cpu.words import lengthened, lower
from gravel.kernels.sssp.weights import WeightedRows

EXPANDED = ROUND + 1
"""Another number of a search: how many vertices are expanded."""


PULL_FROM = 0.3
"""Share of all arcs whose vertices are expanded, from which on a search pulls. On Kronecker 16 and 18 a tenth
and 0.6 took as long, within the noise."""


class LightHeavy:
    """Rows made ready, with queues that other searches use as well."""

    def __init__(self, weighted: WeightedRows, ordered: RowsByWeight, width: float, queues: Queues) -> None:
        n = weighted.vertices
        self._rows, self._ordered, self._queues = weighted, ordered, queues
        self._width = weighted.width(width)
        self._expanded, self._is_expanded = make(light_heavy(n)[:2], numpy).values()
        self._blocks = row_blocks(weighted.row_offsets)

    def tree(self, words: NDArray[Any], source: int) -> NDArray[Any]:
        """Find the predecessor of each vertex, int32 or int64, -1 for none."""
        if self._ordered.symmetric:
            return pull.tree_of(self._rows, self._ordered, words, source, self._blocks)
        return tree_of(self._rows, words, source)

    def search(self, words: NDArray[Any], source: int) -> int:
        """Find distances; `words` say that none but the source is reached. Returns the number of rounds."""
        rows, ordered, queues = self._rows, self._ordered, self._queues
        graph = (rows.row_offsets, ordered.columns, ordered.weights, ordered.mask)
        near, other, far, kept = queues.of_vertices
        expanded = self._expanded
        self._is_expanded[:] = 0
        counts, bound = numpy.zeros(EXPANDED + 1, numpy.int64), numpy.zeros(1, words.dtype)
        near[0], counts[NEAR] = source, 1
        bound[0] = self._width if not rows.is_float else numpy.float64(self._width).view(numpy.uint64)
        arcs, first, may_pull = 0, 0, ordered.symmetric
        while counts[NEAR]:
            state = (words, queues.marks, self._is_expanded, expanded, counts, bound)
            while counts[NEAR]:
                if _light_rounds(*graph, *state, near, other, THREADED_FROM):
                    near, other = other, near
                if counts[NEAR]:
                    counts[ROUND] += 1
                    self._over_threads(_light, (*graph, *state, near, other), 0, int(counts[NEAR]))
                    near, other = other, near
                    counts[NEAR], counts[OTHER] = counts[OTHER], 0
            last = int(counts[EXPANDED])
            arcs += _arcs_of(rows.row_offsets, expanded, first, last)
            if may_pull and arcs >= PULL_FROM * rows.arcs:
                may_pull = False
                rounds, done = pull.to_the_end(rows, ordered, words, bound[0], self._blocks)
                counts[ROUND] += rounds
                if done:
                    break
                unreached = rows.words.type(rows.unreached)
                counts[FAR] = _pile_unexpanded(words, bound[0], unreached, queues.piled, far)
            else:
                heavy = (*graph, words, queues.piled, expanded, counts, bound, far)
                self._over_threads(_heavy, heavy, first, last)
            first = last
            if next_bucket(words, queues.piled, counts, bound, near, far, kept, self._width):
                far, kept = kept, far
        return int(counts[ROUND])

    def _over_threads(self, relax: Any, given: tuple[Any, ...], low: int, high: int) -> None:
        if high - low < THREADED_FROM:
            relax(*given, low, high, True)
            return
        chunks = [(at, min(at + CHUNK, high)) for at in range(low, high, CHUNK)]
        run_blocks(lambda first, last: relax(*given, first, last, False), chunks)


@serial
def _light(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    mask: Any,
    words: NDArray[Any],
    marks: NDArray[Any],
    is_expanded: NDArray[Any],
    expanded: NDArray[Any],
    counts: NDArray[Any],
    bound: NDArray[Any],
    near: NDArray[Any],
    other: NDArray[Any],
    low: int,
    high: int,
    alone: bool,
) -> None:
    """Relax the light arcs of a part of the frontier, which stays in the bucket; note who is in it."""
    stamp = numpy.int32(counts[ROUND])
    end = bound[0]
    for i in range(low, high):
        u = near[i]
        word = words[u]
        if is_expanded[u] == 0:
            is_expanded[u] = 1
            if alone:
                expanded[counts[EXPANDED]] = u
                counts[EXPANDED] += 1
            else:
                expanded[fetch_add(counts, EXPANDED, 1)] = u
        for k in range(row_offsets[u], row_offsets[u + 1]):
            weight = weights[k]
            longer = lengthened(word, weight)
            if longer >= end:
                if lengthened(word, least_of_class(weight, mask)) >= end:
                    break
                continue
            v = columns[k]
            if longer >= words[v] or longer >= lower(words, v, longer, alone):
                continue
            mark = marks[v]
            if mark == stamp:
                continue
            if alone:
                marks[v] = stamp
                other[counts[OTHER]] = v
                counts[OTHER] += 1
            elif compare_and_swap(marks, v, mark, stamp) == mark:
                other[fetch_add(counts, OTHER, 1)] = v


@serial
def _light_rounds(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    mask: Any,
    words: NDArray[Any],
    marks: NDArray[Any],
    is_expanded: NDArray[Any],
    expanded: NDArray[Any],
    counts: NDArray[Any],
    bound: NDArray[Any],
    near: NDArray[Any],
    other: NDArray[Any],
    most: int,
) -> bool:
    """Run rounds until a frontier has `most` vertices or none; say whether the queues were swapped."""
    swapped = False
    while 0 < counts[NEAR] < most:
        counts[ROUND] += 1
        size = counts[NEAR]
        _light(
            row_offsets,
            columns,
            weights,
            mask,
            words,
            marks,
            is_expanded,
            expanded,
            counts,
            bound,
            near,
            other,
            0,
            size,
            True,
        )
        near, other = other, near
        counts[NEAR], counts[OTHER] = counts[OTHER], 0
        swapped = not swapped
    return swapped


@serial
def _heavy(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    mask: Any,
    words: NDArray[Any],
    piled: NDArray[Any],
    expanded: NDArray[Any],
    counts: NDArray[Any],
    bound: NDArray[Any],
    far: NDArray[Any],
    low: int,
    high: int,
    alone: bool,
) -> None:
    """Relax the heavy arcs of expanded vertices, from the ends of their rows, and pile who comes nearer."""
    end = bound[0]
    for i in range(low, high):
        u = expanded[i]
        word = words[u]
        last = end  # where paths end along arcs of the class that has light and heavy ones
        for k in range(row_offsets[u + 1] - 1, row_offsets[u] - 1, -1):
            weight = weights[k]
            least = lengthened(word, least_of_class(weight, mask))
            if least < end:
                if least < last < end:
                    break
                last = least
            v = columns[k]
            longer = lengthened(word, weight)
            if longer < end or longer >= words[v] or longer >= lower(words, v, longer, alone):
                continue
            if alone:
                if piled[v] == 0:
                    piled[v] = 1
                    far[counts[FAR]] = v
                    counts[FAR] += 1
            elif piled[v] == 0 and compare_and_swap(piled, v, 0, 1) == 0:
                far[fetch_add(counts, FAR, 1)] = v


@serial
def _arcs_of(row_offsets: NDArray[Any], vertices: NDArray[Any], low: int, high: int) -> int:
    total = 0
    for i in range(low, high):
        total += row_offsets[vertices[i] + 1] - row_offsets[vertices[i]]
    return total


@serial
def _pile_unexpanded(
    words: NDArray[Any], end: Any, unreached: Any, piled: NDArray[Any], far: NDArray[Any]
) -> int:
    """Pile all that are reached and not expanded; return how many."""
    count = 0
    for v in range(len(words)):
        piled[v] = end <= words[v] < unreached
        if piled[v]:
            far[count] = v
            count += 1
    return count
