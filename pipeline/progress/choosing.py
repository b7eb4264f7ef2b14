"""How a run is shown: live where standard error is a terminal, else plain lines."""

from __future__ import annotations

import sys

from gravel.pipeline.progress.events import JsonReporter, Reporter
from gravel.pipeline.progress.plain import PlainReporter, ProblemReporter
from gravel.pipeline.progress.terminal import TerminalReporter

__all__ = ["make_reporter"]


def make_reporter(*, json: bool = False, quiet: bool = False, terminal: bool | None = None) -> Reporter:
    """Choose how a run is shown; `terminal` None asks whether standard error is one."""
    if json:
        return JsonReporter()
    if quiet:
        return ProblemReporter()
    if sys.stderr.isatty() if terminal is None else terminal:
        return TerminalReporter()
    return PlainReporter()
