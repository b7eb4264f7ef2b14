"""Batches of searches on a GPU: which of the two kinds fits a graph, and how wide a batch is."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.many import DEEP, Searches, is_deep
from gravel.kernels.distances.sizes import BATCH

MAX_INDEPENDENT = 1 << 32
"""Vertices from which the queue of a block would need wider counters."""

USABLE = 0.9
"""Share of the free memory of a device that a batch may take; the pool of CuPy rounds blocks up."""


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    sources: int,
    max_depth: int,
    levels: int,
    vertices: bool,
    batch: int | None,
    memory: int | None,
    independent: bool | None,
) -> Searches:
    """Make a graph ready; parameters as of `gravel.kernels.distances.many.prepare`."""
    from gravel.kernels.distances.bit_parallel_cuda import BitParallel
    from gravel.kernels.distances.independent_cuda import Independent

    memory = free_bytes() if memory is None else memory
    rows = row_offsets, column_indices
    vertex_count = len(row_offsets) - 1
    if not independent or vertex_count >= MAX_INDEPENDENT:
        most = min(sources, BATCH if batch is None else batch)
        found = BitParallel(*rows, symmetric, max_depth, most, levels, vertices, memory)
        if independent is not None or vertex_count >= MAX_INDEPENDENT or not _deep(found, row_offsets):
            return found
        del found
    most = sources if batch is None else min(sources, batch)
    return Independent(*rows, max_depth, most, levels, vertices, memory)


def _deep(searches: Any, row_offsets: Any) -> bool:
    found = Aggregates.empty(1)
    degrees = row_offsets[1:] - row_offsets[:-1]
    searches.run(numpy.array([int(degrees.argmax())]), found, max_depth=DEEP + 1)
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), len(degrees))


class Outputs:
    """Where a batch leaves its results on the device."""

    def __init__(self, sources: int, levels: int, vertices: int | None) -> None:
        import cupy

        self._levels = levels
        self._sources = cupy.zeros(sources, cupy.int64)
        self._sums = [cupy.zeros(sources, cupy.int64) for _ in range(3)]
        self._reciprocal = cupy.zeros(sources, cupy.float64)
        self._by_level = cupy.zeros(max(1, sources * levels), cupy.int64)
        self._of_vertices: list[Any] = []
        if vertices is not None:
            self._of_vertices = [cupy.zeros(vertices, cupy.int64) for _ in range(2)]
            self._of_vertices.append(cupy.full(vertices, -1, cupy.int64))

    @staticmethod
    def bytes(sources: int, levels: int, vertices: int | None) -> int:
        """State what they take."""
        return sources * (40 + 8 * levels) + 24 * (vertices or 0)

    @property
    def sources(self) -> Any:
        """The sources of the batch, int64."""
        return self._sources

    @property
    def of_sources(self) -> tuple[Any, ...]:
        """The arguments of a kernel: reached, total, reciprocal, eccentricity, counts by level, levels."""
        reached, total, eccentricity = self._sums
        levels = numpy.uint64(self._levels)
        return reached, total, self._reciprocal, eccentricity, self._by_level, levels

    @property
    def of_vertices(self) -> tuple[Any, ...]:
        """The arguments of a kernel: reached, total, largest, or null pointers."""
        return tuple(self._of_vertices) or (numpy.uint64(0),) * 3

    def begin(self, sources: Any) -> None:
        """Upload sources, and make the results of sources zero."""
        self._sources[: len(sources)].set(numpy.ascontiguousarray(sources, numpy.int64))
        for each in (*self._sums, self._reciprocal, self._by_level):
            each.fill(0)

    def end(self, into: Aggregates) -> None:
        """Download the results of sources."""
        count = len(into.reached)
        reached, total, eccentricity = self._sums
        into.reached[:] = reached[:count].get()
        into.total[:] = total[:count].get()
        into.reciprocal[:] = self._reciprocal[:count].get()
        into.eccentricity[:] = eccentricity[:count].get()
        if into.counts is not None:
            into.counts[:] = self._by_level[: count * self._levels].get().reshape(count, self._levels)

    def vertices(self) -> VertexAggregates | None:
        """Download the sums of vertices."""
        return VertexAggregates(*(each.get() for each in self._of_vertices)) if self._of_vertices else None


def free_bytes() -> int:
    """Return the bytes of the device that a batch may take."""
    import cupy

    pool = cupy.get_default_memory_pool()
    return int(USABLE * (cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes()))
