"""Partitioned searches over NCCL: level by level from the host, one rank on each GPU, on any number of hosts.

What to call, in every rank at the same time (`group` is a `gravel.stages.rank_group.RankContext`)::

    rank = NcclRank(group, graph.of_rank(group.rank), Query(symmetric=True), SearchOptions())
    labels = rank.run(source)                                             # -> RankLabels
    rank.leave(group)

`why_not()` says in a sentence why NCCL cannot be used here. `gravel.kernels.partition.cuda` is for ranks of
one host, whose GPUs read each other's memory inside a single launch.
"""

from __future__ import annotations

from gravel.kernels.partition.nccl.communicator import (
    NcclCommunicator,
    NcclMissing,
    connect,
    why_not,
)
from gravel.kernels.partition.nccl.rank import NcclRank, NcclSearch

__all__ = [
    "NcclCommunicator",
    "NcclMissing",
    "NcclRank",
    "NcclSearch",
    "connect",
    "why_not",
]
