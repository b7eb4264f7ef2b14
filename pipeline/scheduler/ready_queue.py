"""The stage runs that could start now, in the order in which they should."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.node import Node

MAX_PASSED_OVER = 64
"""Runs for which there is no room now that are passed over, while others run, in search of one that fits."""


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
        places: list[tuple[int, int]] = []
        while self._heap and len(found) < count:
            place = heapq.heappop(self._heap)
            queued = self._queued.get(place[1])
            if queued is None or queued[0] != place[0]:
                continue
            places.append(place)
            if not alike(queued[1]):
                break
            found.append(queued[1])
        for place in places:
            heapq.heappush(self._heap, place)
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
            place = heapq.heappop(self._heap)
            queued = self._queued.get(place[1])
            if queued is None or queued[0] != place[0]:
                continue  # it left, or was queued anew at another place
            start(queued[1], len(self._queued) - 1)
            if self._queued.get(place[1]) == queued:
                passed.append(place)
        for place in passed:
            heapq.heappush(self._heap, place)
