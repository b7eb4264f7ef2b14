"""A level's kernels on two streams that overlap, as the paper has them (section IV, figure 3).

===============  ====================================  ====================================
                 delegate stream                       normal stream
===============  ====================================  ====================================
previsit         label delegates, count work           label normal vertices, count work
direct           decide all directions
queue            list delegates                        list normal vertices
visit            dd, dn                                nd, nn
reduction        begins when dd and nd have ended, on a stream of its own
exchange                                               when nn has ended
===============  ====================================  ====================================

A kernel is launched for every subgraph in every level, and ends at once where the device has counted no work:
the host knows no counts before the level is over. Events of the levels (`Clock`) tell what waits for what on
the streams, and what a level takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.cuda.launch import NOWHERE, packed_factors
from gravel.kernels.partition.cuda.memory import RankMemory
from gravel.kernels.partition.layout import find_delegate, mask_words
from gravel.kernels.partition.nccl.launching import Kernels
from gravel.kernels.partition.nccl.layout import empty
from gravel.kernels.partition.options import SearchOptions

STATE_WORDS = 4
"""Of the kernels' `Local`."""


class Visits:
    """One rank's subgraphs and labels, and the kernels that search them.

    `memory` has the rank's arrays; `normal` and `delegate` are the two streams.
    """

    def __init__(
        self,
        memory: RankMemory,
        delegates: NDArray[Any],
        ranks: int,
        macros: Mapping[str, object],
        *,
        options: SearchOptions,
        symmetric: bool,
    ) -> None:
        import cupy

        self.memory = memory
        self._kernels = Kernels("kernels/partition/nccl/level.cu", **macros)
        self.normal, self.delegate = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        self._delegates = delegates
        self._on_device = cupy.asarray(delegates)
        self._row = cupy.asarray(memory.row())
        words = 2 * mask_words(len(delegates))
        world = [self._row.data.ptr, 0, self._on_device.data.ptr, 1, ranks, len(delegates), words]
        self._world = cupy.asarray(numpy.array(world, numpy.uint64))
        self._factors = cupy.asarray(packed_factors(options, symmetric=symmetric))
        self._state = empty(STATE_WORDS, numpy.uint64)
        self._order_owners(ranks)
        tree = bool(macros["TREE"])
        self._keys = empty(len(self._order) if tree else 0, numpy.uint64)
        self._smallest = empty(self.width if tree else 0, numpy.uint64)

    def _order_owners(self, ranks: int) -> None:
        """List delegates by their owners, in rows of equal length."""
        import cupy

        owners = (self._delegates % ranks).astype(numpy.int64)
        counts = numpy.bincount(owners, minlength=ranks)
        self.width = int(counts.max())
        rows = numpy.full((ranks, self.width), 0xFFFFFFFF, numpy.uint32)
        for rank in range(ranks):
            rows[rank, : counts[rank]] = numpy.flatnonzero(owners == rank)
        self._order = cupy.asarray(rows.reshape(-1))

    def start(self, source: int, arrivals: Any, mask: Any) -> None:
        """Forget the last search and place the source, on the normal stream."""
        place = find_delegate(self._delegates, source)
        arguments = (self._world, arrivals, self._state, mask, source)
        number = numpy.uint64(NOWHERE if place is None else place)
        self._kernels.launch("begin", self.normal, *arguments, number)

    def previsit(self, level: int, mask: Any, changed: Any, events: LevelEvents) -> None:
        """Label, count and queue what the level before found; `mask` has all ranks' delegates."""
        events.begun.record(self.normal)
        self._kernels.launch("previsit_normals", self.normal, self._world, level)
        events.previsited.record(self.normal)
        self._kernels.launch("previsit_delegates", self.delegate, self._world, mask, level)
        self.delegate.wait_event(events.previsited)
        arguments = (self._world, self._state, self._factors, changed, level)
        self._kernels.launch("direct", self.delegate, *arguments, blocks=1)
        events.decided.record(self.delegate)
        self.normal.wait_event(events.decided)
        self._kernels.launch("queue_normals", self.normal, self._world, self._state, level)
        self._kernels.launch("queue_delegates", self.delegate, self._world, self._state, level)

    def find_delegates(self, level: int, events: LevelEvents) -> None:
        """Visit nd and dd."""
        by_nd, by_dd = events.delegates_found
        self._kernels.launch("search_nd", self.normal, self._world, self._state, level)
        by_nd.record(self.normal)
        self._kernels.launch("search_dd", self.delegate, self._world, self._state, level)
        by_dd.record(self.delegate)

    def find_normals(self, level: int, events: LevelEvents) -> None:
        """Visit nn and dn."""
        by_nn, by_dn = events.normals_found
        self._kernels.launch("search_dn", self.delegate, self._world, self._state, level)
        by_dn.record(self.delegate)
        self._kernels.launch("search_nn", self.normal, self._world, level)
        by_nn.record(self.normal)

    def tell(self, level: int, arrivals: Any, row: Any) -> None:
        """Write what the other ranks have to know of this level."""
        self._kernels.launch("tell", self.normal, self._world, arrivals, self._state, row, level, blocks=1)

    def arrive(self, arrivals: Any) -> None:
        """Take in what came."""
        self._kernels.launch("arrive", self.normal, self._world, arrivals)

    def ask(self, arrivals: Any) -> None:
        """Choose those of all that came that have no delegate for a predecessor."""
        self._kernels.launch("ask", self.normal, self._world, arrivals)

    def take_tails(self, arrivals: Any, positions: Any, tails: Any, chunks: int) -> None:
        """Keep the smallest of the tails that were asked for."""
        arguments = (self._world, arrivals, positions, tails)
        self._kernels.launch("take_tails", self.normal, *arguments, blocks=max(1, chunks))

    def ordered_keys(self) -> tuple[Any, Any]:
        """Write the delegates' keys by owner; returns them and where the smallest of this rank's go."""
        arguments = (self._world, self._order, self._keys, self.width)
        self._kernels.launch("order_keys", self.normal, *arguments, items=len(self._order))
        return self._keys, self._smallest

    def label(self) -> None:
        """Make predecessors of keys, and label the delegates that this rank owns."""
        self._kernels.launch("label", self.normal, self._world, self._order, self._smallest, self.width)


EVENT_LEVELS = 250
"""Levels with events of their own; the next ones take those of the first, whose times are read before."""

Split = tuple[float, float, float, float]
"""Milliseconds of a level: visits, reduction, exchange, and of that within groups."""


@dataclass(frozen=True)
class LevelEvents:
    """Events of one level; `counted`, `flagged` and `reduced` are those that the host or other streams wait
    for.
    """

    begun: Any
    previsited: Any  # normal vertices
    decided: Any
    delegates_found: tuple[Any, Any]  # by nd and by dd
    normals_found: tuple[Any, Any]  # by nn and by dn
    reducing: Any
    flagged: Any
    reduced: Any
    counted: Any
    gathered: Any  # within groups
    exchanged: Any


class Clock:
    """Events for the levels, kept from search to search, and the times of the levels of this search.

    `blocking` tells that visits wait for the reduction, whose time is taken off theirs then.
    """

    def __init__(self, *, blocking: bool = False) -> None:
        import cupy

        self._made: list[LevelEvents] = []
        self._splits: list[Split] = []
        self._blocking = blocking
        self._event = cupy.cuda.Event
        self.start, self.end = self._event(), self._event()

    def _make(self) -> LevelEvents:
        new = self._event
        return LevelEvents(
            new(), new(), new(), (new(), new()), (new(), new()), new(), new(), new(), new(), new(), new()
        )

    def level(self, number: int) -> LevelEvents:
        """Give the events of a level, the next one of a search or its first.

        They are those of the level EVENT_LEVELS before, which has long ended: its times are read first.
        """
        if number == 0:
            self._splits.clear()
        if number >= EVENT_LEVELS:
            self._read(number - EVENT_LEVELS)
        place = number % EVENT_LEVELS
        if len(self._made) == place:
            self._made.append(self._make())
        return self._made[place]

    def whole(self) -> float:
        """Milliseconds of the last search, when it has ended."""
        return _between(self.start, self.end)

    def splits(self, levels: int) -> list[Split]:
        """Give the times of the levels of the last search, when it has ended; parts may overlap."""
        for number in range(len(self._splits), levels):
            self._read(number)
        return self._splits

    def _read(self, number: int) -> None:
        events = self._made[number % EVENT_LEVELS]
        visit = max(_between(events.begun, end) for end in events.normals_found)
        reduction = _between(events.reducing, events.reduced)
        exchange, local = (
            _between(events.normals_found[0], end) for end in (events.exchanged, events.gathered)
        )
        self._splits.append(
            (max(0.0, visit - reduction) if self._blocking else visit, reduction, exchange, local)
        )


def _between(start: Any, end: Any) -> float:
    import cupy

    return float(cupy.cuda.get_elapsed_time(start, end))
