"""What a command spent its time on before its run began, for the run's profile."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.plan.cache import process_state

if TYPE_CHECKING:
    from gravel.pipeline.workers.spans import Spans


def before_the_run(spans: Spans, began: float) -> None:
    """Add how long the process took to start, and to plan until now.

    A process that is not a command of gravel's may have done anything before `began`.
    """
    now, commanded = time.time(), process_state.began()
    if commanded is None:
        spans.add("plan", began, now - began)
        return
    started = process_started()
    if started is not None:
        spans.add("start", started, commanded - started)
    spans.add("plan", commanded, now - commanded)


def process_started() -> float | None:
    """Return when this process was started, in seconds since the epoch, to 10 ms; None if that is unknown."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
