"""One stripe of a gang on the GPU of its process, which reads its peers' bins in place (CUDA IPC)."""

from __future__ import annotations

import numpy

from gravel.kernels.cuda import vertex_macro
from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.mapping import Mapping
from gravel.kernels.partition.cuda.meeting import MeetingPoint
from gravel.kernels.partition.waiting import given_up
from gravel.kernels.striped.cuda.launch import Launch
from gravel.kernels.striped.cuda.memory import MOST_ARCS, StripeMemory
from gravel.kernels.striped.layout import StripedRank
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels


class PeerStripe:
    """A stripe in the memory of the current device; all ranks of the gang make theirs at the same time.

    Every rank lives in a process of its own, on a device of its own that can read the others'. `leave` gives
    their memory back, when no rank searches any more.

    Parameters
    ----------
    part, vertex_count, options : as `gravel.kernels.striped.rank.StripedRankSearch` takes them.
    output : "distance", "predecessor" or "both".
    time_limit : seconds that a device waits for the others at a barrier; None as the options say.

    """

    def __init__(
        self,
        gang: Gathering,
        part: StripedRank,
        vertex_count: int,
        *,
        output: str,
        options: StripedOptions,
        max_depth: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self._gang = gang
        self._max_depth = max_depth
        wide = max(gang.all_gather(len(part.column_indices))) >= MOST_ARCS
        self._memory = StripeMemory(
            part,
            vertex_count=vertex_count,
            ranks=gang.size,
            offset_dtype=numpy.uint64 if wide else numpy.uint32,
            output=output,
            options=options,
        )
        point = MeetingPoint()
        self._mapping = Mapping(gang, self._memory, point)
        macros = {
            "VERTEX": vertex_macro(part.column_indices.dtype),
            "OFFSET": "u64" if wide else "u32",
            "TREE": self._memory.labels.tree,
        }
        self._time_limit = options.barrier_seconds if time_limit is None else time_limit
        self._launch = Launch(
            macros,
            self._mapping.rows,
            [gang.rank],
            self._mapping.points,
            gang.rank,
            vertex_count=vertex_count,
            point=point,
            options=options,
            time_limit=self._time_limit,
        )

    def wake(self) -> None:
        """Bring the GPU up to speed for a search that follows at once."""
        from gravel.kernels.cuda.wake import wake

        wake()

    def run(self, source: int) -> RankLabels:
        """Search from one vertex together with all ranks.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        import cupy

        start, end = self._launch.start(source, self._max_depth)
        end.synchronize()
        # Nobody starts anew before all know how this one ended.
        if any(self._gang.all_gather(self._launch.point.aborted)):
            self._launch.point.reset()
            self._gang.all_gather(None)
            raise RuntimeError(given_up(self._time_limit))
        if self._launch.grow():
            return self.run(source)
        taken = float(cupy.cuda.get_elapsed_time(start, end))
        (levels,) = self._launch.levels()
        labels = self._memory.labels
        predecessor = numpy.ascontiguousarray(labels.predecessor.get()) if labels.tree else None
        distance = numpy.ascontiguousarray(labels.distance.get())
        return RankLabels(distance, predecessor, taken, levels)

    def join(self, gang: Gathering) -> None:
        """Go on with another gang of the same ranks in the same processes."""
        self._gang = gang

    def leave(self, gang: Gathering) -> None:
        """Let go of the other ranks' memory; all ranks have to, before any frees its own."""
        self._gang = gang
        self._mapping.close(gang)
