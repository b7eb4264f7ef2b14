"""Searches over all ranks of a partition: in lock step here, or each rank on its own worker.

`PartitionSearch` runs the ranks of `gravel.kernels.partition.program` one after another in this process.
`search_rank` is the same program as one rank of a gang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.asked import check_output, check_source, predecessor_dtype
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.exchange import Wire, drive, run_in_lock_step
from gravel.kernels.exchange.endpoint import Endpoint
from gravel.kernels.partition.layout import PartitionedGraph, RankGraph
from gravel.kernels.partition.options import OPTIMIZED, SearchOptions
from gravel.kernels.partition.program import RankLabels, search_program
from gravel.kernels.partition.rank_search import RankSearch


def directions_of(labels: Sequence[Any]) -> tuple[str, ...]:
    """Name each level's direction: "pull" where any rank visited nd, dn or dd backward."""
    levels = zip(*(rank.levels for rank in labels), strict=True)
    turned = ({name for record in level for name in record.backward} for level in levels)
    return tuple("pull" if names & set(OPTIMIZED) else "push" for names in turned)


def put_together(
    labels: Sequence[Any],
    distance: NDArray[Any] | None,
    predecessor: NDArray[Any] | None,
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

    def __init__(
        self, graph: PartitionedGraph, make: Callable[[RankGraph], Any], *, output: str, max_depth: int | None
    ) -> None:
        started = time.perf_counter()
        check_output(output)
        self.graph, self.output, self.max_depth = graph, output, max_depth
        self.labels: tuple[Any, ...] = ()
        n = graph.vertex_count
        self._ranks = [make(part) for part in graph.parts]
        self._distance = numpy.empty(n, numpy.int32) if output != "predecessor" else None
        self._predecessor = numpy.empty(n, predecessor_dtype(n)) if output != "distance" else None
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

    Parameters
    ----------
    output : "distance", "predecessor" or "both".
    max_depth : do not expand beyond this distance.
    symmetric : whether every arc has its reverse; only then may a direction turn.
    options : what else can be chosen; raises ValueError where its groups do not fit the ranks.

    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"

    def __init__(
        self,
        graph: PartitionedGraph,
        *,
        output: str = "both",
        max_depth: int | None = None,
        symmetric: bool = False,
        options: SearchOptions | None = None,
    ) -> None:
        def make(part: RankGraph) -> RankSearch:
            facts = graph.delegates, graph.vertex_count, graph.ranks
            return RankSearch(part, *facts, symmetric=symmetric, options=options)

        super().__init__(graph, make, output=output, max_depth=max_depth)

    def _program(self, end: Endpoint, source: int) -> Any:
        tree = self.output != "distance"
        return search_program(end, self._ranks[end.rank], source, max_depth=self.max_depth, tree=tree)


def search_rank(
    wire: Wire, state: RankSearch, source: int, *, max_depth: int | None = None, tree: bool = True
) -> RankLabels:
    """Search from one vertex as one rank of a gang; every rank calls this with its own state."""
    return drive(search_program(Endpoint(wire), state, source, max_depth=max_depth, tree=tree), wire)
