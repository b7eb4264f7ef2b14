"""Only what somebody should know of although all may end well: damage, lost workers, notes."""

from __future__ import annotations

from typing import TextIO

from gravel.pipeline.progress.events import Event
from gravel.pipeline.progress.plain import PlainReporter

PROBLEMS = ("damaged", "stage_retried", "note")
"""Kinds of events that are shown; a failure reaches the command's error message."""


class ProblemReporter:
    """Writes problems as plain lines, on standard error by default."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._lines = PlainReporter(stream)

    def handle(self, event: Event) -> None:
        """Write the event if it is a problem."""
        if event.kind in PROBLEMS:
            self._lines.handle(event)

    def tick(self) -> None:
        """Nothing to refresh."""

    def close(self) -> None:
        """Nothing to end."""
