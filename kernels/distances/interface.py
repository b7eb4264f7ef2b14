"""What searches from many sources are, wherever they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy
from numpy.typing import NDArray

from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates

DEEP = 64
"""Levels after which a search that has not reached half of the graph makes it a deep one. Web graphs with
long chains reach more by then, road networks of a million vertices a hundredth."""


class TooNarrow(ValueError):
    """The memory that may be used is less than the narrowest batch takes."""


@dataclass(frozen=True)
class Batches:
    """What searches are asked for, as `gravel.kernels.distances.many.prepare_rows` describes it.

    `most` sources are searched from in one run, at most.
    """

    symmetric: bool
    most: int
    max_depth: int
    levels: int
    vertices: bool
    memory: int


class Searches(Protocol):
    """A prepared graph. `batch` sources fit into one run; `bytes` is what a run takes beside the graph."""

    batch: int
    bytes: int
    independent: bool

    def run(self, sources: NDArray[numpy.int64], into: Aggregates) -> None:
        """Search from up to `batch` sources, and fill in their results, which are zero before."""
        ...

    def vertices(self) -> VertexAggregates | None:
        """Return the sums of each vertex over all runs, if they were asked for."""
        ...

    def forget_vertices(self) -> None:
        """Make the sums of vertices what they are before any run."""
        ...


def is_deep(levels: int, reached: int, vertices: int) -> bool:
    """Judge a search of at most `DEEP` + 1 levels from the vertex of most arcs."""
    return levels > DEEP and 2 * reached < vertices


def refuse_width(needed: int, memory: int, sources: int) -> None:
    """Raise `TooNarrow` where the narrowest batch does not fit."""
    if needed > memory:
        raise TooNarrow(
            f"{sources} searches at once take {needed:,} bytes beside the graph, and {memory:,} may be used"
        )
