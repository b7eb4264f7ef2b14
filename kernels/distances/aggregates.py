"""What many searches find in sum, per source and per vertex, without a label of each pair of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.distances.buffers import sums_of_sources, sums_of_vertices


@dataclass(frozen=True)
class Aggregates:
    """Per source, in the order of the sources; arrays are NumPy's. Distances by weights are float64.

    `counts[i, d]` vertices are at distance d of source i, for d below `levels`; None where no levels were
    asked for. `vertices` are the sums over the sources, where they were asked for.
    """

    reached: Any  # int64 (sources,): vertices, the source included
    total: Any  # int64 or float64 (sources,): sum of the distances
    reciprocal: Any  # float64 (sources,): sum of 1 / distance over all others
    eccentricity: Any  # int64 or float64 (sources,): largest distance
    counts: Any | None = None  # int64 (sources, levels)
    vertices: VertexAggregates | None = None

    @classmethod
    def empty(
        cls,
        sources: int,
        levels: int = 0,
        vertices: VertexAggregates | None = None,
        dtype: Any = numpy.int64,
    ) -> Aggregates:
        """Make room for the results of so many sources; `dtype` is that of distances."""
        made = make(sums_of_sources(sources, dtype=numpy.dtype(dtype).str[1:]), numpy)
        return cls(
            **made,
            counts=numpy.zeros((sources, levels), numpy.int64) if levels else None,
            vertices=vertices,
        )

    def back(self, order: Any) -> Aggregates:
        """Return the results in the order in which `order` took the sources from."""
        place = numpy.empty_like(order)
        place[order] = numpy.arange(len(order))
        return Aggregates(
            self.reached[place],
            self.total[place],
            self.reciprocal[place],
            self.eccentricity[place],
            None if self.counts is None else self.counts[place],
            self.vertices,
        )

    def part(self, first: int, last: int) -> Aggregates:
        """Return views of the results of some sources."""
        return Aggregates(
            self.reached[first:last],
            self.total[first:last],
            self.reciprocal[first:last],
            self.eccentricity[first:last],
            None if self.counts is None else self.counts[first:last],
            self.vertices,
        )


@dataclass(frozen=True)
class VertexAggregates:
    """Per vertex over all sources that reach it; a source reaches itself at distance 0."""

    reached: Any  # int64 (vertices,): sources
    total: Any  # int64 or float64 (vertices,): sum of the distances from them
    largest: Any  # int64 or float64 (vertices,): the largest of these, -1 where no source reaches the vertex

    @classmethod
    def empty(cls, vertices: int, dtype: Any = numpy.int64) -> VertexAggregates:
        """Make room for the results of all vertices; `dtype` is that of distances."""
        return cls(**make(sums_of_vertices(vertices, dtype=numpy.dtype(dtype).str[1:]), numpy))

    def forget(self) -> None:
        """Make them what they are before any source."""
        for each, start in zip((self.reached, self.total, self.largest), (0, 0, -1), strict=True):
            each[:] = start

    def add(self, other: VertexAggregates) -> None:
        """Take in what other sources found."""
        numpy.add(self.reached, other.reached, out=self.reached)
        numpy.add(self.total, other.total, out=self.total)
        numpy.maximum(self.largest, other.largest, out=self.largest)
