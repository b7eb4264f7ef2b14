"""A search over a partition of one rank on this process's GPU, with all that NCCL ranks do."""

from __future__ import annotations

import time
from typing import Any

from gravel.kernels.bfs.asked import Asked, check_source
from gravel.kernels.bfs.buffers import predecessor_type
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.partition.layout import PartitionedGraph
from gravel.kernels.partition.nccl.rank import Connect, NcclRank
from gravel.kernels.partition.options import SearchOptions
from gravel.kernels.partition.program import RankLabels
from gravel.kernels.partition.search import directions_of


class Alone:
    """A gang of one."""

    rank, size = 0, 1

    def all_gather(self, value: Any) -> list[Any]:
        """Give back what is given."""
        return [value]


class NcclSearch:
    """A `gravel.kernels.bfs.Search` over a partition with one rank; labels are on the host.

    Raises ValueError for more ranks: each needs a GPU and a process of its own (`NcclRank`).
    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation; its rank goes level by level, with NCCL"

    def __init__(
        self,
        graph: PartitionedGraph,
        asked: Asked = Asked(),
        options: SearchOptions = SearchOptions(),
        *,
        connect_by: Connect | None = None,
    ) -> None:
        started = time.perf_counter()
        if graph.ranks != 1:
            raise ValueError(
                f"{graph.ranks} ranks were to share one GPU, and NCCL takes one rank of each; use as many "
                "GPUs as ranks, or transport: peer"
            )
        self._asked, self._vertices = asked, graph.vertex_count
        self.labels: tuple[RankLabels, ...] = ()
        self._rank = NcclRank(Alone(), graph.of_rank(0), asked, options, connect_by=connect_by)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError when it is not in the graph."""
        check_source(source, self._vertices)
        found = self._rank.run(source)
        self.labels = (found,)
        distance = found.distance if self._asked.distance else None
        predecessor = None
        if found.predecessor is not None:
            predecessor = found.predecessor.astype(predecessor_type(self._vertices), copy=False)
        return BFSResult(source, distance, predecessor, found.milliseconds, directions_of(self.labels))
