"""What sums of betweenness are on threads and on a GPU alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

Rows = tuple[Any, Any]
"""row_offsets int64 (vertices + 1,), column_indices uint32 or uint64 (arcs,): NumPy's or CuPy's."""


class TooManyPaths(ValueError):
    """A vertex has more shortest paths from a source than a float64 holds, about 10^308."""

    def __init__(self, source: int) -> None:
        self.source = source
        super().__init__(
            f"the shortest paths from vertex {source} to some vertex are more than 10^308, which no float64 "
            "holds; betweenness cannot be computed on this graph"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source,)


@dataclass(frozen=True)
class Wanted:
    """What is summed.

    Parameters
    ----------
    forward, backward : the rows of successors and of predecessors, the same for a symmetric graph. Parallel
        arcs count as different paths.
    sources : how many will be searched from in all, 1 or more.
    of_arcs : sum by arc of `forward`, and not by vertex.
    endpoints : count a path at its ends, too; for vertices alone.
    weights : the lengths of arcs (arcs,), not negative; by default each is 1 long. On the CPU alone, where
        rows of predecessors are not read then.

    """

    forward: Rows
    backward: Rows
    sources: int
    of_arcs: bool = False
    endpoints: bool = False
    weights: NDArray[Any] | None = None

    @property
    def vertices(self) -> int:
        """Count them."""
        return len(self.forward[0]) - 1

    @property
    def size(self) -> int:
        """Count the sums: one an arc, or one a vertex."""
        return len(self.forward[1]) if self.of_arcs else self.vertices


class Sums(Protocol):
    """A prepared graph. `batch` sources fit into one run; `bytes` is what a run takes beside the graph.

    Each `part` of the sources is summed by itself, and sums of parts are added in their order. A run begins
    with a part.
    """

    batch: int
    part: int
    bytes: int
    form: str
    """What the rounding of the sums depends on, beside the sources."""

    def run(self, sources: NDArray[numpy.int64]) -> None:
        """Add the shares of up to `batch` sources; raises `TooManyPaths`."""
        ...

    def parts(self, sources: NDArray[numpy.int64]) -> Iterator[NDArray[numpy.float64]]:
        """Yield the sums of each part of some sources in turn, on the host; each is good until the next.

        They are not added to the sums of all. Raises `TooManyPaths`.
        """
        ...

    def get(self) -> NDArray[numpy.float64]:
        """Return a copy of the sums so far, on the host."""
        ...

    def set(self, sums: NDArray[numpy.float64]) -> None:
        """Go on from these sums."""
        ...
