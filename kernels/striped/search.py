"""Searches over all stripes: in lock step here, or each rank on its own worker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.exchange import Wire, drive, run_in_lock_step
from gravel.kernels.exchange.endpoint import Endpoint
from gravel.kernels.partition.layout import PartitionedGraph
from gravel.kernels.partition.search import check_output, check_source, predecessor_dtype
from gravel.kernels.striped.layout import check_stripes
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels, search_program
from gravel.kernels.striped.rank import StripedRankSearch


def put_together(
    source: int, labels: Sequence[RankLabels], distance: Any, predecessor: Any, milliseconds: float
) -> BFSResult:
    """Write the ranks' labels into arrays of all vertices, or None, and give them as one result."""
    ranks = len(labels)
    for rank, own in enumerate(labels):
        if distance is not None:
            distance[rank::ranks] = own.distance
        if predecessor is not None:
            predecessor[rank::ranks] = own.predecessor
    depth = len(labels[0].levels)
    return BFSResult(source, distance, predecessor, milliseconds, ("push",) * depth)


class StripedSearch:
    """A `gravel.kernels.bfs.Search` over a striped graph whose ranks run in lock step.

    Results are in the numbering that was striped; predecessors are the smallest possible, as those of every
    search of a graph in one piece. `labels` has the ranks' records of the last search.

    Parameters
    ----------
    output : "distance", "predecessor" or "both".
    max_depth : do not expand beyond this distance.
    options : what is dropped before it is sent.

    """

    strategy = "striped"
    reason = "the graph is striped over ranks"

    def __init__(
        self,
        graph: PartitionedGraph,
        *,
        output: str = "both",
        max_depth: int | None = None,
        options: StripedOptions | None = None,
    ) -> None:
        started = time.perf_counter()
        check_output(output)
        check_stripes(graph)
        self.graph = graph
        self.max_depth = max_depth
        self.labels: tuple[RankLabels, ...] = ()
        n, tree = graph.vertex_count, output != "distance"
        self._ranks = [
            StripedRankSearch(part, n, graph.ranks, tree=tree, options=options) for part in graph.parts
        ]
        self._distance = numpy.empty(n, numpy.int32) if output != "predecessor" else None
        self._predecessor = numpy.empty(n, predecessor_dtype(n)) if tree else None
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _program(self, end: Endpoint, source: int) -> Any:
        return search_program(end, self._ranks[end.rank], source, max_depth=self.max_depth)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError when it is not in the graph."""
        check_source(source, self.graph.vertex_count)
        started = time.perf_counter()
        labels = run_in_lock_step(lambda end: self._program(end, source), self.graph.ranks)
        milliseconds = (time.perf_counter() - started) * 1e3
        self.labels = tuple(labels)
        return put_together(source, labels, self._distance, self._predecessor, milliseconds)


def search_rank(
    wire: Wire, state: StripedRankSearch, source: int, *, max_depth: int | None = None
) -> RankLabels:
    """Search from one vertex as one rank of a gang; every rank calls this with its own state."""
    return drive(search_program(Endpoint(wire), state, source, max_depth=max_depth), wire)
