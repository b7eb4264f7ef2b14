"""How far a call is: a line on a terminal or in a notebook, shown after two seconds and gone at the end."""

from __future__ import annotations

import contextvars
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0
"""Seconds before a line appears."""

INTERVAL = 0.25
"""Seconds between two lines."""


class _Line:
    """What is known of a call that runs."""

    def __init__(self, call: str) -> None:
        from gravel.pipeline.progress.pace import Pace

        self.call = call
        self.pace = Pace()
        self.ended = threading.Event()

    def text(self) -> str:
        """Return what runs, how far it is, and the time left, or for how long it has run."""
        from gravel.pipeline.core.durations import format_seconds
        from gravel.pipeline.progress.pace import describe_pace

        took = format_seconds(time.monotonic() - self.pace.started)
        return f"{self.call}: {describe_pace(self.pace) or took}"

    def show(self, write: Callable[[str], Any]) -> None:
        """Write the line again and again until the call ends."""
        if self.ended.wait(PATIENCE):
            return
        while True:
            write(self.text())
            if self.ended.wait(INTERVAL):
                write("")
                return


Progress = Callable[[int, int], None]
"""A function of how many vertices or sources are done, and of all."""

_CURRENT: contextvars.ContextVar[_Line | None] = contextvars.ContextVar("line", default=None)


@contextmanager
def shown(call: str) -> Iterator[None]:
    """Show how far a call is while the block runs; a call within another has the line of that one."""
    outer = _CURRENT.get()
    if outer is not None and not outer.ended.is_set():
        yield
        return
    line, ticker = _Line(call), None
    try:
        _CURRENT.set(line)
        if (write := _writer()) is not None:
            context = contextvars.copy_context()  # a notebook knows by it to which cell the line belongs
            ticker = threading.Thread(target=context.run, args=(line.show, write), daemon=True)
            ticker.start()
        yield
    finally:
        line.ended.set()
        _CURRENT.set(outer)
        if ticker is not None and ticker.is_alive():
            ticker.join()


@contextmanager
def measured(call: str, progress: Progress | None, unit: str = "vertices") -> Iterator[Progress | None]:
    """Give a call what to report to: `progress`, or its line where that is None and somebody sees one."""
    if progress is not None:
        yield progress
        return
    with shown(call):
        line = _CURRENT.get()

        def report(done: int, total: int) -> None:
            if line is not None and not line.pace.unit:  # the first report says how long the first ones took
                line.pace.update(0, total, unit, line.pace.started)
            if line is not None:
                line.pace.update(done, total, unit)

        yield report if _is_seen() else None


def report(done: int, total: int | None, unit: str) -> None:
    """Say how far the call is that runs; cheap enough for each chunk of some milliseconds."""
    line = _CURRENT.get()
    if line is not None:
        line.pace.update(done, total, unit)


def _writer() -> Callable[[str], Any] | None:
    """Return what shows a line in the place of the last one; None where nobody would see it."""
    if in_notebook():
        shown_once: list[Callable[[str], Any]] = []

        def update(text: str) -> None:
            if not shown_once:
                shown_once.append(display_line())
            shown_once[0](text)

        return update
    if not _is_seen():
        return None
    stream = sys.stderr

    def write(text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        stream.write(f"\r\x1b[2K{text[:width]}")
        stream.flush()

    return write


def _is_seen() -> bool:
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def in_notebook() -> bool:
    """Say whether this process is the kernel of a notebook, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def display_line() -> Callable[[str], Any]:
    """Return what shows a text below a notebook's cell, in the place of the last one."""
    from IPython.display import display

    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
