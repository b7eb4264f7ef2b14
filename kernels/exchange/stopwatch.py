"""What the parts of a program take."""

from __future__ import annotations

import time


class Stopwatch:
    """Tells the milliseconds since it was asked before, or made."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def lap(self) -> float:
        """Tell them, and begin anew."""
        before, self._since = self._since, time.perf_counter()
        return (self._since - before) * 1e3
