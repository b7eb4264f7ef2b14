"""No workers: every stage runs in the driver's own process, one after the other.

For debugging, and for runs that would wait for workers longer than for their stages (`scheduler/machine.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

from gravel.pipeline.workers.peak import give_back_free_memory, release_device
from gravel.pipeline.workers.protocol import (
    Assignment,
    Back,
    Compiles,
    Finished,
    Progress,
    Readable,
    Reported,
    WorkerSlot,
    Written,
)
from gravel.pipeline.workers.resident import release_resident
from gravel.pipeline.workers.stage_run import run_stage
from gravel.pipeline.workers.stage_task import StageOutcome, StageTask
from gravel.pipeline.workers.time_limit import TimeIsUp, overdue, run_within
from gravel.pipeline.workers.write_behind import WriteBehind
from gravel.stages.rank_group import run_in_threads
from gravel.stages.threads import map_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


class InlineServices:
    """A stage's environment in the driver's process."""

    def __init__(
        self,
        task: StageTask,
        tell: Callable[[Reported], None],
        write_behind: WriteBehind,
        written: Callable[[Readable | Written], None],
    ) -> None:
        self._key = task.key
        # Somebody's own stage may be looked at step by step.
        self._threads = task.machine.threads if task.stage.origin is None else 1
        self._tell = tell
        self.reserved = 0
        self.write_behind = write_behind
        self.written = written

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function on threads of this process; no worker is reserved here."""
        if on_reserved:
            return map(function, items)
        return map_threads(function, items, self._threads)

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[object]) -> list[Result]:
        """Run the ranks as threads of this process."""
        return run_in_threads(function, ranks)

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Tell the driver at once: it shows progress while the stage runs."""
        self._tell(Progress(self._key, done, total, unit))

    def compiles(self, kernel: str | None) -> None:
        """Tell the driver at once, as of progress."""
        self._tell(Compiles(self._key, kernel))

    def extra_host_bytes(self) -> int:
        """No other process works for the stage."""
        return 0


class InlineCluster:
    """The driver's process as the only worker slot; `progress` is called while a stage runs."""

    kind = "inline"
    warning: str | None = None

    def __init__(self, worker_slot: WorkerSlot, progress: Callable[[Reported], None]) -> None:
        self.events: SimpleQueue[object] = SimpleQueue()
        self._assign = worker_slot
        self._progress = progress
        self._write_behind = WriteBehind()
        self._kept: dict[str, tuple[str, ...]] = {}

    @property
    def worker_slots(self) -> tuple[WorkerSlot, ...]:
        """The driver's process."""
        return (self._assign,)

    def describe(self) -> str:
        """Say in a few words what the cluster is."""
        on = f" on {self._assign.device}" if self._assign.device else ""
        return f"inline, in this process{on}"

    def submit(self, tasks: Sequence[StageTask], where: Assignment) -> None:
        """Run the stages now."""
        for task in tasks:
            self._run(task)

    def _run(self, task: StageTask) -> None:
        services = InlineServices(task, self._progress, self._write_behind, self.events.put)
        started, clock = time.time(), time.perf_counter()
        try:
            outcome = run_within(task.time_limit, lambda: run_stage(task, services))
        except TimeIsUp:
            assert task.time_limit is not None
            took = time.perf_counter() - clock
            failure = overdue(task.time_limit)
            outcome = StageOutcome(task.key, "failed", started=started, seconds=took, failure=failure)
        if outcome.state == "computed" and (task.in_memory or not task.keep):
            self._kept[task.key] = outcome.outputs
        self.events.put(Finished(task.key, task.attempt, outcome))

    def lost(self) -> str | None:
        """The driver's process is there as long as the driver."""
        return None

    def helpers(self, key: str) -> frozenset[str]:
        """Items run in the stage's own worker slot."""
        return frozenset()

    def cancel(self, key: str) -> None:
        """Nothing runs while the driver thinks."""

    def replace(self, worker_slots: Sequence[str]) -> None:
        """Free what can be freed: the driver's own process cannot be replaced."""
        self._release_all()
        give_back_free_memory()
        self.events.put(Back(tuple(worker_slots)))

    def write_out(self, worker_slot: str, task: StageTask, resident: tuple[str, ...]) -> None:
        """Nobody else reads what is kept here."""

    def release(self, worker_slot: str, resident: tuple[str, ...]) -> None:
        """Forget results kept here."""
        key = next((key for key, names in self._kept.items() if names == resident), None)
        if key is not None:
            del self._kept[key]
            release_resident(resident)

    def _release_all(self) -> None:
        """Forget all results kept here, and give back what the GPU keeps for later use."""
        for names in self._kept.values():
            release_resident(names)
        self._kept.clear()
        if self._assign.device is not None:
            release_device()

    def close(self, *, hurry: bool = False) -> None:
        """End the thread that writes results; the process may have other uses for its memory."""
        self._write_behind.stop()
        self._release_all()
