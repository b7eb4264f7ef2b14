"""Stopping a stage that runs in this very process when its time is up.

Python runs no signal handler inside a compiled kernel: there the stage stops when the kernel returns. Imports
and the compilation of kernels are let end: one that is cut off leaves half a package behind, in the process
that goes on with the other stages.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from gravel.pipeline.core.durations import format_duration
from gravel.pipeline.workers.failure import Failure

Result = TypeVar("Result")

DELAY = 0.02
"""Seconds until it is tried again where a stage cannot be stopped."""


AGAIN = 2.0
"""Seconds until a stage that goes on all the same is stopped again; one that ends has tidied up by then."""

_LET_END = ("importlib", "numba", "llvmlite", "weakref", "_weakrefset")


class TimeIsUp(BaseException):
    """Raised in the middle of a stage; no `except Exception` takes it for a failure of the stage."""


def overdue(limit: float, progress: str = "") -> Failure:
    """Say that a stage was stopped; `limit` in seconds, `progress` is how far it was, if it reported that."""
    return Failure(
        "stage",
        f"it was stopped at its time limit of {format_duration(limit)}{progress}",
        "raise its time_limit in the workflow, or give it less to do; what does not rest on it went on",
    )


def run_within(limit: float | None, function: Callable[[], Result]) -> Result:
    """Call a function, and raise `TimeIsUp` in it after `limit` seconds.

    In the main thread a signal ends even a wait; in others the exception waits for the next step of Python.
    """
    if limit is None:
        return function()
    if threading.current_thread() is threading.main_thread():
        return _by_signal(limit, function)
    return _by_thread(limit, function)


def _by_signal(limit: float, function: Callable[[], Result]) -> Result:
    ended = False

    def ring(number: int, frame: FrameType | None) -> None:
        if ended:
            return
        if _must_end(frame):
            signal.setitimer(signal.ITIMER_REAL, DELAY)
            return
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise TimeIsUp

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return function()
    finally:
        ended = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # an alarm that somebody else had set
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - began)), interval)


def _by_thread(limit: float, function: Callable[[], Result]) -> Result:
    thread = threading.get_ident()
    lock, ended = threading.Lock(), threading.Event()

    def ring() -> None:
        wait = limit
        while not ended.wait(wait):
            with lock:
                if ended.is_set():
                    return
                if not _must_end(sys._current_frames().get(thread)):
                    target, raised = ctypes.c_ulong(thread), ctypes.py_object(TimeIsUp)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(target, raised)
                    wait = AGAIN
                else:
                    wait = DELAY

    threading.Thread(target=ring, daemon=True, name="gravel-alarm").start()
    try:
        return function()
    finally:
        with lock:
            ended.set()


def _must_end(frame: FrameType | None) -> bool:
    """Say whether a thread imports, compiles or collects something, within the function that has the limit.

    Python drops what is raised while it collects objects.
    """
    while frame is not None and frame.f_code is not run_within.__code__:
        name = str(frame.f_globals.get("__name__", ""))
        if name.split(".")[0] in _LET_END or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
