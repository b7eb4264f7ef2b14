"""Delta-stepping on all threads: a frontier of near vertices, and one pile of farther ones.

Each vertex is in the frontier once a round (`marks`), and in the pile once. Rounds of few arcs, of which a
road network has thousands, run one after the other on this thread and without atomics. Graphs where two
buckets have most arcs, as social networks, are searched over rows in the order of weights from the second
search on (`light_heavy`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import compare_and_swap, fetch_add
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import run_blocks
from gravel.kernels.sssp import SSSPResult
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
from gravel.kernels.sssp.cpu.by_weight import is_concentrated, is_symmetric, order_by_weight
from gravel.kernels.sssp.cpu.light_heavy import LightHeavy
from gravel.kernels.sssp.cpu.tree import tree_of
from gravel.kernels.sssp.cpu.words import lengthened, lower
from gravel.kernels.sssp.weights import WeightedRows
from gravel.kernels.strategy import Ran

WIDTH = 4.0
"""Mean weights over the mean degree that a bucket is wide. On one thread, Kronecker 18 (degree 29) took 85 ms
with a width of 1/8 mean weight and 183 with 1; USA-road-NY (degree 2.8) took 23 and 17."""


def prepare(
    weighted: WeightedRows,
    *,
    predecessor: bool = True,
    width: float | None = None,
    by_weight: bool | None = None,
) -> DeltaStepping:
    """Make rows ready; see `gravel.kernels.sssp.prepare`.

    Parameters
    ----------
    width : how many mean weights a bucket is wide, above 0; by default `WIDTH` over the mean degree.
    by_weight : whether rows are copied in the order of weights, for light and heavy arcs and for pulls. By
        default the first search tells whether that pays for those after it.

    """
    width = WIDTH / weighted.mean_degree if width is None else width
    if not width > 0:
        raise ValueError(f"width is {width}; it must be above 0")
    return DeltaStepping(weighted, predecessor, width, by_weight)


class DeltaStepping:
    """Rows made ready, with the queues of a search."""

    prepare_milliseconds = 0.0
    ran: Ran

    def __init__(
        self, weighted: WeightedRows, predecessor: bool, width: float, by_weight: bool | None
    ) -> None:
        self._rows, self._predecessor = weighted, predecessor
        self._factor, self._width = width, weighted.width(width)
        self._queues = Queues(weighted.vertices)
        self._ordered: LightHeavy | None = None
        self.decided = {"width": width, "by_weight": bool(by_weight)}
        self._undecided, self._pays = by_weight is None and weighted.arcs > 0, bool(by_weight)
        if by_weight:
            self._order(directed=True)

    def _order(self, *, directed: bool) -> None:
        started = time.perf_counter()
        symmetric = is_symmetric(self._rows, self._queues.of_vertices[0])
        self._undecided = self._pays = False
        if symmetric or directed:
            ordered = order_by_weight(self._rows, symmetric=symmetric)
            self._ordered = LightHeavy(self._rows, ordered, self._factor, self._queues)
            self.decided["by_weight"] = True
        self.prepare_milliseconds += (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex."""
        rows = self._rows
        source = rows.check_source(source)
        if self._pays:
            self._order(directed=False)
            self.ran = replace(self.ran, options={**self.ran.options, **self.decided})
        words = numpy.full(rows.vertices, rows.unreached, rows.words)
        self._queues.clear()
        started = time.perf_counter()
        words[source] = 0
        found: NDArray[Any] | None = None
        if self._ordered is not None:
            rounds = self._ordered.search(words, source)
            if self._predecessor:
                found = self._ordered.tree(words, source)
        else:
            rounds = self._search(words, source)
            if self._predecessor:
                found = tree_of(rows, words, source)
        milliseconds = (time.perf_counter() - started) * 1e3
        distance = rows.distances(words)
        if self._undecided:
            # Once only, so that one search pays for no order, and many do not look each time.
            concentrated = is_concentrated(rows, distance, float(self._width))
            self._undecided, self._pays = concentrated is None, bool(concentrated)
        return SSSPResult(source, distance, found, milliseconds, rounds)

    def _search(self, words: NDArray[Any], source: int) -> int:
        rows, queues = self._rows, self._queues
        counts, bound = numpy.zeros(5, numpy.int64), numpy.zeros(1, rows.words)
        near, other, far, kept = queues.of_vertices
        near[0] = source
        counts[NEAR] = 1
        bound[0] = self._width if not rows.is_float else numpy.float64(self._width).view(numpy.uint64)
        graph = (rows.row_offsets, rows.column_indices, rows.weights)
        while True:
            state = (words, queues.marks, queues.piled, counts, bound)
            swaps = _few(*graph, *state, near, other, far, kept, self._width, THREADED_FROM)
            if swaps & 1:
                near, other = other, near
            if swaps & 2:
                far, kept = kept, far
            if not counts[NEAR]:
                return int(counts[ROUND])
            counts[ROUND] += 1
            size = int(counts[NEAR])
            blocks = [(low, min(low + CHUNK, size)) for low in range(0, size, CHUNK)]
            run_blocks(partial(_relax_threaded, (*graph, *state, near, other, far)), blocks)
            near, other = other, near
            counts[NEAR], counts[OTHER] = counts[OTHER], 0


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
        if next_bucket(words, piled, counts, bound, near, far, kept, width):
            far, kept = kept, far
            swaps ^= 2
