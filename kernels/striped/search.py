"""Searches over all stripes: in lock step here, or each rank on its own worker."""

from __future__ import annotations

from typing import Any

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.exchange import Wire, drive
from gravel.kernels.exchange.endpoint import Endpoint
from gravel.kernels.partition.layout import PartitionedGraph
from gravel.kernels.partition.search import LockStepSearch
from gravel.kernels.striped.layout import check_stripes
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels, search_program
from gravel.kernels.striped.rank import StripedRankSearch


class StripedSearch(LockStepSearch):
    """A search over a striped graph.

    Results are in the numbering that was striped; predecessors are the smallest possible, as those of every
    search of a graph in one piece.
    """

    strategy = "striped"
    reason = "the graph is striped over ranks"

    def __init__(
        self, graph: PartitionedGraph, asked: Asked = Asked(), options: StripedOptions = StripedOptions()
    ) -> None:
        check_stripes(graph)
        facts = graph.vertex_count, graph.ranks
        super().__init__(
            graph, asked, lambda rank: StripedRankSearch(graph.parts[rank], *facts, asked, options)
        )

    def _program(self, end: Endpoint, source: int) -> Any:
        return search_program(end, self._ranks[end.rank], source)


def search_rank(wire: Wire, state: StripedRankSearch, source: int) -> RankLabels:
    """Search from one vertex as one rank of a gang; every rank calls this with its own state."""
    return drive(search_program(Endpoint(wire), state, source), wire)
