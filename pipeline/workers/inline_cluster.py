"""No workers: every stage runs in the driver's own process, one after the other.

For debugging, and for runs that would wait for workers longer than for their stages (`scheduler/machine.py`).

A stage whose time is up is stopped in this very process. Python runs no signal handler inside a compiled
kernel: there the stage stops when the kernel returns. Imports and the compilation of kernels are let end: one
that is cut off leaves half a package behind, in the process that goes on with the other stages.
"""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import TypeVar

from gravel.pipeline.workers.context import Services
from gravel.pipeline.workers.failure import overdue
from gravel.pipeline.workers.peak import give_back_free_memory, release_device
from gravel.pipeline.workers.protocol import (
    Assignment,
    Back,
    Cluster,
    ClusterEvent,
    Finished,
    Reported,
    StageOutcome,
    StageTask,
    WorkerSlot,
)
from gravel.pipeline.workers.results_in_memory import WriteBehind, release_resident
from gravel.pipeline.workers.stage_run import run_stage
from gravel.stages.rank_group import Report, run_in_threads
from gravel.stages.threads import map_threads

Item = TypeVar("Item")
Result = TypeVar("Result")

DELAY = 0.02
"""Seconds until it is tried again where a stage cannot be stopped."""

AGAIN = 2.0
"""Seconds until a stage that goes on all the same is stopped again; one that ends has tidied up by then."""

_LET_END = ("importlib", "numba", "llvmlite", "weakref", "_weakrefset")


class InlineServices(Services):
    """A stage's environment in the driver's process."""

    def __init__(
        self, task: StageTask, write_behind: WriteBehind, tell: Callable[[ClusterEvent], None]
    ) -> None:
        super().__init__(write_behind, tell)
        # Somebody's own stage may be looked at step by step.
        self._threads = task.machine.threads if task.stage.origin is None else 1

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function on threads of this process; no worker is reserved here."""
        if on_reserved:
            return map(function, items)
        return map_threads(function, items, self._threads)

    def rank_group(
        self, function: Callable[..., Result], ranks: Sequence[object], report: Report
    ) -> list[Result]:
        """Run the ranks as threads of this process."""
        return run_in_threads(function, ranks, report=report)


class InlineCluster(Cluster):
    """The driver's process as the only worker slot; `progress` is called while a stage runs."""

    def __init__(self, worker_slot: WorkerSlot, progress: Callable[[Reported], None]) -> None:
        super().__init__("inline", [worker_slot])
        self._device = worker_slot.device
        self._progress = progress
        self._write_behind = WriteBehind()
        self._kept: list[tuple[str, ...]] = []

    def describe(self) -> str:
        """Say in a few words what the cluster is."""
        return f"inline, in this process{f' on {self._device}' if self._device else ''}"

    def submit(self, tasks: Sequence[StageTask], where: Assignment) -> None:
        """Run the stages now."""
        for task in tasks:
            self._run(task)

    def _run(self, task: StageTask) -> None:
        services = InlineServices(task, self._write_behind, self._tell)
        started, clock = time.time(), time.perf_counter()
        try:
            outcome = run_within(task.time_limit, lambda: run_stage(task, services))
        except TimeIsUp:
            took, failure = time.perf_counter() - clock, overdue(task.time_limit or 0.0)
            outcome = StageOutcome(task.key, "failed", started=started, seconds=took, failure=failure)
        if outcome.state == "computed" and (task.in_memory or not task.keep):
            self._kept.append(outcome.outputs)
        self.events.put(Finished(task.key, task.attempt, outcome))

    def _tell(self, event: ClusterEvent) -> None:
        if isinstance(event, Reported):  # shown while the stage runs, which the driver waits for
            self._progress(event)
        else:
            self.events.put(event)

    def replace(self, worker_slots: Sequence[str]) -> None:
        """Free what can be freed: the driver's own process cannot be replaced."""
        self._release_all()
        give_back_free_memory()
        self.events.put(Back(tuple(worker_slots)))

    def release(self, worker_slot: str, resident: tuple[str, ...]) -> None:
        """Forget results kept here."""
        if resident in self._kept:
            self._kept.remove(resident)
            release_resident(resident)

    def _release_all(self) -> None:
        """Forget all results kept here, and give back what the GPU keeps for later use."""
        for names in self._kept:
            release_resident(names)
        self._kept.clear()
        if self._device is not None:
            release_device()

    def close(self, *, hurry: bool = False) -> None:
        """End the thread that writes results; the process may have other uses for its memory."""
        self._write_behind.stop()
        self._release_all()


class TimeIsUp(BaseException):
    """Raised in the middle of a stage; no `except Exception` takes it for a failure of the stage."""


def run_within(limit: float | None, function: Callable[[], Result]) -> Result:
    """Call a function, and raise `TimeIsUp` in it after `limit` seconds.

    In the main thread a signal ends even a wait; in others the exception waits for the next step of Python.
    """
    if limit is None:
        return function()
    is_main = threading.current_thread() is threading.main_thread()
    return (_by_signal if is_main else _by_thread)(limit, function)


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

    Python drops what is raised while it collects objects, and in what it calls before and after.
    """
    dropped = {getattr(each, "__code__", None) for each in gc.callbacks}
    while frame is not None and frame.f_code is not run_within.__code__:
        name, code = str(frame.f_globals.get("__name__", "")), frame.f_code
        if name.split(".")[0] in _LET_END or code.co_name == "__del__" or code in dropped:
            return True
        frame = frame.f_back
    return False
