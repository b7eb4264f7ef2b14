"""What searches from many sources add up on a GPU."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.buffers import exact, make
from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.buffers import outputs


class Outputs:
    """Where a batch leaves its results on the device."""

    def __init__(self, sources: int, levels: int, vertices: int | None) -> None:
        import cupy

        self._levels = levels
        made = make(outputs(sources, levels, vertices), cupy).values()
        self._sources, *self._sums, self._reciprocal, self._by_level = list(made)[:6]
        self._of_vertices = list(made)[6:]

    @staticmethod
    def bytes(sources: int, levels: int, vertices: int | None) -> int:
        """State what they take."""
        return exact(outputs(sources, levels, vertices))

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

    def forget_vertices(self) -> None:
        """Make the sums of vertices what they are before any run."""
        for each, start in zip(self._of_vertices, (0, 0, -1), strict=False):
            each.fill(start)

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
