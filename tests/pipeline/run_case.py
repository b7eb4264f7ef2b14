"""What a run told and did, and what a cache must be like after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gravel.pipeline.progress.events import Display, Event
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.store.cache import Cache


class Kept(Display):
    """Keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def handle(self, event: Event) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def notes(self) -> list[str]:
        return [event.data["message"] for event in self.events if event.kind == "note"]


def by_key(outcome: RunOutcome) -> dict[str, dict[str, Any]]:
    return {stage["key"]: stage for stage in outcome.record["stages"]}


def states(outcome: RunOutcome) -> dict[str, str]:
    return {key: stage["state"] for key, stage in by_key(outcome).items()}


def total(root: Path, outcome: RunOutcome, key: str) -> int:
    """The sum that `ADD` made."""
    artifact: Any = Cache(root).open(outcome.outputs(key)[0])
    return int(artifact.row_offsets[1:2][0])


def searches(root: Path, outcome: RunOutcome, key: str) -> list[dict[str, Any]]:
    """What a stage noted in its measurement."""
    found: list[dict[str, Any]] = Cache(root).describe(outcome.outputs(key)[0]).attributes["searches"]
    return found


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until a condition holds, and no longer than this."""
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.01)


def whole(root: Path) -> None:
    """All that is in the cache is what was computed, and nothing lies beside it that a sweep leaves."""
    Cache(root).sweep()
    verified = Cache(root).verify()
    assert not verified.damaged
    assert not list((root / "data").glob("*.lock"))
    assert not list((root / "locks").iterdir())
