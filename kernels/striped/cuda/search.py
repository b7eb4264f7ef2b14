"""A striped search on GPUs: any number of ranks on each of this process, or one rank of a rank group."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.bfs.asked import Asked, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.devices import Devices
from gravel.kernels.partition.cuda.launching import width_macros
from gravel.kernels.partition.cuda.mapping import GroupRank
from gravel.kernels.partition.layout import PartitionedGraph, RankGraph, arc_count
from gravel.kernels.striped.cuda.launch import Launch
from gravel.kernels.striped.cuda.memory import LONGEST, MAX_ARCS, StripeMemory
from gravel.kernels.striped.layout import check_stripes
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels


class CudaStripedSearch:
    """A `gravel.kernels.bfs.Search` over stripes that live on GPUs of this process, in ascending runs.

    Labels are on the first device, in the numbering that was striped. Distances equal the CPU's, and without
    the bitmask predecessors too; with it any possible predecessor may stand where the smallest would.
    `milliseconds` is the longest of the devices, from its launch to its end, labels left with their ranks.
    `labels` has the ranks' records of the last search, with the times of their devices.

    Parameters
    ----------
    devices : of this process; the current one by default. Ranks are given to them in ascending runs.
    options : a history of more entries than a block has room for raises ValueError.
    longest : arcs of a row that one block reads.

    """

    strategy = "striped"
    reason = "the graph is striped over ranks"

    def __init__(
        self,
        graph: PartitionedGraph,
        asked: Asked = Asked(),
        options: StripedOptions = StripedOptions(),
        *,
        devices: Sequence[int] | None = None,
        longest: int = LONGEST,
    ) -> None:
        started = time.perf_counter()
        check_stripes(graph)
        self._asked, self.options = asked, options
        self._devices = Devices(devices, graph.ranks)
        self.vertices, self.ranks = graph.vertex_count, graph.ranks
        self.labels: tuple[RankLabels, ...] = ()
        wide = any(arc_count(part.nn) >= MAX_ARCS for part in graph.parts)
        facts: dict[str, Any] = {
            "vertex_count": graph.vertex_count,
            "ranks": graph.ranks,
            "offset_dtype": numpy.uint64 if wide else numpy.uint32,
            "asked": asked,
            "options": options,
            "longest": longest,
        }
        self._memory = self._devices.each_rank(lambda rank: StripeMemory(graph.parts[rank], **facts))
        vertex, tree = graph.parts[0].nn.column_indices.dtype, self._memory[0].labels.tree
        macros = {**width_macros(vertex, wide=wide), "TREE": tree}
        choices: dict[str, Any] = {"longest": longest, "options": options, "vertex_count": self.vertices}
        self._devices.prepare(self._memory, lambda view: Launch(macros, view, **choices))
        self._distance, self._predecessor = self._devices.on(0, self._allocate_labels)
        self._devices.synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _allocate_labels(self) -> tuple[Any | None, Any | None]:
        import cupy

        return self._asked.wanted(*self._asked.allocate(self.vertices, cupy))

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError when it is not in the graph, and RuntimeError when a device waited for another
        longer than the time limit; a further search may follow either.
        """
        check_source(source, self.vertices)
        milliseconds = self._devices.run(source, self._asked.depth)
        levels_of_ranks = [levels for every in self._devices.each(Launch.levels) for levels in every]
        own = [memory.labels for memory in self._memory]
        self.labels = tuple(
            RankLabels(labels.distance, labels.predecessor if labels.tree else None, milliseconds, levels)
            for labels, levels in zip(own, levels_of_ranks, strict=True)
        )
        for rank, labels in enumerate(self.labels):
            self._collect(rank, self._distance, labels.distance)
            self._collect(rank, self._predecessor, labels.predecessor)
        ways = ("push",) * len(self.labels[0].levels)
        return BFSResult(source, self._distance, self._predecessor, milliseconds, ways)

    def _collect(self, rank: int, whole: Any, own: Any) -> None:
        """Bring a rank's labels, which may be every other word of its keys, to the first device."""
        import cupy

        if whole is None:
            return
        home = self._devices.home[rank]
        packed = self._devices.on(home, lambda: cupy.ascontiguousarray(own))
        cupy.cuda.Device(self._devices.ids[home]).synchronize()

        def write() -> None:
            whole[rank :: self.ranks] = cupy.asarray(packed)

        self._devices.on(0, write)


class PeerStripe(GroupRank):
    """A striped search as one rank of a rank group.

    Parameters
    ----------
    part, vertex_count, asked, options : as `gravel.kernels.striped.rank.StripedRankSearch` takes them.

    """

    def __init__(
        self, group: Gathering, part: RankGraph, vertex_count: int, asked: Asked, options: StripedOptions
    ) -> None:
        self._depth = asked.depth
        wide = max(group.all_gather(arc_count(part.nn))) >= MAX_ARCS
        self._memory = StripeMemory(
            part,
            vertex_count=vertex_count,
            ranks=group.size,
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
            self._map(group, self._memory),
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
