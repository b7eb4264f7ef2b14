"""Searches over all ranks of a partition: in lock step here, or each rank on its own worker.

`PartitionSearch` runs the ranks of `gravel.kernels.partition.program` one after another in this process.
`search_rank` is the same program as one rank of a rank group.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.exchange import Wire, drive, run_in_lock_step
from gravel.kernels.exchange.endpoint import Endpoint
from gravel.kernels.partition.layout import PartitionedGraph
from gravel.kernels.partition.options import OPTIMIZED, SearchOptions
from gravel.kernels.partition.program import RankLabels, search_program
from gravel.kernels.partition.rank_search import RankSearch


def directions_of(labels: Sequence[Any]) -> tuple[str, ...]:
    """Name each level's direction: "pull" where any rank visited nd, dn or dd backward."""
    levels = zip(*(rank.levels for rank in labels), strict=True)
    turned = ({name for record in level for name in record.backward} for level in levels)
    return tuple("pull" if names & set(OPTIMIZED) else "push" for names in turned)


def put_together(
    labels: Sequence[Any], distance: NDArray[Any] | None, predecessor: NDArray[Any] | None
) -> None:
    """Write the ranks' labels into arrays of all vertices."""
    ranks = len(labels)
    for rank, own in enumerate(labels):
        if distance is not None:
            distance[rank::ranks] = own.distance
        if predecessor is not None and own.predecessor is not None:
            predecessor[rank::ranks] = own.predecessor


class LockStepSearch:
    """A `gravel.kernels.bfs.Search` whose ranks take turns in this process; subclasses say what one does.

    `labels` has the ranks' records of the last search.
    """

    strategy: str
    reason: str

    def __init__(self, graph: PartitionedGraph, query: Query, make: Callable[[int], Any]) -> None:
        started = time.perf_counter()
        self.graph = graph
        self.labels: tuple[Any, ...] = ()
        self._ranks = [make(rank) for rank in range(graph.ranks)]
        self._distance, self._predecessor = query.wanted(*query.allocate(graph.vertex_count, numpy))
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _program(self, end: Endpoint, source: int) -> Any:
        raise NotImplementedError

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError when it is not in the graph."""
        check_source(source, self.graph.vertex_count)
        started = time.perf_counter()
        labels = run_in_lock_step(lambda end: self._program(end, source), self.graph.ranks)
        put_together(labels, self._distance, self._predecessor)
        milliseconds = (time.perf_counter() - started) * 1e3
        self.labels = tuple(labels)
        return BFSResult(source, self._distance, self._predecessor, milliseconds, directions_of(labels))


class PartitionSearch(LockStepSearch):
    """A search over a partition.

    Results are in the numbering that was partitioned; predecessors as `gravel.kernels.partition.rank_search`
    says.

    Raises ValueError where the options' groups do not fit the ranks.
    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"

    def __init__(
        self, graph: PartitionedGraph, query: Query = Query(), options: SearchOptions = SearchOptions()
    ) -> None:
        super().__init__(graph, query, lambda rank: RankSearch(graph.of_rank(rank), query, options))

    def _program(self, end: Endpoint, source: int) -> Any:
        return search_program(end, self._ranks[end.rank], source)


def search_rank(wire: Wire, state: RankSearch, source: int) -> RankLabels:
    """Search from one vertex as one rank of a rank group; every rank calls this with its own state."""
    return drive(search_program(Endpoint(wire), state, source), wire)
