"""How a run is shown: live where standard error is a terminal, else plain lines."""

from __future__ import annotations

import sys

from gravel.pipeline.progress.events import Event, JsonReporter, Reporter
from gravel.pipeline.progress.plain import PlainReporter, ProblemReporter

__all__ = ["make_reporter"]


class _LazyTerminal(Reporter):
    """The live display, loaded when the first stage starts: a cached run prints plain lines only."""

    def __init__(self) -> None:
        self._shown: Reporter | None = None
        self._early: list[Event] = []

    def handle(self, event: Event) -> None:
        """Pass the event on, or keep it until something runs."""
        if self._shown is None and event.kind == "stage_started":
            from gravel.pipeline.progress.terminal import TerminalReporter

            self._shown = TerminalReporter()
            for early in self._early:
                self._shown.handle(early)
        if self._shown is not None:
            self._shown.handle(event)
            return
        self._early.append(event)
        if event.kind == "run_finished":
            lines = PlainReporter()
            for early in self._early:
                lines.handle(early)

    def close(self) -> None:
        """End the display, if there is one."""
        if self._shown is not None:
            self._shown.close()


def make_reporter(*, json: bool = False, quiet: bool = False, terminal: bool | None = None) -> Reporter:
    """Choose how a run is shown; `terminal` None asks whether standard error is one."""
    if json:
        return JsonReporter()
    if quiet:
        return ProblemReporter()
    if sys.stderr.isatty() if terminal is None else terminal:
        return _LazyTerminal()
    return PlainReporter()
