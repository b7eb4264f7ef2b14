"""One stripe of a gang on the GPU of its process, which reads its peers' bins in place (CUDA IPC)."""

from __future__ import annotations

import numpy

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.group_rank import GroupRank
from gravel.kernels.partition.cuda.launching import width_macros
from gravel.kernels.partition.layout import RankGraph, arc_count
from gravel.kernels.striped.cuda.launch import Launch
from gravel.kernels.striped.cuda.memory import MOST_ARCS, StripeMemory
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels


class PeerStripe(GroupRank):
    """A striped search as one rank of a gang.

    Parameters
    ----------
    part, vertex_count, asked, options : as `gravel.kernels.striped.rank.StripedRankSearch` takes them.

    """

    def __init__(
        self, gang: Gathering, part: RankGraph, vertex_count: int, asked: Asked, options: StripedOptions
    ) -> None:
        self._depth = asked.depth
        wide = max(gang.all_gather(arc_count(part.nn))) >= MOST_ARCS
        self._memory = StripeMemory(
            part,
            vertex_count=vertex_count,
            ranks=gang.size,
            offset_dtype=numpy.uint64 if wide else numpy.uint32,
            asked=asked,
            options=options,
        )
        macros = {
            **width_macros(part.nn.column_indices.dtype, wide=wide),
            "TREE": self._memory.labels.tree,
        }
        self._launch: Launch = Launch(
            macros,
            self._map(gang, self._memory),
            vertex_count=vertex_count,
            options=options,
        )

    def run(self, source: int) -> RankLabels:
        """Search from one vertex together with all ranks.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        taken = self._run(source, self._depth)
        (levels,) = self._launch.levels()
        labels = self._memory.labels
        predecessor = numpy.ascontiguousarray(labels.predecessor.get()) if labels.tree else None
        distance = numpy.ascontiguousarray(labels.distance.get())
        return RankLabels(distance, predecessor, taken, levels)
