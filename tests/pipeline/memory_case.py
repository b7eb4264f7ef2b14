"""What a run told, and what a cache must be like after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from gravel.pipeline.progress.events import Display, Event
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Graph


class Kept(Display):
    """Keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def handle(self, event: Event) -> None:
        self.events.append(event)

    @property
    def notes(self) -> list[str]:
        return [event.data["message"] for event in self.events if event.kind == "note"]


def whole(root: Path) -> None:
    """All that is in the cache is what was computed, and nothing lies beside it that a sweep leaves."""
    Cache(root).sweep()
    verified = Cache(root).verify()
    assert not verified.damaged
    assert not list((root / "data").glob("*.lock"))
    assert not list((root / "locks").iterdir())


def graph(offsets: Any) -> Graph:
    return Graph(
        row_offsets=offsets,
        column_indices=numpy.zeros(0, numpy.uint32),
        vertex_count=1,
        arc_count=0,
        symmetric=True,
        deduplicated=True,
    )
