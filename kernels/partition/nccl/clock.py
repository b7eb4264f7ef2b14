"""Events of a search: what waits for what on its streams, and what its levels take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

EVENT_LEVELS = 250
"""Levels with events of their own; the next ones take those of the first, whose times are read before."""

Split = tuple[float, float, float, float]
"""Milliseconds of a level: visits, reduction, exchange, and of that within groups."""


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
