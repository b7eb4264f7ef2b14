"""Pairs on the CPU: each thread takes one after another, with labels of its own."""

from __future__ import annotations

import time
from queue import SimpleQueue
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.point_to_point.counted import count_arcs
from gravel.kernels.point_to_point.interface import Paths, checked_pairs
from gravel.kernels.row_blocks import run_blocks
from gravel.kernels.sssp.cpu.words import joined, lengthened
from gravel.kernels.sssp.weights import INFINITY, WeightedRows
from gravel.kernels.threads import thread_count

TOUCHED, FAR = 0, 2
"""Places in `counts`: one for each side from there on."""

PAIRS = 16
"""That a thread takes at once, so that it is seldom woken."""

ALONE_SECONDS = 5e-4
"""Before threads are woken, which takes as long: 64 pairs of Kronecker 18 take 0.2 ms on one thread, and took
1.3 on two."""


class Workspace:
    """Labels and queues of the searches of one thread, as a search leaves them and finds them."""

    def __init__(self, vertices: int, unreached: Any) -> None:
        self.words = numpy.full((2, vertices), unreached, numpy.uint64)
        self.when = numpy.zeros((2, vertices), numpy.int32)
        self.piled = numpy.zeros((2, vertices), numpy.uint8)
        self.labelled = numpy.empty(vertices, numpy.uint64)
        self.touched = numpy.empty((2, vertices), numpy.int64)
        self.far = numpy.empty((3, vertices), numpy.int64)
        self.near = numpy.empty((2, vertices), numpy.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return self.words, self.when, self.piled, self.labelled, self.touched, self.far, self.near


class CpuPairs:
    """Rows made ready."""

    def __init__(self, rows: WeightedRows, reverse: WeightedRows, factor: float, at_once: int | None) -> None:
        threads = thread_count()
        self.at_once = threads if at_once is None else min(threads, at_once)
        self._vertices = rows.vertices
        self._floats = rows.weights is not None and rows.is_float
        self._unreached = numpy.uint64(INFINITY if self._floats else numpy.iinfo(numpy.uint64).max)
        self._width = numpy.uint32(1) if rows.weights is None else rows.width(factor)
        self._graph = tuple(
            array
            for each in (rows, reverse)
            for array in (each.row_offsets, each.column_indices, _lengths(each.weights))
        )
        self._counted = rows.weights is None
        self._spare: list[Workspace] = []

    def run(self, sources: Any, targets: Any, *, path: bool = True) -> Paths:
        """Search between sources[i] and targets[i]."""
        started = time.perf_counter()
        ends = checked_pairs(self._vertices, sources, targets)
        count = len(ends[0])
        # What a search leaves behind that did not end, by Ctrl-C say, is not used again.
        spare, self._spare = self._spare, []
        free: SimpleQueue[Workspace | None] = SimpleQueue()
        for _ in range(self.at_once):
            free.put(spare.pop() if spare else None)
        length = numpy.empty(count, numpy.uint64)
        ways: list[Any] = [None] * count

        def answer(low: int, high: int) -> None:
            own, ended = free.get(), None
            try:
                own = own or Workspace(self._vertices, self._unreached)
                if self._counted and not path:
                    self._count(own, *(each[low:high] for each in (*ends, length)))
                else:
                    for pair in range(low, high):
                        length[pair], ways[pair] = self._answer(own, ends[0][pair], ends[1][pair], path)
                ended = own
            finally:
                free.put(ended)

        first = 0
        while first < count and time.perf_counter() - started < ALONE_SECONDS:
            last = min(2 * first + 1, count)
            answer(first, last)
            first = last
        step = max(1, min(PAIRS, (count - first) // self.at_once))
        run_blocks(answer, [(low, min(low + step, count)) for low in range(first, count, step)])
        self._spare = [each for each in (free.get() for _ in range(self.at_once)) if each is not None]
        found = length.view(numpy.float64 if self._floats else numpy.int64)
        offsets = vertices = None
        if path:
            offsets = numpy.zeros(count + 1, numpy.int64)
            numpy.cumsum([len(way) for way in ways], out=offsets[1:])
            vertices = numpy.concatenate([numpy.empty(0, numpy.int64), *ways])
        return Paths(found, offsets, vertices, (time.perf_counter() - started) * 1e3)

    def _count(self, own: Workspace, sources: Any, targets: Any, length: Any) -> None:
        offsets, columns, _, back_offsets, back_columns, _ = self._graph
        rows = offsets, columns, back_offsets, back_columns
        count_arcs(*rows, sources, targets, self._unreached, own.when, own.touched, length)

    def _answer(self, own: Workspace, source: int, target: int, path: bool) -> tuple[Any, Any]:
        counts = numpy.zeros(4, numpy.int64)
        options = self._counted, self._width, self._unreached
        search = self._graph, options, source, target, own.arrays, counts
        best = _search(*search)
        way = numpy.empty(0, numpy.int64)
        if path and best != self._unreached:
            before, after = _walk(*search, best)
            way = numpy.concatenate([own.near[0][:before][::-1], own.near[1][1:after]])
        _forget(self._unreached, own.words, own.when, own.piled, own.touched, counts)
        if path and best != self._unreached and not len(way):
            raise ValueError("an arc has none back of the same weight; give `reverse` rows")
        return best, way


def _lengths(weights: Any) -> Any:
    """Return weights as kernels take them, who look at the first whatever there is."""
    if weights is None or not len(weights):
        return numpy.ones(1, numpy.uint32 if weights is None else weights.dtype)
    return weights


@serial
def _search(graph: Any, options: Any, source: int, target: int, own: Any, counts: NDArray[Any]) -> Any:
    """Return the length of a shortest path, `unreached` where there is none.

    `graph` has the rows of both directions, `own` the arrays of a `Workspace`.
    """
    offsets, columns, weights, back_offsets, back_columns, back_weights = graph
    counted, width, unreached = options
    words, when, piled, labelled, touched, far, near = own
    best = unreached
    zero, one = numpy.uint64(0), numpy.uint64(1)
    bounds = numpy.zeros(2, numpy.uint64)
    places = numpy.arange(3)  # of the piles, and of what is kept of one
    for side in range(2):
        root = target if side else source
        words[side, root] = zero
        when[side, root] = 1
        piled[side, root] = 1
        touched[side, 0] = far[side, 0] = root
        counts[TOUCHED + side] = counts[FAR + side] = 1
    if source == target:
        best = zero
    stamp = 1
    while counts[FAR] > 0 and counts[FAR + 1] > 0 and joined(bounds[0], bounds[1], weights[0]) < best:
        side = 0 if counts[FAR] <= counts[FAR + 1] else 1
        mine, other, pile, kept = words[side], words[1 - side], far[places[side]], far[places[2]]
        # The next bucket begins at the nearest vertex of the pile; vertices that are done leave it.
        bound, nearest = bounds[side], unreached
        for i in range(counts[FAR + side]):
            word = mine[pile[i]]
            if bound <= word < nearest:
                nearest = word
        limit = bound
        if nearest != unreached:
            limit = lengthened(nearest, width)
            # A width may be lost in a float's rounding.
            limit = max(limit, nearest + one)
        size = left = 0
        for i in range(counts[FAR + side]):
            v = pile[i]
            word = mine[v]
            if word >= limit:
                kept[left] = v
                left += 1
                continue
            piled[side, v] = 0
            if word >= bound:
                near[0, size] = v
                size += 1
        counts[FAR + side] = left
        places[side], places[2] = places[2], places[side]
        pile = far[places[side]]
        while size > 0:
            stamp += 1
            for i in range(size):
                labelled[near[0, i]] = mine[near[0, i]]
            improved = 0
            for i in range(size):
                u = near[0, i]
                begin, end = offsets[u], offsets[u + 1]
                if side:
                    begin, end = back_offsets[u], back_offsets[u + 1]
                for arc in range(begin, end):
                    v = numpy.int64(back_columns[arc] if side else columns[arc])
                    at = 0 if counted else arc
                    longer = lengthened(labelled[u], back_weights[at] if side else weights[at])
                    # What is no shorter than a path that is known leads to no shorter one.
                    if longer >= mine[v] or longer >= best:
                        continue
                    if mine[v] == unreached:
                        touched[side, counts[TOUCHED + side]] = v
                        counts[TOUCHED + side] += 1
                    mine[v] = longer
                    if when[side, v] != stamp:
                        when[side, v] = stamp
                        near[1, improved] = v
                        improved += 1
            size = 0
            for i in range(improved):
                v = near[1, i]
                word = mine[v]
                if other[v] != unreached:
                    best = min(best, joined(word, other[v], weights[0]))
                if word < limit:
                    near[0, size] = v
                    size += 1
                elif not piled[side, v]:
                    piled[side, v] = 1
                    pile[counts[FAR + side]] = v
                    counts[FAR + side] += 1
        bounds[side] = limit
    return best


@serial
def _walk(
    graph: Any, options: Any, source: int, target: int, own: Any, counts: NDArray[Any], best: Any
) -> tuple[int, int]:
    """Write the ways from the middle to both ends into `near`; return how many vertices each has.

    A step leads to a vertex that is nearer, or as near and found earlier, so that no way has a circle. Where
    a vertex came nearer after it was searched from, those that it led to may be farther than it tells: the
    difference was lost in rounding. Two zeros tell that a way breaks off: an arc that was searched along has
    none back of its weight.
    """
    offsets, columns, weights, back_offsets, back_columns, back_weights = graph
    counted, _, unreached = options
    words, when, _, labelled, touched, _, near = own
    # The nearest of those in the middle, and the first to be found: both ways have no other vertex in common.
    middle = numpy.int64(-1)
    for i in range(counts[TOUCHED]):
        v = touched[0, i]
        if words[1, v] == unreached or joined(words[0, v], words[1, v], weights[0]) != best:
            continue
        if middle < 0 or (words[0, v], when[0, v], v) < (words[0, middle], when[0, middle], middle):
            middle = v
    sizes = (0, 0)
    if middle < 0:
        return sizes
    for side in range(2):
        v, steps = middle, 0
        root = target if side else source
        while True:
            near[side, steps] = v
            steps += 1
            if v == root:
                break
            begin, end = back_offsets[v], back_offsets[v + 1]
            if side:
                begin, end = offsets[v], offsets[v + 1]
            chosen = numpy.int64(len(labelled))
            for arc in range(begin, end):
                u = numpy.int64(columns[arc] if side else back_columns[arc])
                at = 0 if counted else arc
                before = words[side, u]
                if u >= chosen or (before, when[side, u]) >= (words[side, v], when[side, v]):
                    continue
                if lengthened(before, weights[at] if side else back_weights[at]) <= words[side, v]:
                    chosen = u
            if chosen == len(labelled):
                return 0, 0
            v = chosen
        sizes = (sizes[0], steps) if side else (steps, 0)
    return sizes


@serial
def _forget(
    unreached: Any,
    words: NDArray[Any],
    when: NDArray[Any],
    piled: NDArray[Any],
    touched: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    for side in range(2):
        for i in range(counts[TOUCHED + side]):
            v = touched[side, i]
            words[side, v] = unreached
            when[side, v] = 0
            piled[side, v] = 0
