"""Betweenness on CPU threads: each searches from sources of its own, and their sums are added in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.betweenness.brandes import Workspace, search_each
from gravel.kernels.betweenness.buffers import weighted_workspace, workspace
from gravel.kernels.betweenness.interface import Sums, TooManyPaths, Wanted
from gravel.kernels.betweenness.weighted import WeightedWorkspace, search_each_by_weight
from gravel.kernels.buffers import exact
from gravel.kernels.distances.interface import refuse_width
from gravel.kernels.interruptible import Threads
from gravel.kernels.threads import thread_count

MAX_SHARED = 32
"""Sources whose shares are added up by themselves first. Adding their sums to those of all costs a thread as
much as 1 or 2 percent of as many searches."""

SHARES = 64
"""Parts of the sources at least, so that few sources keep all threads busy."""

ROUNDS = 4
"""Sums that a thread makes in one run, of graphs that are not large."""

RUN_ARCS = 1 << 30
"""Arcs that the searches of one thread go over in a run of more than one sum at most: some 10 s."""

NO_LIMIT = 1 << 62


def prepare(wanted: Wanted, memory: int | None, deep: bool | None) -> Sums:
    """Make a graph ready; parameters as of `gravel.kernels.betweenness.sums.prepare`.

    A thread searches from one source at a time, in `deep` graphs and others.
    """
    return OnThreads(wanted, NO_LIMIT if memory is None else memory)


class OnThreads:
    """Workspaces of all threads, and the sums.

    Sources are cut into parts whose length depends on their number alone, and the sums of parts are added in
    their order: so the result is the same with any number of threads.
    """

    def __init__(self, wanted: Wanted, memory: int) -> None:
        forward, sources, n, size = wanted.forward, wanted.sources, wanted.vertices, wanted.size
        dtype, weights = forward[1].dtype, wanted.weights
        if weights is None:
            each = exact(workspace(n, dtype.itemsize, size))
        else:
            is_float = weights.dtype.kind == "f"
            each = exact(weighted_workspace(n, dtype.itemsize, size, is_float=is_float))
        refuse_width(each + 8 * size, memory, 1)
        self.part = max(1, min(MAX_SHARED, sources // SHARES))
        parts = -(-sources // self.part)
        self.threads = max(1, min(thread_count(), parts, (memory - 8 * size) // each))
        self.bytes = self.threads * each + 8 * size
        rounds = max(1, min(ROUNDS, RUN_ARCS // (self.part * max(1, len(forward[1])))))
        self.batch = self.threads * self.part * rounds
        self.form = f"parts of {self.part}"
        self._rows = (*forward, *wanted.backward) if weights is None else (*forward, weights)
        self._search_each: Any = search_each if weights is None else search_each_by_weight
        self._options = wanted.of_arcs, wanted.endpoints
        self._spaces: list[Any] = [
            Workspace(n, size, dtype) if weights is None else WeightedWorkspace(n, size, dtype, weights.dtype)
            for _ in range(self.threads)
        ]
        self._sums = numpy.zeros(size, numpy.float64)
        self._threads = Threads(self.threads)

    def run(self, sources: NDArray[numpy.int64]) -> None:
        """Add the shares of up to `batch` sources; raises `TooManyPaths`."""
        for part in self.parts(sources):
            numpy.add(self._sums, part, out=self._sums)

    def parts(self, sources: NDArray[numpy.int64]) -> Iterator[NDArray[numpy.float64]]:
        """Yield the sums of each `part` sources in turn; raises `TooManyPaths`."""
        parts = [sources[first : first + self.part] for first in range(0, len(sources), self.part)]
        for first in range(0, len(parts), self.threads):
            some = parts[first : first + self.threads]
            spaces = self._spaces[: len(some)]
            for space in spaces:
                space.sums[:] = 0
            for source in self._threads.map(self._search, some, spaces):
                if source >= 0:
                    raise TooManyPaths(source)
            for space in spaces:
                yield space.sums

    def get(self) -> NDArray[numpy.float64]:
        """Return a copy of the sums so far."""
        return self._sums.copy()

    def set(self, sums: NDArray[numpy.float64]) -> None:
        """Go on from these sums."""
        self._sums[:] = sums

    def _search(self, sources: NDArray[Any], space: Any) -> int:
        arguments = (*self._options, space.search, space.sums, self._threads.stop)
        return int(self._search_each(self._rows, sources, *arguments))
