"""Components over ranks on GPUs: ranks on the devices of this process, or one rank of a rank group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.components import ComponentsResult
from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.components import RankComponents
from gravel.kernels.partition.cuda.components_launch import ComponentsLaunch, Rounds
from gravel.kernels.partition.cuda.components_memory import ComponentsMemory
from gravel.kernels.partition.cuda.devices import Devices
from gravel.kernels.partition.cuda.launching import width_macros
from gravel.kernels.partition.cuda.mapping import GroupRank
from gravel.kernels.partition.cuda.search import WIDE
from gravel.kernels.partition.layout import PartitionedGraph, RankPart, widest
from gravel.kernels.partition.options import BARRIER_SECONDS


class CudaComponents:
    """Components of a partition whose ranks live on GPUs of this process, in ascending runs.

    Labels are on the first device and equal the CPU's. `milliseconds` is the longest of the devices, from its
    launch to its end. `rounds_run[i]` is what the i-th device tells of the last run.

    Raises ValueError for more ranks than the devices hold.
    """

    def __init__(
        self,
        graph: PartitionedGraph,
        *,
        symmetric: bool,
        devices: Sequence[int] | None = None,
        time_limit: float = BARRIER_SECONDS,
    ) -> None:
        self._devices = Devices(devices, graph.ranks)
        self.vertices, self.ranks, self._vertex = graph.vertex_count, graph.ranks, graph.delegates.dtype
        self.rounds_run: tuple[Rounds, ...] = ()
        wide = max(map(widest, graph.parts)) >= WIDE
        facts: dict[str, Any] = {
            "offset_dtype": numpy.uint64 if wide else numpy.uint32,
            "symmetric": symmetric,
        }
        self._memory = self._devices.each_rank(lambda rank: ComponentsMemory(graph.of_rank(rank), **facts))
        macros = width_macros(self._vertex, wide=wide)
        choices: dict[str, Any] = {"symmetric": symmetric, "time_limit": time_limit}
        self._devices.prepare(
            self._memory, lambda view: ComponentsLaunch(macros, view, graph.delegates, **choices)
        )
        self._devices.synchronize()

    def run(self) -> ComponentsResult:
        """Find the components.

        Raises RuntimeError when a device waited for another longer than the time limit; a further run may
        follow.
        """
        milliseconds = self._devices.run()
        self.rounds_run = tuple(self._devices.each(ComponentsLaunch.rounds_run))
        return ComponentsResult(self._devices.on(0, self._collect), milliseconds, "partition")

    def _collect(self) -> Any:
        import cupy

        component = cupy.empty(self.vertices, self._vertex)
        for rank, memory in enumerate(self._memory):
            component[rank :: self.ranks] = cupy.asarray(memory.component())
        return component


class PeerComponents(GroupRank):
    """Components as one rank of a rank group."""

    def __init__(
        self,
        group: Gathering,
        part: RankPart,
        *,
        symmetric: bool,
        time_limit: float = BARRIER_SECONDS,
    ) -> None:
        wide = max(group.all_gather(widest(part.graph))) >= WIDE
        self._memory = ComponentsMemory(
            part,
            offset_dtype=numpy.uint64 if wide else numpy.uint32,
            symmetric=symmetric,
        )
        macros = width_macros(part.delegates.dtype, wide=wide)
        view = self._map(group, self._memory)
        self._launch: ComponentsLaunch = ComponentsLaunch(
            macros, view, part.delegates, symmetric=symmetric, time_limit=time_limit
        )

    def run(self, *, on_device: bool = False) -> RankComponents:
        """Find the components together with all ranks; the labels may stay here until the next run.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        milliseconds = self._run()
        rounds_run = self._launch.rounds_run()
        # Ranks read every other rank's labels of delegates, one each, in every round.
        word = self._memory.arrays["values"].dtype.itemsize
        read = rounds_run.rounds * (self._group.size - 1) * self._memory.delegate_count * word
        component = self._memory.component()
        labels = component if on_device else component.get()
        return RankComponents(labels, milliseconds, rounds_run.rounds, read, 0)
