"""A striped search on the GPUs of this process: any number of ranks on each device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.partition.cuda.meeting import MeetingPoint
from gravel.kernels.partition.cuda.memory import seen_from_afar
from gravel.kernels.partition.cuda.search import MOST_HERE, make_peers
from gravel.kernels.partition.search import check_output, predecessor_dtype
from gravel.kernels.partition.waiting import given_up
from gravel.kernels.striped.cuda.launch import Launch
from gravel.kernels.striped.cuda.memory import FIELDS, LONGEST, MOST_ARCS, StripeMemory
from gravel.kernels.striped.layout import StripedGraph
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import RankLabels


class CudaStripedSearch:
    """A `gravel.kernels.bfs.Search` over stripes that live on GPUs of this process, in ascending runs.

    Labels are on the first device, in the numbering that was striped. Distances equal the CPU's, and without
    the bitmask predecessors too; with it any possible predecessor may stand where the smallest would.
    `milliseconds` is the longest of the devices, from its launch to its end, labels left with their ranks.
    `labels` has the ranks' records of the last search, with the times of their devices.
    """

    strategy = "striped"
    reason = "the graph is striped over ranks"

    def __init__(
        self,
        graph: StripedGraph,
        *,
        devices: Sequence[int] | None = None,
        output: str = "both",
        max_depth: int | None = None,
        options: StripedOptions | None = None,
        time_limit: float | None = None,
        longest: int = LONGEST,
        blocks: int | None = None,
    ) -> None:
        import cupy

        started = time.perf_counter()
        check_output(output)
        self.options = options or StripedOptions()
        self.devices = tuple(devices) if devices is not None else (cupy.cuda.Device().id,)
        p, count = graph.ranks, len(self.devices)
        if p < count or p > count * MOST_HERE:
            raise ValueError(f"{p} ranks do not go on {count} devices with 1 to {MOST_HERE} on each")
        make_peers(self.devices)
        self.output, self.max_depth = output, max_depth
        self.vertices, self.ranks = graph.vertex_count, p
        self.labels: tuple[RankLabels, ...] = ()
        self._home = [rank * count // p for rank in range(p)]
        wide = any(len(part.column_indices) >= MOST_ARCS for part in graph.parts)
        facts: dict[str, Any] = {
            "vertex_count": graph.vertex_count,
            "ranks": p,
            "offset_dtype": numpy.uint64 if wide else numpy.uint32,
            "output": output,
            "options": self.options,
            "longest": longest,
        }
        self._memory = [
            self._on(self._home[part.rank], lambda part=part: StripeMemory(part, **facts))
            for part in graph.parts
        ]
        macros = {
            "VERTEX": vertex_macro(graph.parts[0].column_indices.dtype),
            "OFFSET": "u64" if wide else "u32",
            "TREE": self._memory[0].labels.tree,
        }
        self._time_limit = self.options.barrier_seconds if time_limit is None else time_limit
        self._points = [self._on(place, MeetingPoint) for place in range(count)]
        choices = {
            "time_limit": self._time_limit,
            "blocks": blocks,
            "options": self.options,
            "longest": longest,
        }
        self._launches = [
            self._on(place, lambda place=place: self._prepare_launch(place, macros, **choices))
            for place in range(count)
        ]
        self._distance, self._predecessor = self._on(0, self._allocate_labels)
        for device in self.devices:
            cupy.cuda.Device(device).synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _on(self, place: int, make: Any) -> Any:
        import cupy

        with cupy.cuda.Device(self.devices[place]):
            return make()

    def _on_each(self, act: Callable[[Launch], Any]) -> list[Any]:
        return [
            self._on(place, lambda launch=launch: act(launch)) for place, launch in enumerate(self._launches)
        ]

    def _allocate_labels(self) -> tuple[Any | None, Any | None]:
        import cupy

        n = self.vertices
        return (
            cupy.empty(n, numpy.int32) if self.output != "predecessor" else None,
            cupy.empty(n, predecessor_dtype(n)) if self.output != "distance" else None,
        )

    def _prepare_launch(self, place: int, macros: dict[str, object], **choices: Any) -> Launch:
        rows = [
            memory.row() if home == place else seen_from_afar(memory.row(), 0, FIELDS)
            for memory, home in zip(self._memory, self._home, strict=True)
        ]
        here = [rank for rank, home in enumerate(self._home) if home == place]
        points = [point.pointer for point in self._points]
        choices |= {"point": self._points[place], "vertex_count": self.vertices}
        return Launch(macros, rows, here, points, place, **choices)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError when it is not in the graph, and RuntimeError when a device waited for another
        longer than the time limit; a further search may follow either.
        """
        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not in the graph; it has vertices 0 to {self.vertices - 1}")
        milliseconds = self._search(source)
        told = [levels for every in self._on_each(Launch.levels) for levels in every]
        own = [memory.labels for memory in self._memory]
        self.labels = tuple(
            RankLabels(labels.distance, labels.predecessor if labels.tree else None, milliseconds, levels)
            for labels, levels in zip(own, told, strict=True)
        )
        for rank, labels in enumerate(self.labels):
            self._collect(rank, self._distance, labels.distance)
            self._collect(rank, self._predecessor, labels.predecessor)
        ways = ("push",) * len(self.labels[0].levels)
        return BFSResult(source, self._distance, self._predecessor, milliseconds, ways)

    def _search(self, source: int) -> float:
        import cupy

        events = self._on_each(lambda launch: launch.start(source, self.max_depth))
        for _, end in events:
            end.synchronize()
        if any(self._on_each(lambda launch: launch.point.aborted)):
            self._on_each(lambda launch: launch.point.reset())
            raise RuntimeError(given_up(self._time_limit))
        if any(self._on_each(Launch.grow)):
            return self._search(source)
        return max(float(cupy.cuda.get_elapsed_time(start, end)) for start, end in events)

    def _collect(self, rank: int, whole: Any, own: Any) -> None:
        """Bring a rank's labels, which may be every other word of its keys, to the first device."""
        import cupy

        if whole is None:
            return
        home = self._home[rank]
        packed = self._on(home, lambda: cupy.ascontiguousarray(own))
        cupy.cuda.Device(self.devices[home]).synchronize()

        def write() -> None:
            whole[rank :: self.ranks] = cupy.asarray(packed)

        self._on(0, write)


def prepare(
    graph: StripedGraph,
    *,
    devices: Sequence[int] | None = None,
    output: str = "both",
    max_depth: int | None = None,
    options: StripedOptions | None = None,
    time_limit: float | None = None,
) -> CudaStripedSearch:
    """Make a striped graph ready for searches on GPUs, as `gravel.kernels.striped.prepare` does on the CPU.

    Parameters
    ----------
    devices : of this process; the current one by default. Ranks are dealt to them in ascending runs.
    output, max_depth, options : as `gravel.kernels.striped.prepare`; a history of more entries than a block
        has room for raises ValueError.
    time_limit : seconds that a device waits for the others at a barrier; None as the options say.

    """
    return CudaStripedSearch(
        graph,
        devices=devices,
        output=output,
        max_depth=max_depth,
        options=options,
        time_limit=time_limit,
    )
