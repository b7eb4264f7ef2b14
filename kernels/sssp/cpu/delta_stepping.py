"""Delta-stepping on all threads: a frontier of near vertices, and one pile of farther ones.

Each vertex is in the frontier once a round (`marks`), and in the pile once. Rounds of few arcs, of which a
road network has thousands, run one after the other on this thread and without atomics.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import compare_and_swap, fetch_add
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import run_blocks
from gravel.kernels.sssp import SSSPResult
from gravel.kernels.sssp.cpu.tree import tree_of
from gravel.kernels.sssp.cpu.words import lengthened, lower
from gravel.kernels.sssp.weights import WeightedRows

WIDTH = 4.0
"""Mean weights over the mean degree that a bucket is wide. On one thread, Kronecker 18 (degree 29) took 85 ms
with a width of 1/8 mean weight and 183 with 1; USA-road-NY (degree 2.8) took 23 and 17."""

THREADED_FROM = 1 << 15
"""Vertices of a frontier from which on threads are worth waking."""

CHUNK = 1 << 12
"""Vertices of a frontier that a thread takes at a time."""

NEAR, OTHER, FAR, KEPT, ROUND = range(5)
"""Numbers of a search: of both frontiers, of both halves of the pile, and of the round."""


def prepare(weighted: WeightedRows, *, predecessor: bool = True, width: float | None = None) -> DeltaStepping:
    """Make rows ready; see `gravel.kernels.sssp.prepare`.

    Parameters
    ----------
    width : how many mean weights a bucket is wide, above 0; by default `WIDTH` over the mean degree.

    """
    width = WIDTH / weighted.mean_degree if width is None else width
    if not width > 0:
        raise ValueError(f"width is {width}; it must be above 0")
    return DeltaStepping(weighted, predecessor, width)


class DeltaStepping:
    """Rows made ready, with the queues of a search."""

    prepare_milliseconds = 0.0

    def __init__(self, weighted: WeightedRows, predecessor: bool, width: float) -> None:
        n = weighted.vertices
        self._rows, self._predecessor = weighted, predecessor
        self._width = weighted.width(width)
        self._queues = [numpy.empty(n, numpy.int64) for _ in range(4)]
        self._marks = numpy.zeros(n, numpy.int32)
        self._piled = numpy.zeros(n, numpy.int32)

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex."""
        rows = self._rows
        source = rows.check_source(source)
        words = numpy.full(rows.vertices, rows.unreached, rows.words)
        self._marks[:] = 0
        self._piled[:] = 0
        counts = numpy.zeros(5, numpy.int64)
        bound = numpy.zeros(1, rows.words)
        started = time.perf_counter()
        words[source] = 0
        near, other, far, kept = self._queues
        near[0] = source
        counts[NEAR] = 1
        bound[0] = self._width if not rows.is_float else numpy.float64(self._width).view(numpy.uint64)
        graph = (rows.row_offsets, rows.column_indices, rows.weights)
        while True:
            state = (words, self._marks, self._piled, counts, bound)
            swaps = _few(*graph, *state, near, other, far, kept, self._width, THREADED_FROM)
            if swaps & 1:
                near, other = other, near
            if swaps & 2:
                far, kept = kept, far
            if not counts[NEAR]:
                break
            counts[ROUND] += 1
            size = int(counts[NEAR])
            blocks = [(low, min(low + CHUNK, size)) for low in range(0, size, CHUNK)]
            run_blocks(partial(_relax_threaded, (*graph, *state, near, other, far)), blocks)
            near, other = other, near
            counts[NEAR], counts[OTHER] = counts[OTHER], 0
        tree = tree_of(rows, words, source) if self._predecessor else None
        milliseconds = (time.perf_counter() - started) * 1e3
        return SSSPResult(source, rows.distances(words), tree, milliseconds, int(counts[ROUND]))


def _relax_threaded(given: tuple[Any, ...], low: int, high: int) -> None:
    _relax(*given, low, high, False)


@serial
def _relax(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    words: NDArray[Any],
    marks: NDArray[Any],
    piled: NDArray[Any],
    counts: NDArray[Any],
    bound: NDArray[Any],
    near: NDArray[Any],
    other: NDArray[Any],
    far: NDArray[Any],
    low: int,
    high: int,
    alone: bool,
) -> None:
    """Relax all arcs of a part of the frontier; `alone` says that no other thread does so."""
    stamp = numpy.int32(counts[ROUND])
    end = bound[0]
    for i in range(low, high):
        u = near[i]
        word = words[u]
        for k in range(row_offsets[u], row_offsets[u + 1]):
            v = columns[k]
            longer = lengthened(word, weights[k])
            if longer >= words[v] or longer >= lower(words, v, longer, alone):
                continue
            if longer < end:
                mark = marks[v]
                if mark == stamp:
                    continue
                if alone:
                    marks[v] = stamp
                    other[counts[OTHER]] = v
                    counts[OTHER] += 1
                elif compare_and_swap(marks, v, mark, stamp) == mark:
                    other[fetch_add(counts, OTHER, 1)] = v
            elif alone:
                if piled[v] == 0:
                    piled[v] = 1
                    far[counts[FAR]] = v
                    counts[FAR] += 1
            elif piled[v] == 0 and compare_and_swap(piled, v, 0, 1) == 0:
                far[fetch_add(counts, FAR, 1)] = v


@serial
def _few(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    words: NDArray[Any],
    marks: NDArray[Any],
    piled: NDArray[Any],
    counts: NDArray[Any],
    bound: NDArray[Any],
    near: NDArray[Any],
    other: NDArray[Any],
    far: NDArray[Any],
    kept: NDArray[Any],
    width: Any,
    most: int,
) -> int:
    """Run rounds until a frontier has `most` vertices or all is done; return which queues were swapped."""
    swaps = 0
    while True:
        while 0 < counts[NEAR] < most:
            counts[ROUND] += 1
            size = counts[NEAR]
            _relax(
                row_offsets,
                columns,
                weights,
                words,
                marks,
                piled,
                counts,
                bound,
                near,
                other,
                far,
                0,
                size,
                True,
            )
            near, other = other, near
            counts[NEAR], counts[OTHER] = counts[OTHER], 0
            swaps ^= 1
        if counts[NEAR] > 0 or counts[FAR] == 0:
            return swaps
        # The next bucket begins at the nearest vertex of the pile, so that none is empty.
        begin = bound[0]
        nearest = words.dtype.type(numpy.int64(-1))
        for i in range(counts[FAR]):
            word = words[far[i]]
            if begin <= word < nearest:
                nearest = word
        bound[0] = max(lengthened(nearest, width), nearest + words.dtype.type(1))
        for i in range(counts[FAR]):
            v = far[i]
            word = words[v]
            if begin <= word < bound[0]:
                near[counts[NEAR]] = v
                counts[NEAR] += 1
                piled[v] = 0
            elif word < begin:
                piled[v] = 0
            else:
                kept[counts[KEPT]] = v
                counts[KEPT] += 1
        far, kept = kept, far
        counts[FAR], counts[KEPT] = counts[KEPT], 0
        swaps ^= 2
