"""What a stage run spent its time on, measured where it ran."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.stages.artifact import Json


class Spans:
    """Spans of time as plain data: `what`, `began` (seconds since the epoch), `seconds` and `bytes`.

    Of a stage run `what` is read (inputs taken from memory, or opened), compute (the stage, compilation
    included), compile (of that, kernels compiled or loaded), digest (the result's id), or write (to the
    cache). Of the run itself see `gravel.pipeline.records.profile`. Without `kept` nothing is measured.
    """

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self.taken: list[dict[str, Json]] = []

    @contextmanager
    def take(self, what: str, size: int = 0) -> Iterator[None]:
        """Measure the block."""
        if not self._kept:
            yield
            return
        began, clock = time.time(), time.perf_counter()
        try:
            yield
        finally:
            self.add(what, began, time.perf_counter() - clock, size)

    def add(self, what: str, began: float, seconds: float, size: int = 0) -> None:
        """Add a span that was measured elsewhere."""
        if self._kept and seconds > 0:
            span = {"what": what, "began": began, "seconds": round(seconds, 6), "bytes": size}
            self.taken.append(span)
