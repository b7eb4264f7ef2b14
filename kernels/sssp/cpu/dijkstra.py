"""Dijkstra's algorithm with a binary heap; vertices stay in the heap until they come out outdated."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.sssp import SSSPResult
from gravel.kernels.sssp.cpu.tree import tree_of
from gravel.kernels.sssp.weights import WeightedRows


def prepare(weighted: WeightedRows, *, predecessor: bool = True) -> Dijkstra:
    """Make rows ready; see `gravel.kernels.sssp.prepare`."""
    return Dijkstra(weighted, predecessor)


class Dijkstra:
    """Rows made ready; each run takes a heap of its own."""

    prepare_milliseconds = 0.0

    def __init__(self, weighted: WeightedRows, predecessor: bool) -> None:
        self._rows, self._predecessor = weighted, predecessor

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex."""
        rows = self._rows
        source = rows.check_source(source)
        # Integers below 2^53 would do in float64, and larger ones would not.
        distance = numpy.full(rows.vertices, -1, numpy.int64)
        if rows.is_float:
            distance = numpy.full(rows.vertices, numpy.inf, numpy.float64)
        started = time.perf_counter()
        _search(rows.row_offsets, rows.column_indices, rows.weights, distance, source)
        words = distance.view(numpy.uint64)
        if rows.words.itemsize == 4:
            distance = distance.astype(numpy.int32)
            words = distance.view(numpy.uint32)
        tree = tree_of(rows, words, source) if self._predecessor else None
        return SSSPResult(source, distance, tree, (time.perf_counter() - started) * 1e3)


@serial
def _search(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    distance: NDArray[Any],
    source: int,
) -> None:
    room = 1024
    keys, vertices = numpy.empty(room, distance.dtype), numpy.empty(room, numpy.int64)
    done = numpy.zeros(len(distance), numpy.bool_)
    distance[source] = 0
    keys[0], vertices[0] = 0, source
    size = 1
    while size > 0:
        key, u = keys[0], vertices[0]
        size -= 1
        last, moved = keys[size], vertices[size]
        at = 0
        while True:
            child = 2 * at + 1
            if child >= size:
                break
            if child + 1 < size and keys[child + 1] < keys[child]:
                child += 1
            if keys[child] >= last:
                break
            keys[at], vertices[at] = keys[child], vertices[child]
            at = child
        keys[at], vertices[at] = last, moved
        if done[u]:
            continue
        done[u] = True
        for k in range(row_offsets[u], row_offsets[u + 1]):
            v = numpy.int64(columns[k])
            longer = key + distance.dtype.type(weights[k])
            known = distance[v]
            if not done[v] and (known < 0 or longer < known):
                distance[v] = longer
                if size == room:
                    room *= 2
                    more, also = numpy.empty(room, distance.dtype), numpy.empty(room, numpy.int64)
                    more[:size], also[:size] = keys, vertices
                    keys, vertices = more, also
                at = size
                size += 1
                while at > 0 and keys[(at - 1) // 2] > longer:
                    keys[at], vertices[at] = keys[(at - 1) // 2], vertices[(at - 1) // 2]
                    at = (at - 1) // 2
                keys[at], vertices[at] = longer, v
