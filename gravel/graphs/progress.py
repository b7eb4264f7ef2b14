"""Progress of a long call, where somebody waits for it: a line in a terminal or below a notebook's cell."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.progress.events import Pace, describe_pace

Progress = Callable[[int, int], None]
"""A function of the number of vertices that are done, and of all."""

QUIET = 2.0
"""Seconds after which a call shows that it goes on."""

PERIOD = 0.25
"""Seconds between two lines."""


def in_notebook() -> bool:
    """Say whether this process is the kernel of a notebook, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def shown(name: str, progress: Progress | None, unit: str = "vertices") -> Iterator[Progress | None]:
    """Give a call what to report to: `progress`, or what shows how far it is and how long it still takes.

    Without `progress` that is None where standard error is no terminal and this is no notebook. What is
    shown is taken away when the call ends, however it does.
    """
    if progress is not None or not (in_notebook() or sys.stderr.isatty()):
        yield progress
        return
    line = _Line(name, unit)
    line.start()
    try:
        yield line.report
    finally:
        line.end()


class _Line:
    """One line, written again and again by a thread of its own."""

    def __init__(self, name: str, unit: str) -> None:
        self._name, self._unit, self._pace = name, unit, Pace()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, name="gravel-progress", daemon=True)

    def start(self) -> None:
        """Begin to count the time."""
        self._thread.start()

    def report(self, done: int, total: int) -> None:
        """Take what the call reports."""
        if not self._pace.unit:  # the first report says how long the first vertices took
            self._pace.update(0, total, self._unit, self._pace.started)
        self._pace.update(done, total, self._unit)

    def end(self) -> None:
        """Write no more, and clear the line."""
        self._ended.set()
        self._thread.join()

    def _write(self) -> None:
        if self._ended.wait(QUIET):
            return
        write = _in_a_notebook() if in_notebook() else _in_a_terminal
        while True:
            took = format_seconds(time.monotonic() - self._pace.started)
            write(f"{self._name}: {describe_pace(self._pace) or took}")
            if self._ended.wait(PERIOD):
                write("")
                return


def _in_a_terminal(text: str) -> None:
    sys.stderr.write(f"\r\x1b[2K{text}")
    sys.stderr.flush()


def _in_a_notebook() -> Callable[[str], Any]:
    from IPython.display import display

    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
