"""What happens in a run, as events; with `--json` each is one line on standard output.

Every line is an object with `event` and `time` (seconds since the epoch). The kinds and their other fields:

- `run_started`: run, workflow, stages (count), folder
- `cluster_started`: cluster (what it is), seconds
- `stage_cached`: stage (the run's key), seconds (what making it took), bytes
- `stage_started`: stage, place, attempt, need_host_bytes, need_device_bytes
- `stage_progress`: stage, done, total (or null), unit, rate (units per second)
- `stage_compiles`: stage, kernel (which is compiled once on a machine; null when the stage goes on)
- `stage_finished`: stage, seconds, bytes, peak_host_bytes, compile_seconds (those of the seconds in which
  kernels were compiled, or loaded where they were compiled before), compiled (names of those compiled anew),
  parts (how many parts of the result were cached, as a text; empty where it has none)
- `stage_failed`: stage, message, hint (or null)
- `stage_skipped`: stage, because (the key of the run that failed, or "stopped")
- `stage_retried`: stage, attempt, message
- `damaged`: stage (whose result it was), artifact, message
- `waiting`: stage, message (another run computes it)
- `note`: message
- `run_finished`: run, state (done, failed, interrupted), seconds, computed, cached, failed, skipped,
  interrupted (counts), report (path or null)
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any, TextIO


@dataclass(frozen=True)
class Event:
    """One thing that happened; `data` holds the fields of its kind."""

    kind: str
    data: dict[str, Any]
    time: float = field(default_factory=time.time)


class Reporter:
    """Shows events to somebody; this one shows nothing."""

    def handle(self, event: Event) -> None:
        """Show one event."""

    def tick(self) -> None:
        """Refresh what is shown; called a few times a second."""

    def close(self) -> None:
        """End; the terminal is as it was."""


class QuietReporter(Reporter):
    """Shows nothing; problems still reach the command's error message."""


class JsonReporter(Reporter):
    """One JSON object per line, for programs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def handle(self, event: Event) -> None:
        """Write the event."""
        line = {"event": event.kind, "time": round(event.time, 3), **event.data}
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._stream.flush()
