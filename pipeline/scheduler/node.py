"""One stage run while the plan is carried out, an attempt at it, and the queue of those that are ready."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gravel.pipeline.plan.model import StageRun

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.stages.stage import Extent, Need, Parameters

WAITING = "waiting"  # the ids of its inputs are not known
KNOWN = "known"  # its ids are known, its result is not stored, and nothing has asked for it yet
WANTED = "wanted"  # has to be computed
LOCKING = "locking"  # another run computes its recipe
RUNNING = "running"
REPLACING = "replacing"  # its workers are being replaced before it is tried again
DONE = "done"  # its result is there
FAILED = "failed"
SKIPPED = "skipped"
NOT_RUN = "not run"  # this machine has not what it asks for

ENDED = frozenset({DONE, FAILED, SKIPPED, NOT_RUN, KNOWN})
BUSY = (RUNNING, REPLACING)
"""States in which a node has worker slots."""

MAX_PASSED_OVER = 64
"""Runs for which there is no room now that are passed over, while others run, in search of one that fits."""


@dataclass(slots=True)
class Attempt:
    """One submission of a stage run: the `number`-th.

    `worker_slot` and `rank_group` are where it runs, and empty once it has ended; `replaced` those of its
    worker slots whose workers are being replaced. `need` is what it may take, its result included where that
    stays in memory: with `in_memory` the result is written behind the attempt, and with `on_device` it stays
    on the GPU, too. `began` is when its stage began, on the monotonic clock.
    """

    number: int
    need: Need | None = None
    threads: int = 1
    worker_slot: str = ""
    rank_group: tuple[str, ...] = ()
    in_memory: bool = False
    on_device: bool = False
    began: float | None = None
    replaced: frozenset[str] = frozenset()

    @property
    def worker_slots(self) -> frozenset[str]:
        """Every worker slot that it occupies."""
        return frozenset((self.worker_slot, *self.rank_group)) - {""}


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """One stage run under way. Only `Nodes` sets `state`, `ids` and `resident_at`: others count on them.

    `ids` are its output ids, once known, and `extents` the sizes of its outputs. `stated` is what the stage
    states it needs, once its inputs are known. `resident_at` is the worker slot whose memory has the result.
    `losses` counts the attempts that ended with a lost worker, `damages` how often an input turned out
    damaged. `previous_ids` are those of a result that was lost.

    `sources` are the nodes that it reads and `consumers` those that read it; `watchers` need its ids for
    their recipes. `unknown` counts the nodes that it watches and whose ids are not known, `undone` the
    sources that are not done, `open` the consumers that have not ended. `depth` is the length of the longest
    chain that leads here.
    """

    run: StageRun
    position: int
    state: str
    ids: tuple[str, ...] | None = None
    extents: tuple[Extent, ...] = ()
    recipe: Recipe | None = None
    parameters: Parameters | None = None
    stated: Need | None = None
    attempt: Attempt = field(default_factory=lambda: Attempt(0))
    losses: int = 0
    damages: int = 0
    computed: bool = False
    resident_at: str | None = None
    previous_ids: tuple[str, ...] | None = None
    sources: tuple[Node, ...] = ()
    consumers: list[Node] = field(default_factory=list)
    watchers: list[Node] = field(default_factory=list)
    unknown: int = 0
    undone: int = 0
    open: int = 0
    depth: int = 0

    @property
    def key(self) -> str:
        """The run's key."""
        return self.run.key

    @property
    def forced(self) -> bool:
        """Whether it is computed though the cache may have its result."""
        return self.run.forced and not self.computed

    @property
    def bytes(self) -> int:
        """The bytes of its result, once its extents are known."""
        return sum(extent.bytes for extent in self.extents)

    def is_running(self, attempt: int) -> bool:
        """Say whether this attempt is under way."""
        return self.state == RUNNING and self.attempt.number == attempt


class ReadyQueue:
    """Runs whose inputs are all there.

    Those that read what is in a worker's memory come first, those at the end of a chain before others, so
    that little is kept at a time; the rest come in the plan's order.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []
        self._queued: dict[int, tuple[int, Node]] = {}

    def __len__(self) -> int:
        return len(self._queued)

    def nodes(self) -> list[Node]:
        """Return every ready node, in the plan's order."""
        return [self._queued[position][1] for position in sorted(self._queued)]

    def add(self, node: Node) -> None:
        """Queue a node, or queue it anew when its inputs came into, or went from, a worker's memory."""
        rank = -node.depth if any(source.resident_at is not None for source in node.sources) else 0
        if self._queued.get(node.position, (None,))[0] != rank:
            self._queued[node.position] = (rank, node)
            heapq.heappush(self._heap, (rank, node.position))

    def discard(self, node: Node) -> None:
        """Take a node out, if it is there."""
        self._queued.pop(node.position, None)

    def others_like(self, alike: Callable[[Node], bool], count: int) -> list[Node]:
        """Return the next nodes, up to so many, that are alike; the first that is not ends the search."""
        found: list[Node] = []
        entries: list[tuple[int, int]] = []
        while len(found) < count and (entry := self._next()) is not None:
            entries.append(entry)
            node = self._queued[entry[1]][1]
            if not alike(node):
                break
            found.append(node)
        for entry in entries:
            heapq.heappush(self._heap, entry)
        return found

    def offer(
        self, start: Callable[[Node, int], object], has_room: Callable[[], bool], *, patient: bool
    ) -> None:
        """Offer nodes to `start`, given each and how many others are ready, while there is room.

        A node that `start` leaves in the queue is offered again next time. Whoever is `patient`, because
        something runs whose end is an occasion to look again, passes over a few only.
        """
        passed: list[tuple[int, int]] = []
        while has_room() and not (patient and len(passed) >= MAX_PASSED_OVER):
            if (entry := self._next()) is None:
                break
            queued = self._queued[entry[1]]
            start(queued[1], len(self._queued) - 1)
            if self._queued.get(entry[1]) == queued:
                passed.append(entry)
        for entry in passed:
            heapq.heappush(self._heap, entry)

    def _next(self) -> tuple[int, int] | None:
        """Take the first entry whose node is still queued under it; None if there is none."""
        while self._heap:
            entry = heapq.heappop(self._heap)
            if self._queued.get(entry[1], (None,))[0] == entry[0]:
                return entry
        return None
