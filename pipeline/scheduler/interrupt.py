"""Ctrl-C: the first stops the run cleanly, the second ends it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_interrupt(first: Callable[[], None]) -> Iterator[None]:
    """Call `first` on the first Ctrl-C or SIGTERM while the block runs; the second ends the process.

    Workers end with the process, since each watches a pipe to it. Only a process's main thread may do
    this; elsewhere the block runs unguarded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    count = 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"stopped at once\n")
            os._exit(130)
        first()

    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
