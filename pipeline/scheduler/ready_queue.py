"""The stage runs that could start now: in which order they should, and how many in one task of Dask's."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.node import Node

MAX_PASSED_OVER = 64
"""Runs for which there is no room now that are passed over, while others run, in search of one that fits."""

TOGETHER = 0.1
"""Seconds that stage runs which are sent together may take: nothing is heard of them meanwhile."""

MAX_TOGETHER = 16
"""Runs that are sent together at most; by then sending them takes less than the least of them."""

SEEN = 3
"""Runs of a stage that must have ended before others count as short."""


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
        while self._heap and len(found) < count:
            entry = heapq.heappop(self._heap)
            queued = self._queued.get(entry[1])
            if queued is None or queued[0] != entry[0]:
                continue
            entries.append(entry)
            if not alike(queued[1]):
                break
            found.append(queued[1])
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
        while self._heap and has_room() and not (patient and len(passed) >= MAX_PASSED_OVER):
            entry = heapq.heappop(self._heap)
            queued = self._queued.get(entry[1])
            if queued is None or queued[0] != entry[0]:
                continue  # it left, or was queued anew at another entry
            start(queued[1], len(self._queued) - 1)
            if self._queued.get(entry[1]) == queued:
                passed.append(entry)
        for entry in passed:
            heapq.heappush(self._heap, entry)


class ShortRuns:
    """How long the runs of each stage take, and so which are sent to a worker together.

    Sending a task to a worker of Dask's and hearing of its end takes 5 to 10 ms. Runs of a stage that take
    less are sent several at a time, one after the other in the same slot, as long as every slot gets some.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._longest: dict[str, float] = {}

    def note(self, stage: str, seconds: float) -> None:
        """Take note of a run that has ended; what was seen long ago counts less and less."""
        self._seen[stage] = self._seen.get(stage, 0) + 1
        self._longest[stage] = max(seconds, 0.9 * self._longest.get(stage, 0.0))

    def together(self, stage: str, ready: int, worker_slots: int) -> int:
        """Return how many runs of a stage to send at a time when so many are ready for so many slots."""
        if self._seen.get(stage, 0) < SEEN:
            return 1
        fitting = int(TOGETHER / max(self._longest[stage], 1e-6))
        return max(1, min(MAX_TOGETHER, fitting, ready // max(1, worker_slots)))
