"""A search over ranks on the GPUs of this process: any number of ranks on each device."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.wake import wake_all
from gravel.kernels.partition.cuda.encoded import layout_of
from gravel.kernels.partition.cuda.hubs_first import busiest_first, in_order, is_free, renumbered, room_for
from gravel.kernels.partition.cuda.launch import Launch, Level
from gravel.kernels.partition.cuda.meeting import MeetingPoint
from gravel.kernels.partition.cuda.memory import RankMemory, seen_from_afar, tree_of
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.partition.cuda.slots import Slots, slots_of, slotted
from gravel.kernels.partition.cuda.staging import Staging, arcs_sent, check_staged
from gravel.kernels.partition.layout import SUBGRAPHS, PartitionedGraph, RankGraph, arc_count, mask_words
from gravel.kernels.partition.options import SearchOptions
from gravel.kernels.partition.search import check_output, predecessor_dtype
from gravel.kernels.partition.waiting import given_up

MOST_HERE = 16
"""Ranks of a device, as the kernel says."""

WIDE = 1 << 32
"""Arcs of a subgraph from which on row offsets take 64 bits."""


class CudaPartitionSearch:
    """A `gravel.kernels.bfs.Search` over a partition whose ranks live on GPUs of this process, in ascending
    runs.

    Labels are on the first device, in the numbering that was partitioned; distances equal the CPU's, and with
    `predecessors: smallest` predecessors too, but with `uniquify`, when any normal vertex may stand where the
    smallest would.
    `milliseconds` is the longest of the devices, which begin together, labels left with their ranks.
    `levels[i]` has the levels of the last search as the i-th device saw them.
    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"

    def __init__(
        self,
        graph: PartitionedGraph,
        *,
        devices: Sequence[int] | None = None,
        output: str = "both",
        max_depth: int | None = None,
        symmetric: bool = False,
        options: SearchOptions | None = None,
        time_limit: float | None = None,
        blocks: int | None = None,
        placing: Placing | None = None,
    ) -> None:
        import cupy

        started = time.perf_counter()
        check_output(output)
        self.options = options or SearchOptions()
        self._staging = Staging.of(self.options, graph.ranks)
        self.devices = tuple(devices) if devices is not None else (cupy.cuda.Device().id,)
        p, count = graph.ranks, len(self.devices)
        if p < count or p > count * MOST_HERE:
            raise ValueError(f"{p} ranks do not go on {count} devices with 1 to {MOST_HERE} on each")
        make_peers(self.devices)
        self.output, self.max_depth = output, max_depth
        self.vertices, self.ranks = graph.vertex_count, p
        self.delegates = graph.delegates
        self._tree = tree_of(self.options, found=output != "distance")
        self._home = [rank * count // p for rank in range(p)]
        self.levels: tuple[tuple[Level, ...], ...] = ()
        wide = any(arc_count(part.subgraph(name)) >= WIDE for part in graph.parts for name in SUBGRAPHS)
        layout = layout_of(graph.parts[0])
        check_encoded(layout, graph.delegates.dtype, placing)
        check_staged(self._staging, placed=placing is not None, layout=layout)
        wide = wide or placing is not None or layout is not None or self._staging is not None
        self._numbers, self._slots = None, dict[int, Slots]()
        free = is_free(tree=self._tree, placed=placing is not None, encoded=layout is not None)
        if free and self._have_room(graph):
            self._numbers = self._on(0, lambda: busiest_first(graph.parts[0]))
            if symmetric:
                self._slots = {part.rank: self._find_slots(graph, part) for part in graph.parts}
        self._memory = self._load(graph, numpy.uint64 if wide else numpy.uint32, placing)
        macros = {
            "VERTEX": vertex_macro(graph.delegates.dtype),
            "OFFSET": "u64" if wide else "u32",
            "TREE": self._tree,
        }
        self._time_limit = self.options.barrier_seconds if time_limit is None else time_limit
        self._points = [self._on(place, MeetingPoint) for place in range(count)]
        choices: dict[str, Any] = {"symmetric": symmetric, "time_limit": self._time_limit, "blocks": blocks}
        choices |= {"placed": placing is not None, "layout": layout}
        self._launches = [
            self._on(place, lambda place=place: self._prepare_launch(place, macros, **choices))
            for place in range(count)
        ]
        self._labels = self._on(0, self._allocate_labels)
        for device in self.devices:
            cupy.cuda.Device(device).synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _on(self, place: int, make: Any) -> Any:
        import cupy

        with cupy.cuda.Device(self.devices[place]):
            return make()

    def _have_room(self, graph: PartitionedGraph) -> bool:
        for place in range(len(self.devices)):
            here = [part for part in graph.parts if self._home[part.rank] == place]
            if not self._on(place, lambda here=here: room_for(here)):
                return False
        return True

    def _find_slots(self, graph: PartitionedGraph, part: RankGraph) -> Slots:
        facts = graph.delegates, graph.vertex_count, graph.ranks
        found: Slots = self._on(self._home[part.rank], lambda: slots_of(part, *facts))
        return found

    def _load(self, graph: PartitionedGraph, offset_dtype: Any, placing: Placing | None) -> list[RankMemory]:
        facts = {
            "vertex_count": graph.vertex_count,
            "delegates": in_order(graph.delegates, self._numbers),
            "ranks": graph.ranks,
            "offset_dtype": offset_dtype,
            "tree": self._tree,
            "uniquify": self.options.uniquify,
            "apart": len(self.devices) > 1,
            "placing": placing,
        }

        slots, staging = list(self._slots.values()), self._staging
        sent = None
        if staging is not None and staging.relays:
            sent = numpy.array(
                [
                    self._on(self._home[part.rank], lambda part=part: arcs_sent(part, graph.ranks))
                    for part in graph.parts
                ]
            )

        def load(part: RankGraph) -> RankMemory:
            own = dict(facts)
            if staging is not None and sent is not None:
                own["relay_starts"] = staging.relay_starts(sent, part.rank)
            ready = part if self._numbers is None else renumbered(part, self._numbers)
            if not slots:
                return RankMemory(ready, **own)
            ready, slotting = slotted(ready, slots)
            return RankMemory(ready, **own, slotting=slotting)

        return [self._on(self._home[part.rank], lambda part=part: load(part)) for part in graph.parts]

    def _allocate_labels(self) -> tuple[Any, Any]:
        import cupy

        n = self.vertices
        return (
            cupy.empty(n if self.output != "predecessor" else 0, numpy.int32),
            cupy.empty(n if self._tree else 0, predecessor_dtype(n)),
        )

    def _prepare_launch(self, place: int, macros: Mapping[str, object], **choices: Any) -> Launch:
        rows = [
            memory.row() if home == place else seen_from_afar(memory.row())
            for memory, home in zip(self._memory, self._home, strict=True)
        ]
        here = [rank for rank, home in enumerate(self._home) if home == place]
        points = [point.pointer for point in self._points]
        choices |= {"point": self._points[place], "options": self.options, "numbers": self._numbers}
        choices["staging"] = self._staging
        choices["slots"] = {rank: self._slots[rank] for rank in here if rank in self._slots}
        nn_rows = sum(memory.nn_rows for memory in self._memory)
        choices["nn_rows"] = nn_rows if self.options.nn_directed else 0
        return Launch(macros, rows, here, self.delegates, points, place, **choices)

    def masks_read(self, place: int) -> int:
        """Count the bytes of masks that the ranks of a device read from other ranks in a level."""
        here = [rank for rank, home in enumerate(self._home) if home == place]
        mask = 8 * mask_words(len(self.delegates))
        if self._staging is None:
            return mask * len(here) * (self.ranks - 1)
        return mask * sum(map(self._staging.masks_read, here))

    def wake(self) -> None:
        """Bring the devices, their memory and links up to speed for a search that follows at once."""
        wake_all(self.devices)
        self._on_each(lambda launch: launch.start(0, 1))

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError when it is not in the graph, and RuntimeError when a device waited for another
        longer than the time limit; a further search may follow either.
        """
        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not in the graph; it has vertices 0 to {self.vertices - 1}")
        milliseconds = self._search(source)
        self.levels = tuple(self._on_each(Launch.levels))
        directions = tuple(
            "pull" if any(level.pulled for level in each) else "push"
            for each in zip(*self.levels, strict=True)
        )
        distance, predecessor = self._on(0, self._collect)
        read = [count for count in self._on_each(Launch.link_bytes) if count is not None]
        link = sum(read) if read else None
        return BFSResult(source, distance, predecessor, milliseconds, directions, link_bytes=link)

    def _on_each(self, act: Callable[[Launch], Any]) -> list[Any]:
        return [
            self._on(place, lambda launch=launch: act(launch)) for place, launch in enumerate(self._launches)
        ]

    def _search(self, source: int) -> float:
        events = self._on_each(lambda launch: launch.start(source, self.max_depth))
        for _, end in events:
            end.synchronize()
        if any(self._on_each(lambda launch: launch.point.aborted)):
            self._on_each(Launch.reset)
            raise RuntimeError(given_up(self._time_limit))
        if any(self._on_each(Launch.grow)):
            return self._search(source)
        times = zip(self._launches, events, strict=True)
        return max(float(launch.milliseconds(*each)) for launch, each in times)

    def _collect(self) -> tuple[Any | None, Any | None]:
        import cupy

        distance, predecessor = self._labels
        for rank, memory in enumerate(self._memory):
            if self.output != "predecessor":
                distance[rank :: self.ranks] = cupy.asarray(memory.arrays["distance"])
            if self._tree:
                predecessor[rank :: self.ranks] = cupy.asarray(memory.predecessors())
        return (
            distance if self.output != "predecessor" else None,
            predecessor if self._tree else None,
        )


def check_encoded(layout: str | None, vertex: Any, placing: Placing | None) -> None:
    """Raise ValueError for encoded rows that the kernel does not take."""
    if layout is None:
        return
    if vertex != numpy.uint32:
        raise ValueError("encoded rows of 2^32 vertices and more are not searched on GPUs; decode them")
    if placing is not None:
        raise ValueError(f"encoded rows are on the GPUs; placement {placing.placement} is for columns")


def make_peers(devices: Sequence[int]) -> None:
    """Let the devices read each other's memory; raises ValueError where they cannot."""
    import cupy

    runtime = cupy.cuda.runtime
    for device in devices:
        for other in devices:
            if other == device:
                continue
            if not runtime.deviceCanAccessPeer(device, other):
                raise ValueError(f"GPU {device} cannot read the memory of GPU {other}")
            with cupy.cuda.Device(device):
                try:
                    runtime.deviceEnablePeerAccess(other)
                except runtime.CUDARuntimeError as error:
                    if "peer access is already enabled" not in str(error).lower():
                        raise


def prepare(
    graph: PartitionedGraph,
    *,
    devices: Sequence[int] | None = None,
    output: str = "both",
    max_depth: int | None = None,
    symmetric: bool = False,
    options: SearchOptions | None = None,
    time_limit: float | None = None,
    placing: Placing | None = None,
) -> CudaPartitionSearch:
    """Make a partitioned graph ready for searches on GPUs, as `gravel.kernels.partition.prepare` does on the
    CPU.

    Parameters
    ----------
    devices : of this process; the current one by default. Ranks are dealt to them in ascending runs.
    output, max_depth, symmetric, options : as `gravel.kernels.partition.prepare`.
    time_limit : seconds that a device waits for the others at a barrier; None as the options say.
    placing : where columns lie; `link_bytes` of results are counted then. On the device by default.

    """
    return CudaPartitionSearch(
        graph,
        devices=devices,
        output=output,
        max_depth=max_depth,
        symmetric=symmetric,
        options=options,
        time_limit=time_limit,
        placing=placing,
    )
