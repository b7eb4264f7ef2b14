"""Level-synchronous search over all ranks of a partition: in lock step here, or each rank on its own worker.

`prepare` simulates the ranks one after another in this process. `search_rank` is the same search as seen by
one rank of a gang, with nothing shared but what `all_gather` carries.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from kernels.bfs.result import BFSResult
from kernels.partition.layout import PartitionedGraph
from kernels.partition.rank_search import NOBODY, RankSearch, combine


class Gang(Protocol):
    """What a rank needs of the others; `stages.gang.RankContext` fits."""

    rank: int
    size: int

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all ranks."""
        ...


def _names(predecessor: NDArray[Any], dtype: Any) -> NDArray[Any]:
    return numpy.where(predecessor == NOBODY, -1, predecessor).astype(dtype)


def _predecessor_dtype(vertex_count: int) -> Any:
    return numpy.int32 if vertex_count < 1 << 31 else numpy.int64


class PartitionSearch:
    """A `kernels.bfs.Search` over a partition whose ranks are simulated in lock step.

    Results are in the numbering that was partitioned, with the smallest possible predecessors.
    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"

    def __init__(
        self, graph: PartitionedGraph, *, output: str = "both", max_depth: int | None = None
    ) -> None:
        started = time.perf_counter()
        self.graph = graph
        self.output = output
        self.max_depth = max_depth
        n = graph.vertex_count
        self._ranks = [RankSearch(part, graph.delegates, n, graph.ranks) for part in graph.parts]
        self._delegates = graph.delegates.astype(numpy.int64)
        self._distance = numpy.empty(n, numpy.int32)
        self._predecessor = numpy.empty(n if output != "distance" else 0, _predecessor_dtype(n))
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError when it is not in the graph."""
        if not 0 <= source < self.graph.vertex_count:
            raise ValueError(
                f"source {source} is not in the graph; it has vertices 0 to {len(self._distance) - 1}"
            )
        started = time.perf_counter()
        for rank in self._ranks:
            rank.start(source)
        level, frontier = 0, 1
        directions = []
        while frontier and (self.max_depth is None or level < self.max_depth):
            founds = [rank.visit() for rank in self._ranks]
            frontier = sum(rank.settle(*combine(founds, rank.rank)) for rank in self._ranks)
            directions.append("push")
            level += 1
        self._collect()
        return BFSResult(
            source=source,
            distance=self._distance if self.output != "predecessor" else None,
            predecessor=self._predecessor if self.output != "distance" else None,
            milliseconds=(time.perf_counter() - started) * 1e3,
            directions=tuple(directions),
        )

    def _collect(self) -> None:
        ranks = self.graph.ranks
        for rank in self._ranks:
            self._distance[rank.rank :: ranks] = rank.distance
        self._distance[self._delegates] = self._ranks[0].delegate_distance
        if self.output == "distance":
            return
        dtype = self._predecessor.dtype
        for rank in self._ranks:
            self._predecessor[rank.rank :: ranks] = _names(rank.predecessor, dtype)
        best = numpy.minimum.reduce([rank.delegate_predecessor for rank in self._ranks])
        self._predecessor[self._delegates] = _names(best, dtype)


def prepare(
    graph: PartitionedGraph, *, output: str = "both", max_depth: int | None = None
) -> PartitionSearch:
    """Make a partitioned graph ready for searches, as `kernels.bfs.prepare` does for a CSR graph.

    Parameters
    ----------
    output : "distance", "predecessor" or "both".
    max_depth : do not expand beyond this distance.

    """
    if output not in ("distance", "predecessor", "both"):
        raise ValueError(f"output is {output!r}; it can be 'distance', 'predecessor' or 'both'")
    return PartitionSearch(graph, output=output, max_depth=max_depth)


def search_rank(
    gang: Gang, state: RankSearch, source: int, *, max_depth: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Search from one vertex as one rank of a gang; every rank calls this with its own state.

    Returns this rank's `distance` (int32) and `predecessor` (int64, -1 for none), one value per local
    vertex: vertex v of the graph is entry v // p of rank v mod p. Delegates stand with their owners.
    """
    state.start(source)
    level, frontier = 0, 1
    while frontier and (max_depth is None or level < max_depth):
        founds = gang.all_gather(state.visit())
        frontier = sum(gang.all_gather(state.settle(*combine(founds, state.rank))))
        level += 1
    delegates = state.delegates.astype(numpy.int64)
    best = numpy.minimum.reduce(gang.all_gather(state.delegate_predecessor))
    own = delegates % state.ranks == state.rank
    distance, predecessor = state.distance.copy(), state.predecessor.copy()
    distance[delegates[own] // state.ranks] = state.delegate_distance[own]
    predecessor[delegates[own] // state.ranks] = best[own]
    return distance, _names(predecessor, numpy.int64)
