"""A search over ranks on the GPUs of this process: any number of ranks on each device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy

from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda.wake import wake_all
from gravel.kernels.partition.cuda.by_degree import in_order, is_free, numbers_by_degree, renumbered, room_for
from gravel.kernels.partition.cuda.compact_ids import CompactIds, compact_ids_of, compacted
from gravel.kernels.partition.cuda.devices import Devices
from gravel.kernels.partition.cuda.launch import Launch, Level, check_culled
from gravel.kernels.partition.cuda.launching import width_macros
from gravel.kernels.partition.cuda.memory import RankMemory, tree_of
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.partition.cuda.staging import Staging, arcs_sent, check_staged
from gravel.kernels.partition.encoded import layout_of
from gravel.kernels.partition.layout import PartitionedGraph, RankPart, mask_words, widest
from gravel.kernels.partition.options import SearchOptions

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

    Parameters
    ----------
    devices : of this process; the current one by default. Ranks are given to them in ascending runs.
    time_limit : seconds that a device waits for the others at a barrier; None as the options say.
    placing : where columns lie; `link_bytes` of results are counted then. On the device by default.

    """

    strategy = "partition"
    reason = "the graph is partitioned by degree separation"

    def __init__(
        self,
        graph: PartitionedGraph,
        query: Query = Query(),
        options: SearchOptions = SearchOptions(),
        *,
        devices: Sequence[int] | None = None,
        placing: Placing | None = None,
    ) -> None:
        started = time.perf_counter()
        self._query, self.options = query, options
        self._staging = Staging.of(self.options, graph.ranks)
        self._devices = Devices(devices, graph.ranks)
        self.devices = self._devices.ids
        self.vertices, self.ranks = graph.vertex_count, graph.ranks
        self.delegates = graph.delegates
        self._tree = tree_of(self.options, query)
        self.levels: tuple[tuple[Level, ...], ...] = ()
        wide = max(map(widest, graph.parts)) >= WIDE
        layout = layout_of(graph.parts[0])
        check_encoded(layout, graph.delegates.dtype, placing)
        check_staged(self._staging, placed=placing is not None, layout=layout)
        staged = self._staging is not None
        check_culled(options, placed=placing is not None, layout=layout, staged=staged)
        wide = wide or placing is not None or layout is not None or self._staging is not None
        wide = wide or options.culls
        self._numbers, self._ids = None, dict[int, CompactIds]()
        free = is_free(tree=self._tree, placed=placing is not None, encoded=layout is not None)
        if free and self._have_room(graph):
            self._numbers = self._devices.on(0, lambda: numbers_by_degree(graph.parts[0]))
            if query.symmetric:
                found = self._devices.each_rank(lambda rank: compact_ids_of(graph.of_rank(rank)))
                self._ids = dict(enumerate(found))
        self._memory = self._load(graph, numpy.uint64 if wide else numpy.uint32, placing)
        macros = {**width_macros(graph.delegates.dtype, wide=wide), "TREE": self._tree}
        nn_rows = sum(memory.nn_rows for memory in self._memory)
        choices: dict[str, Any] = {"placed": placing is not None, "layout": layout}
        choices |= {"numbers": self._numbers, "staging": self._staging, "ids": self._ids}
        choices["nn_rows"] = nn_rows if self.options.nn_directed else 0
        self._devices.prepare(
            self._memory, lambda view: Launch(macros, view, graph.delegates, query, options, **choices)
        )
        self._labels = self._devices.on(0, self._allocate_labels)
        self._devices.synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _have_room(self, graph: PartitionedGraph) -> bool:
        for place in range(len(self.devices)):
            here = [graph.parts[rank] for rank in self._devices.here(place)]
            if not self._devices.on(place, partial(room_for, here)):
                return False
        return True

    def _load(self, graph: PartitionedGraph, offset_dtype: Any, placing: Placing | None) -> list[RankMemory]:
        facts = {
            "offset_dtype": offset_dtype,
            "tree": self._tree,
            "uniquify": self.options.uniquify,
            "lists_nn": self.options.culls,
            "apart": len(self.devices) > 1,
            "placing": placing,
        }

        delegates = in_order(graph.delegates, self._numbers)
        ids, staging = list(self._ids.values()), self._staging
        sent = None
        if staging is not None and staging.relays:
            sent = numpy.array(
                self._devices.each_rank(lambda rank: arcs_sent(graph.parts[rank], graph.ranks))
            )

        def load(rank: int) -> RankMemory:
            own, part = dict[str, Any](facts), graph.parts[rank]
            if staging is not None and sent is not None:
                own["relay_starts"] = staging.relay_starts(sent, rank)
            ready = part if self._numbers is None else renumbered(part, self._numbers)
            if ids:
                ready, own["compaction"] = compacted(ready, ids)
            whole = RankPart(ready, delegates, graph.vertex_count, graph.ranks)
            return RankMemory(whole, **own)

        return self._devices.each_rank(load)

    def _allocate_labels(self) -> tuple[Any, Any]:
        import cupy

        return self._query.allocate(self.vertices, cupy)

    def masks_read(self, place: int) -> int:
        """Count the bytes of masks that the ranks of a device read from other ranks in a level."""
        here = self._devices.here(place)
        mask = 8 * mask_words(len(self.delegates))
        if self._staging is None:
            return mask * len(here) * (self.ranks - 1)
        return mask * sum(map(self._staging.masks_read, here))

    def wake(self) -> None:
        """Bring the devices, their memory and links up to speed for a search that follows at once."""
        wake_all(self.devices)
        self._devices.each(lambda launch: launch.start(0, 1))

    def run(self, source: int) -> BFSResult:
        """Search from one vertex.

        Raises ValueError when it is not in the graph, and RuntimeError when a device waited for another
        longer than the time limit; a further search may follow either.
        """
        check_source(source, self.vertices)
        milliseconds = self._devices.run(source, self._query.depth)
        self.levels = tuple(self._devices.each(Launch.levels))
        directions = tuple(
            "pull" if any(level.pulled for level in each) else "push"
            for each in zip(*self.levels, strict=True)
        )
        distance, predecessor = self._devices.on(0, self._collect)
        read = [count for count in self._devices.each(Launch.link_bytes) if count is not None]
        link = sum(read) if read else None
        return BFSResult(source, distance, predecessor, milliseconds, directions, link_bytes=link)

    def _collect(self) -> tuple[Any | None, Any | None]:
        import cupy

        distance, predecessor = self._labels
        for rank, memory in enumerate(self._memory):
            if self._query.distance:
                distance[rank :: self.ranks] = cupy.asarray(memory.arrays["distance"])
            if self._tree:
                predecessor[rank :: self.ranks] = cupy.asarray(memory.predecessors())
        return self._query.wanted(distance, predecessor)


def check_encoded(layout: str | None, vertex: Any, placing: Placing | None) -> None:
    """Raise ValueError for encoded rows that the kernel does not take."""
    if layout is None:
        return
    if vertex != numpy.uint32:
        raise ValueError("encoded rows of 2^32 vertices and more are not searched on GPUs; decode them")
    if placing is not None:
        raise ValueError(f"encoded rows are on the GPUs; placement {placing.placement} is for columns")
