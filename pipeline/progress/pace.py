"""How fast work goes on, from what it reports, and how long it still takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gravel.pipeline.core.durations import format_seconds

MEMORY = 0.7
"""Weight of the old rate when a new one comes: smooth enough to read, quick enough to notice a stall."""


@dataclass
class Pace:
    """One running stage's progress; `rate` is in units per second, 0 until two reports came."""

    started: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int | None = None
    unit: str = ""
    rate: float = 0.0
    _seen: float | None = None

    def update(self, done: int, total: int | None, unit: str, now: float | None = None) -> None:
        """Take a report. A new unit, or going backwards, starts a new phase."""
        now = time.monotonic() if now is None else now
        if unit != self.unit or done < self.done:
            self.rate, self._seen = 0.0, None
        elif self._seen is not None and now > self._seen:
            fresh = (done - self.done) / (now - self._seen)
            self.rate = fresh if self.rate == 0 else MEMORY * self.rate + (1 - MEMORY) * fresh
        self.done, self.total, self.unit, self._seen = done, total, unit, now

    @property
    def remaining(self) -> float | None:
        """Seconds to the end at this rate, or None where it cannot be known."""
        if not self.total or self.rate <= 0:
            return None
        return max(0.0, (self.total - self.done) / self.rate)


def describe_pace(pace: Pace) -> str:
    """Say how far, how fast and how long still: `3.2M/16.8M edges, 4.1M/s, 3.3 s left`."""
    if not pace.unit:
        return ""
    total = f"/{format_count(pace.total)}" if pace.total else ""
    text = f"{format_count(pace.done)}{total} {pace.unit}"
    if pace.rate > 0:
        text += f", {format_count(pace.rate)}/s"
    if pace.remaining is not None and pace.remaining > 0.5:
        text += f", {format_seconds(pace.remaining)} left"
    return text


def format_count(count: float) -> str:
    """Write a count with three digits: 950, 12.3k, 4.56M."""
    for limit, suffix in ((1e3, ""), (1e6, "k"), (1e9, "M"), (1e12, "G")):
        if abs(count) < limit * 0.9995:
            scaled = count / (limit / 1e3)
            return f"{scaled:.3g}{suffix}" if suffix else f"{count:.0f}"
    return f"{count / 1e12:.3g}T"
