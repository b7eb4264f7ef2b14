"""Searches by weights from many sources whose results are sums: Dijkstra's from each, on the CPU's threads.

    from gravel.kernels.distances.weighted import aggregate

    found = aggregate(row_offsets, column_indices, weights, sources)
    closeness = (found.reached - 1) / found.total

Distances are added up from the source on, and sums in the order of the distances or, of a vertex, of the
sources: they are the same to the last bit with any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import exact, make
from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.buffers import own_weighted_search, sums_of_vertices
from gravel.kernels.distances.interface import refuse_width
from gravel.kernels.distances.many import Progress, checked, run_all
from gravel.kernels.interruptible import Threads
from gravel.kernels.jit import serial
from gravel.kernels.ordered.buffers import UNSEEN
from gravel.kernels.ordered.dijkstra import nearest_first
from gravel.kernels.threads import thread_count

CHUNK = 16
"""Searches that a thread makes at a time."""


class ByWeight:
    """Rows with weights made ready, as `gravel.kernels.distances.interface.Searches`; sums are float64."""

    independent = True

    def __init__(
        self,
        row_offsets: NDArray[numpy.int64],
        column_indices: NDArray[Any],
        weights: NDArray[Any],
        *,
        sources: int,
        vertices: bool = False,
        memory: int | None = None,
    ) -> None:
        """Make all arrays; raises `TooNarrow` where not even one search fits in `memory`.

        `weights` are integers or floats (arcs,), none negative or NaN, and `vertices` says whether sums are
        wanted for each vertex over the sources as well.
        """
        n = len(row_offsets) - 1
        own = own_weighted_search(n, column_indices.itemsize, is_float=weights.dtype.kind == "f")
        each, sums = exact(own), exact(sums_of_vertices(n)) if vertices else 0
        threads = max(1, min(thread_count(), sources))
        if memory is not None:
            refuse_width(each + sums, memory, 1)
            threads = max(1, min(threads, (memory - sums) // max(1, each)))
        self.bytes = threads * each + sums
        self.batch = threads * CHUNK * 4
        self._rows = row_offsets, column_indices, weights
        self._spaces = [tuple(make(own, numpy).values()) for _ in range(threads)]
        self._sums = VertexAggregates.empty(n, numpy.float64) if vertices else None
        self._threads = Threads(threads)

    def run(self, sources: NDArray[numpy.int64], into: Aggregates) -> None:
        """Search from up to `batch` sources, and fill in their results, which are zero before."""
        results = into.reached, into.total, into.reciprocal, into.eccentricity
        stop, free = self._threads.stop, list(self._spaces)

        def search(first: int) -> None:
            space = free.pop()
            for at in range(first, min(first + CHUNK, len(sources))):
                _clear(space, _search(self._rows, sources[at : at + 1], space, at, results, stop))
            free.append(space)

        if self._sums is None:
            self._threads.map(search, range(0, len(sources), CHUNK))
            return
        sums = self._sums.reached, self._sums.total, self._sums.largest
        for first in range(0, len(sources), len(self._spaces)):
            places = range(first, min(first + len(self._spaces), len(sources)))
            tails = self._threads.map(
                lambda at, space: _search(self._rows, sources[at : at + 1], space, at, results, stop),
                places,
                self._spaces[: len(places)],
            )
            for space, tail in zip(self._spaces, tails, strict=False):
                _add(space, tail, *sums)
                _clear(space, tail)

    def vertices(self) -> VertexAggregates | None:
        """Return the sums of each vertex over all runs, if they were asked for."""
        return self._sums

    def forget_vertices(self) -> None:
        """Make the sums of vertices what they are before any run."""
        if self._sums is not None:
            self._sums.forget()


def aggregate(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    weights: NDArray[Any],
    sources: Any,
    *,
    progress: Progress | None = None,
    vertices: bool = False,
    memory: int | None = None,
) -> Aggregates:
    """Search from all sources, batch by batch; parameters as of `ByWeight`.

    Raises ValueError for a source that is no vertex, and `TooNarrow`.
    """
    starts = checked(sources, len(row_offsets) - 1)
    found = Aggregates.empty(len(starts), dtype=numpy.float64)
    rows = row_offsets, column_indices, weights
    searches = ByWeight(*rows, sources=len(starts), vertices=vertices, memory=memory)
    run_all(searches, starts, found, progress)
    return found if not vertices else Aggregates(**vars(found) | {"vertices": searches.vertices()})


@serial
def _search(rows: Any, source: NDArray[Any], space: Any, at: int, results: Any, stop: NDArray[Any]) -> int:
    """Search from one source, whose results are those at a place; returns the vertices that it reaches."""
    reached, total, reciprocal, largest = results
    _, best, order = space[:3]
    tail: int = nearest_first(rows, source, -1, False, best.dtype.type(0), space, stop)
    for i in range(tail):
        distance = numpy.float64(best[order[i]])
        total[at] += distance
        if distance > 0:
            reciprocal[at] += 1.0 / distance
    reached[at] = tail
    largest[at] = numpy.float64(best[order[tail - 1]])
    return tail


@serial
def _add(space: Any, tail: int, reached: NDArray[Any], total: NDArray[Any], largest: NDArray[Any]) -> None:
    _, best, order = space[:3]
    for i in range(tail):
        v = order[i]
        distance = numpy.float64(best[v])
        reached[v] += 1
        total[v] += distance
        largest[v] = max(largest[v], distance)


@serial
def _clear(space: Any, tail: int) -> None:
    place, _, order = space[:3]
    for i in range(tail):
        place[order[i]] = UNSEEN
