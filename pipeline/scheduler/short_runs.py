"""Which stage runs are sent to a worker together: those that are shorter than sending them takes.

Sending a task to a worker of Dask's and hearing of its end takes 5 to 10 ms. Runs of a stage that take less
are sent several at a time, one after the other in the same slot, as long as every slot gets some.
"""

from __future__ import annotations

TOGETHER = 0.1
"""Seconds that what is sent together may take: nothing is heard of it meanwhile."""

MOST = 16
"""Runs that are sent together at most; by then sending them takes less than the least of them."""

SEEN = 3
"""Runs of a stage that must have ended before others count as short."""


class ShortRuns:
    """Learns how long the runs of each stage take."""

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
        return max(1, min(MOST, fitting, ready // max(1, worker_slots)))
