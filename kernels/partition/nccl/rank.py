"""One rank of a rank group on the GPU of its process, which sends to the others over NCCL, level by level."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.buffers import predecessor_type
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.exchange import Gathering, Groups
from gravel.kernels.partition.buffers import SMALLEST
from gravel.kernels.partition.cuda.launching import width_macros
from gravel.kernels.partition.cuda.memory import RankMemory
from gravel.kernels.partition.cuda.search import WIDE
from gravel.kernels.partition.layout import PartitionedGraph, RankPart, widest
from gravel.kernels.partition.nccl.communicator import NcclCommunicator, connect
from gravel.kernels.partition.nccl.launching import Kernels
from gravel.kernels.partition.nccl.masks import MaskReduction
from gravel.kernels.partition.nccl.vertices import (
    ROW_BACKWARD,
    ROW_DELEGATES,
    ROW_NORMALS,
    VertexExchange,
)
from gravel.kernels.partition.nccl.visits import Clock, LevelEvents, Visits
from gravel.kernels.partition.options import OPTIMIZED, SearchOptions
from gravel.kernels.partition.program import LevelRecord, RankLabels
from gravel.kernels.partition.search import directions_of

Record = tuple[tuple[int, int, tuple[str, ...]], int, int, int]
"""Of a level: frontier here, delegates, backward visits; bytes of masks and of vertices that were sent, and
of those within the group."""

Connect = Callable[[Gathering], NcclCommunicator]


class NcclRank:
    """A rank in the memory of the current device; all ranks of the rank group make theirs at the same time.

    Distances and, without `uniquify`, predecessors are those of the CPU; with it any normal vertex may stand
    where the smallest would. After a RuntimeError the rank is of no use any more.

    Parameters
    ----------
    whole, query, options : as `gravel.kernels.partition.RankSearch` takes them.
    connect_by : makes the communicator; NCCL's by default.

    Raises ValueError for encoded rows and for groups that do not fit the ranks,
    `gravel.kernels.partition.nccl.NcclMissing` (a ValueError) where NCCL cannot be used, and RuntimeError
    where not all ranks connect.

    """

    def __init__(
        self,
        group: Gathering,
        whole: RankPart,
        query: Query,
        options: SearchOptions,
        *,
        connect_by: Connect | None = None,
    ) -> None:
        import cupy

        rank, ranks, part, delegates = group.rank, group.size, whole.graph, whole.delegates
        groups = Groups.of(rank, ranks, options.groups) if options.groups else None
        if not hasattr(part.nn.column_indices, "nbytes"):
            raise ValueError("ranks over NCCL read columns, and those of this one are encoded; decode them")
        self._group = group
        self._tree, self._depth, self._options = query.tree, query.depth, options
        wide = max(group.all_gather(widest(part))) >= WIDE
        memory = RankMemory(
            whole,
            offset_dtype=numpy.uint64 if wide else numpy.uint32,
            tree=SMALLEST if query.tree else 0,
            uniquify=options.uniquify,
            sends=True,
        )
        self._arrays = memory.arrays
        macros = {**width_macros(delegates.dtype, wide=wide), "TREE": int(query.tree)}
        starts = self._arrays["bin_start"].get().astype(numpy.int64)
        capacities = numpy.array(group.all_gather(numpy.diff(starts)))
        limit = options.barrier_seconds
        self._communicator = connect(group, time_limit=limit) if connect_by is None else connect_by(group)
        # Also where nobody says `leave`, as after a rank group that was broken: a thread watches over it.
        weakref.finalize(self, self._communicator.close)
        self._visits = Visits(memory, delegates, ranks, macros, options=options, symmetric=query.symmetric)
        kernels = Kernels("kernels/partition/nccl/exchange.cu")
        # It must not wait until visits leave it room.
        self._reducing = cupy.cuda.Stream(non_blocking=True, priority=-1)
        words = len(self._arrays["delegates_front"])
        self._reduction = MaskReduction(self._communicator, kernels, words, options, self._reducing)
        self._exchange = VertexExchange(
            self._communicator,
            kernels,
            capacities,
            self._arrays["bin_ids"],
            self._arrays["bin_sources"] if query.tree else None,
            groups=groups if options.local_all_to_all else None,
            stream=self._visits.normal,
            message_bytes=options.message_bytes,
        )
        self._arrivals = self._exchange.described()
        self._clock = Clock(blocking=options.reduction == "blocking")
        cupy.cuda.Device().synchronize()

    def wake(self) -> None:
        """Bring the GPU up to speed for a search that follows at once."""
        from gravel.kernels.cuda.wake import wake

        wake()

    def run(self, source: int, *, on_device: bool = False) -> RankLabels:
        """Search from one vertex together with all ranks; labels may stay here until the next search.

        Raises RuntimeError when another rank is gone, or waited for longer than the time limit.
        """
        import cupy

        # What keeps the GPU awake is on this stream, which the search's own do not wait for.
        cupy.cuda.Stream.null.synchronize()
        try:
            records, answered = self._search(source)
        except Exception:
            self._communicator.close()
            raise
        milliseconds = self._clock.whole()
        distance, keys = self._arrays["distance"], self._arrays["keys"]
        predecessor = (keys if on_device else keys.get()).view(numpy.int64) if self._tree else None
        levels = []
        splits = self._clock.splits(len(records))
        for (counts, masks, vertices, within), split in zip(records, splits, strict=True):
            visit, reduce, exchange, local = split
            local = local if self._options.local_all_to_all else 0.0
            parts = visit, reduce, exchange
            levels.append(LevelRecord(*counts, *parts, masks, vertices, local, within))
        return RankLabels(
            distance if on_device else distance.get(), predecessor, milliseconds, answered, tuple(levels)
        )

    def _search(self, source: int) -> tuple[list[Record], int]:
        visits, exchange, reduction = self._visits, self._exchange, self._reduction
        normal, delegate = visits.normal, visits.delegate
        clock = self._clock
        clock.start.record(normal)
        exchange.start()
        reduction.sent_bytes = 0
        mask = reduction.mask
        visits.start(source, self._arrivals, mask)
        clock.end.record(normal)
        delegate.wait_event(clock.end)
        records: list[Record] = []
        level = 0
        while True:
            events = clock.level(level)
            visits.previsit(level, mask, reduction.changed, events)
            if level == self._depth:
                break
            sent = reduction.sent_bytes, exchange.sent_bytes, exchange.local_bytes
            mask = self._visit(level, events)
            level_counts = self._tell(events)
            if not level_counts[:, ROW_NORMALS].any() and not level_counts[0, ROW_DELEGATES]:
                break
            if exchange.deliver(events.gathered):
                visits.arrive(self._arrivals)
            events.exchanged.record(normal)
            normal.wait_event(events.normals_found[1])
            delegate.wait_event(events.reduced)
            now = reduction.sent_bytes, exchange.sent_bytes, exchange.local_bytes
            masks, vertices, within = (after - before for after, before in zip(now, sent, strict=True))
            records.append((self._counts(level_counts), masks, vertices, within))
            level += 1
        # Labels need what the delegate stream wrote, and nothing may run on when the next search begins.
        for stream in (delegate, self._reducing):
            clock.end.record(stream)
            normal.wait_event(clock.end)
        before = exchange.sent_bytes
        if self._tree:
            self._find_predecessors()
        visits.label()
        clock.end.record(normal)
        self._communicator.wait(clock.end)
        self._communicator.rest()
        return records, exchange.sent_bytes - before

    def _visit(self, level: int, events: LevelEvents) -> Any:
        """Enqueue the visits and the reduction; returns the array that will hold the mask."""
        visits, reduction, stream = self._visits, self._reduction, self._reducing
        found = self._arrays["found"]
        visits.find_delegates(level, events)
        for event in events.delegates_found:
            stream.wait_event(event)
        events.reducing.record(stream)
        reduction.begin(found, events.flagged)
        blocking = self._options.reduction == "blocking"
        if not blocking:
            visits.find_normals(level, events)
        mask = reduction.end(found, events.flagged)
        events.reduced.record(stream)
        if blocking:
            visits.normal.wait_event(events.reduced)
            visits.delegate.wait_event(events.reduced)
            visits.find_normals(level, events)
        visits.tell(level, self._arrivals, self._exchange.row)
        return mask

    def _tell(self, events: LevelEvents) -> NDArray[Any]:
        self._exchange.tell(events.counted)
        self._communicator.wait(events.counted)
        return self._exchange.level_counts

    def _counts(self, level_counts: NDArray[Any]) -> tuple[int, int, tuple[str, ...]]:
        own = level_counts[self._group.rank]
        turned = int(own[ROW_BACKWARD])
        backward = tuple(name for bit, name in enumerate(OPTIMIZED) if turned >> bit & 1)
        return int(own[ROW_NORMALS]), int(own[ROW_DELEGATES]), backward

    def _find_predecessors(self) -> None:
        visits, exchange = self._visits, self._exchange
        visits.ask(self._arrivals)
        tails, positions = exchange.answers()
        visits.take_tails(self._arrivals, positions, tails, exchange.chunks)
        keys, smallest = visits.ordered_keys()
        if visits.width:
            self._communicator.smallest(keys, smallest, visits.normal)

    def join(self, group: Gathering) -> None:
        """Go on with another rank group of the same ranks in the same processes."""
        self._group = group

    def leave(self, group: Gathering) -> None:
        """Disconnect, when no rank searches any more."""
        self._group = group
        group.all_gather(None)
        self._communicator.close()


class Alone:
    """A rank group of one."""

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
        query: Query = Query(),
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
        self._query, self._vertices = query, graph.vertex_count
        self.labels: tuple[RankLabels, ...] = ()
        self._rank = NcclRank(Alone(), graph.of_rank(0), query, options, connect_by=connect_by)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError when it is not in the graph."""
        check_source(source, self._vertices)
        found = self._rank.run(source)
        self.labels = (found,)
        distance = found.distance if self._query.distance else None
        predecessor = None
        if found.predecessor is not None:
            predecessor = found.predecessor.astype(predecessor_type(self._vertices), copy=False)
        return BFSResult(source, distance, predecessor, found.milliseconds, directions_of(self.labels))
