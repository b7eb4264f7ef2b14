"""The log of a stage run."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

from gravel.pipeline.core.messages import readable
from gravel.stages.urls import hidden_in_text


class StageLog:
    """A stage's log file: lines with the time, written at once, so that a crash loses none."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, message: str) -> None:
        """Append a message, each of its lines after the time of day."""
        if self.path is None:
            return
        stamp = time.strftime("%H:%M:%S")
        text = "".join(f"{stamp} {line}\n" for line in hidden_in_text(message).splitlines() or [""])
        # What a full disk loses of a log must not fail a stage, or hide why it failed.
        with self._lock, suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(readable(text))
