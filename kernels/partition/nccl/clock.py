"""Events of a search: what waits for what on its streams, and what its levels take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TIMED_LEVELS = 250
"""Levels with events of their own; deeper ones share some, and are not timed."""


@dataclass(frozen=True)
class LevelEvents:
    """Events of one level; `told`, `flagged` and `reduced` are those that the host or other streams wait
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
    told: Any
    gathered: Any  # within groups
    exchanged: Any


class Clock:
    """Events for every level, kept from search to search."""

    def __init__(self) -> None:
        import cupy

        self._made: list[LevelEvents] = []
        self._event = cupy.cuda.Event
        self.start, self.end = self._event(), self._event()

    def _make(self) -> LevelEvents:
        new = self._event
        return LevelEvents(
            new(), new(), new(), (new(), new()), (new(), new()), new(), new(), new(), new(), new(), new()
        )

    def level(self, number: int) -> LevelEvents:
        """Give the events of a level; those of the last are given for all deeper ones."""
        place = min(number, TIMED_LEVELS)
        while len(self._made) <= place:
            self._made.append(self._make())
        return self._made[place]

    def whole(self) -> float:
        """Milliseconds of the last search, when it has ended."""
        return _between(self.start, self.end)

    def split(self, number: int, *, blocking: bool) -> tuple[float, float, float, float]:
        """Milliseconds of visits, reduction, exchange and of that within groups in a level; all may overlap.

        Where visits wait for the reduction, its time is taken off theirs.
        """
        if number >= TIMED_LEVELS:
            return 0.0, 0.0, 0.0, 0.0
        events = self._made[number]
        visit = max(_between(events.begun, end) for end in events.normals_found)
        reduction = _between(events.reducing, events.reduced)
        exchange, local = (
            _between(events.normals_found[0], end) for end in (events.exchanged, events.gathered)
        )
        return max(0.0, visit - reduction) if blocking else visit, reduction, exchange, local


def _between(start: Any, end: Any) -> float:
    import cupy

    return float(cupy.cuda.get_elapsed_time(start, end))
