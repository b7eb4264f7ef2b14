"""Components over ranks on GPUs: ranks on the devices of this process, or one rank of a gang."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.components import RankComponents
from gravel.kernels.partition.cuda.components_launch import ComponentsLaunch, Rounds
from gravel.kernels.partition.cuda.components_memory import ComponentsMemory
from gravel.kernels.partition.cuda.mapping import Mapping
from gravel.kernels.partition.cuda.meeting import MeetingPoint
from gravel.kernels.partition.cuda.memory import seen_from_afar
from gravel.kernels.partition.cuda.search import MOST_HERE, WIDE, make_peers
from gravel.kernels.partition.layout import SUBGRAPHS, PartitionedGraph, RankGraph
from gravel.kernels.partition.waiting import BARRIER_SECONDS, given_up


def _widest(part: RankGraph) -> int:
    return max(len(part.subgraph(name).column_indices) for name in SUBGRAPHS)


def _macros(vertex: Any, wide: bool) -> dict[str, object]:
    return {"VERTEX": vertex_macro(vertex), "OFFSET": "u64" if wide else "u32"}


class CudaComponents:
    """Components of a partition whose ranks live on GPUs of this process, in ascending runs.

    Labels are on the first device and equal the CPU's. `milliseconds` is the longest of the devices, from its
    launch to its end. `told[i]` is what the i-th device tells of the last run.

    Raises ValueError for more ranks than the devices hold.
    """

    def __init__(
        self,
        graph: PartitionedGraph,
        *,
        symmetric: bool,
        devices: Sequence[int] | None = None,
        time_limit: float = BARRIER_SECONDS,
        blocks: int | None = None,
    ) -> None:
        import cupy

        self.devices = tuple(devices) if devices is not None else (cupy.cuda.Device().id,)
        p, count = graph.ranks, len(self.devices)
        if p < count or p > count * MOST_HERE:
            raise ValueError(f"{p} ranks do not go on {count} devices with 1 to {MOST_HERE} on each")
        make_peers(self.devices)
        self.vertices, self.ranks, self._vertex = graph.vertex_count, p, graph.delegates.dtype
        self._home = [rank * count // p for rank in range(p)]
        self.told: tuple[Rounds, ...] = ()
        wide = max(map(_widest, graph.parts)) >= WIDE
        facts: dict[str, Any] = {
            "vertex_count": graph.vertex_count,
            "delegates": graph.delegates,
            "ranks": p,
            "offset_dtype": numpy.uint64 if wide else numpy.uint32,
            "symmetric": symmetric,
        }
        self._memory = [
            self._on(self._home[part.rank], lambda part=part: ComponentsMemory(part, **facts))
            for part in graph.parts
        ]
        self._points = [self._on(place, MeetingPoint) for place in range(count)]
        self._time_limit = time_limit
        choices = {"symmetric": symmetric, "time_limit": time_limit, "blocks": blocks}
        self._launches = [
            self._on(
                place, lambda place=place: self._prepare(place, graph, _macros(self._vertex, wide), choices)
            )
            for place in range(count)
        ]
        for device in self.devices:
            cupy.cuda.Device(device).synchronize()

    def _on(self, place: int, make: Any) -> Any:
        import cupy

        with cupy.cuda.Device(self.devices[place]):
            return make()

    def _prepare(
        self, place: int, graph: PartitionedGraph, macros: dict[str, object], choices: dict[str, Any]
    ) -> ComponentsLaunch:
        rows = [
            memory.row() if home == place else seen_from_afar(memory.row(), 0, memory.fields)
            for memory, home in zip(self._memory, self._home, strict=True)
        ]
        here = [rank for rank, home in enumerate(self._home) if home == place]
        points = [point.pointer for point in self._points]
        own = self._points[place]
        return ComponentsLaunch(macros, rows, here, graph.delegates, points, place, point=own, **choices)

    def _on_each(self, act: Callable[[ComponentsLaunch], Any]) -> list[Any]:
        return [
            self._on(place, lambda launch=launch: act(launch)) for place, launch in enumerate(self._launches)
        ]

    def run(self) -> ComponentsResult:
        """Find the components.

        Raises RuntimeError when a device waited for another longer than the time limit; a further run may
        follow.
        """
        import cupy

        events = self._on_each(ComponentsLaunch.start)
        for _, end in events:
            end.synchronize()
        if any(self._on_each(lambda launch: launch.point.aborted)):
            self._on_each(lambda launch: launch.point.reset())
            raise RuntimeError(given_up(self._time_limit))
        taken = max(float(cupy.cuda.get_elapsed_time(start, end)) for start, end in events)
        self.told = tuple(self._on_each(ComponentsLaunch.told))
        return ComponentsResult(self._on(0, self._collect), taken, "partition")

    def _collect(self) -> Any:
        import cupy

        component = cupy.empty(self.vertices, self._vertex)
        for rank, memory in enumerate(self._memory):
            component[rank :: self.ranks] = cupy.asarray(memory.component())
        return component


class PeerComponents:
    """One rank of a gang in the memory of the current device; all ranks make theirs at the same time.

    Every rank lives in a process of its own, on a device of its own that can read the others'. `leave` gives
    their memory back, when no rank runs any more.
    """

    def __init__(
        self,
        gang: Gathering,
        part: RankGraph,
        delegates: NDArray[Any],
        vertex_count: int,
        *,
        symmetric: bool,
        time_limit: float = BARRIER_SECONDS,
    ) -> None:
        self._gang, self._time_limit = gang, time_limit
        wide = max(gang.all_gather(_widest(part))) >= WIDE
        self._memory = ComponentsMemory(
            part,
            vertex_count=vertex_count,
            delegates=delegates,
            ranks=gang.size,
            offset_dtype=numpy.uint64 if wide else numpy.uint32,
            symmetric=symmetric,
        )
        point = MeetingPoint()
        self._mapping = Mapping(gang, self._memory, point)
        self._launch = ComponentsLaunch(
            _macros(delegates.dtype, wide),
            self._mapping.rows,
            [gang.rank],
            delegates,
            self._mapping.points,
            gang.rank,
            point=point,
            symmetric=symmetric,
            time_limit=time_limit,
        )

    def run(self, *, on_device: bool = False) -> RankComponents:
        """Find the components together with all ranks; the labels may stay here until the next run.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        import cupy

        start, end = self._launch.start()
        end.synchronize()
        # Nobody starts anew before all know how this one ended.
        if any(self._gang.all_gather(self._launch.point.aborted)):
            self._launch.point.reset()
            self._gang.all_gather(None)
            raise RuntimeError(given_up(self._time_limit))
        taken = float(cupy.cuda.get_elapsed_time(start, end))
        told = self._launch.told()
        # Ranks read every other rank's labels of delegates, one each, in every round.
        word = self._memory.arrays["values"].dtype.itemsize
        read = told.rounds * (self._gang.size - 1) * self._memory.delegate_count * word
        component = self._memory.component()
        return RankComponents(component if on_device else component.get(), taken, told.rounds, read, 0)

    def leave(self, gang: Gathering) -> None:
        """Let go of the other ranks' memory; all ranks have to, before any frees its own."""
        self._mapping.close(gang)
