"""Batches of searches on CPU threads: each thread has sources of its own, and a workspace."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import exact
from gravel.kernels.distances import bit_parallel
from gravel.kernels.distances import independent as one_by_one
from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.buffers import WORD, own_search, widest
from gravel.kernels.distances.interface import DEEP, Batches, Searches, is_deep, refuse_width
from gravel.kernels.interruptible import Threads
from gravel.kernels.threads import thread_count

FEW = 4
"""Sources below which a search for each is faster than a bit for each."""

CHUNK = 16
"""Independent searches that a thread takes at a time."""

NONE = numpy.empty(0, numpy.int64)


def prepare(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    batches: Batches,
    independent: bool | None,
) -> Searches:
    """Make a graph ready; parameters as of `gravel.kernels.distances.many.prepare`."""
    if independent is None:
        independent = batches.most < FEW or _deep(row_offsets, column_indices)
    return (Independent if independent else BitParallel)(row_offsets, column_indices, batches)


class _OnThreads:
    """Searches on threads, with the sums of the vertices of each thread."""

    independent: bool
    batch: int
    bytes: int

    def __init__(self, row_offsets: NDArray[Any], column_indices: NDArray[Any], batches: Batches) -> None:
        self._rows = row_offsets, column_indices
        self._count = len(row_offsets) - 1
        self._vertices, self._max_depth = batches.vertices, batches.max_depth
        self._symmetric = batches.symmetric
        self._sums: list[VertexAggregates] = []

    def vertices(self) -> VertexAggregates | None:
        """Return the sums of each vertex over all runs."""
        if not self._vertices:
            return None
        found = VertexAggregates.empty(self._count)
        for each in self._sums:
            found.add(each)
        return found

    def forget_vertices(self) -> None:
        """Make the sums of vertices what they are before any run."""
        for each in self._sums:
            each.forget()

    def _open(self, threads: int) -> None:
        """Make the sums of each thread; the thread itself begins with the first run."""
        self._sums = [VertexAggregates.empty(self._count if self._vertices else 0) for _ in range(threads)]
        self._threads = Threads(threads)

    def _results(self, into: Aggregates, thread: int) -> tuple[NDArray[Any], ...]:
        counts = numpy.empty((0, 0), numpy.int64) if into.counts is None else into.counts
        sums = self._sums[thread]
        own = (sums.reached, sums.total, sums.largest, self._threads.stop)
        return (into.reached, into.total, into.reciprocal, into.eccentricity, counts, *own)


class BitParallel(_OnThreads):
    """A bit for each source."""

    independent = False

    def __init__(self, row_offsets: NDArray[Any], column_indices: NDArray[Any], batches: Batches) -> None:
        super().__init__(row_offsets, column_indices, batches)
        most, memory = batches.most, batches.memory
        own = 24 * self._count if batches.vertices else 0
        threads, words, self.bytes = widest(
            self._count, column_indices.itemsize, most, thread_count(), memory, own
        )
        refuse_width(self.bytes, memory, min(most, WORD))
        self.words, self.threads = words, threads
        self.batch = threads * words * WORD
        dtype = column_indices.dtype
        self._spaces = [bit_parallel.Workspace(self._count, words, dtype) for _ in range(threads)]
        self._open(threads)

    def run(self, sources: NDArray[numpy.int64], into: Aggregates) -> None:
        """Search from up to `batch` sources, about as many on each thread."""
        part = max(min(WORD, len(sources)), -(-len(sources) // self.threads))

        def search(thread: int) -> None:
            first, last = thread * part, min((thread + 1) * part, len(sources))
            space = self._spaces[thread]
            bit_parallel.search_together(
                *self._rows,
                self._symmetric,
                self._max_depth,
                -(-(last - first) // WORD),
                sources[first:last],
                *space.rows,
                *space.marks,
                *space.queues,
                space.counter_digits,
                space.row,
                space.tally,
                *self._results(into.part(first, last), thread),
            )

        self._threads.map(search, range(-(-len(sources) // part)))


class Independent(_OnThreads):
    """A search for each source."""

    independent = True

    def __init__(self, row_offsets: NDArray[Any], column_indices: NDArray[Any], batches: Batches) -> None:
        super().__init__(row_offsets, column_indices, batches)
        each = exact(own_search(self._count, column_indices.itemsize))
        each += 24 * self._count if batches.vertices else 0
        refuse_width(each, batches.memory, 1)
        self.threads = max(1, min(thread_count(), batches.most, batches.memory // max(1, each)))
        self.bytes = self.threads * each
        self.batch = self.threads * CHUNK * 4
        dtype = column_indices.dtype
        self._spaces = [one_by_one.Workspace(self._count, dtype) for _ in range(self.threads)]
        self._open(self.threads)

    def run(self, sources: NDArray[numpy.int64], into: Aggregates) -> None:
        """Search from each source; threads take some at a time."""
        left = list(range(self.threads))

        def search(first: int) -> None:
            last = min(first + CHUNK, len(sources))
            thread = left.pop()
            space = self._spaces[thread]
            one_by_one.search_each(
                *self._rows,
                self._max_depth,
                sources[first:last],
                space.visited,
                space.queue,
                *self._results(into.part(first, last), thread),
            )
            left.append(thread)

        self._threads.map(search, range(0, len(sources), CHUNK))


def _deep(row_offsets: NDArray[Any], column_indices: NDArray[Any]) -> bool:
    n = len(row_offsets) - 1
    found = Aggregates.empty(1)
    space = one_by_one.Workspace(n, column_indices.dtype)
    start = numpy.array([numpy.diff(row_offsets).argmax()], numpy.int64)
    results = found.reached, found.total, found.reciprocal, found.eccentricity
    no_counts = numpy.empty((0, 0), numpy.int64)
    one_by_one.search_each(
        row_offsets,
        column_indices,
        DEEP + 1,
        start,
        space.visited,
        space.queue,
        *results,
        no_counts,
        NONE,
        NONE,
        NONE,
        numpy.zeros(1, numpy.int32),
    )
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), n)
