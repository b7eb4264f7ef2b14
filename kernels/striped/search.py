"""Searches over all stripes: in lock step here, or each rank on its own worker."""

from __future__ import annotations

from typing import Any

from gravel.kernels.exchange import Wire, drive
from gravel.kernels.exchange.endpoint import Endpoint
from gravel.kernels.partition.layout import PartitionedGraph, RankGraph
from gravel.kernels.partition.search import LockStepSearch
from gravel.kernels.striped.layout import check_stripes
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels, search_program
from gravel.kernels.striped.rank import StripedRankSearch


class StripedSearch(LockStepSearch):
    """A search over a striped graph.

    Results are in the numbering that was striped; predecessors are the smallest possible, as those of every
    search of a graph in one piece.

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
        check_stripes(graph)
        facts, tree = (graph.vertex_count, graph.ranks), output != "distance"

        def make(part: RankGraph) -> StripedRankSearch:
            return StripedRankSearch(part, *facts, tree=tree, options=options)

        super().__init__(graph, make, output=output, max_depth=max_depth)

    def _program(self, end: Endpoint, source: int) -> Any:
        return search_program(end, self._ranks[end.rank], source, max_depth=self.max_depth)


def search_rank(
    wire: Wire, state: StripedRankSearch, source: int, *, max_depth: int | None = None
) -> RankLabels:
    """Search from one vertex as one rank of a gang; every rank calls this with its own state."""
    return drive(search_program(Endpoint(wire), state, source, max_depth=max_depth), wire)
