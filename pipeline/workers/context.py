"""What a stage sees of the workflow around it: the only door to store, workers, screen and log.

A stage asks for a part of its result as for a function's value (`context.part`), and knows no cache
(`gravel.pipeline.workers.parts`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from gravel.pipeline.core.errors import shown as shown_in_message
from gravel.pipeline.store.checkpoints import StoredCheckpoint
from gravel.pipeline.workers.failure import StageLog
from gravel.pipeline.workers.protocol import Progress
from gravel.stages.context import (
    Checkpoint,
    MemorySink,
    MemorySinks,
    Part,
    Ranges,
    ReturnedRanges,
    Sink,
    SinkMaker,
)
from gravel.stages.rank_group import Report
from gravel.stages.urls import hidden_in_text, visible

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.pipeline.workers.protocol import ClusterEvent, StageTask
    from gravel.pipeline.workers.results_in_memory import WriteBehind

Item = TypeVar("Item")
Result = TypeVar("Result")

PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress that leave the process; stages report once a chunk."""


class Services:
    """What a cluster gives to a stage that runs on it; see `gravel.stages.context.Context`.

    `reserved` counts the workers of its rank group. Results in memory are given to `write_behind`, and events
    to the driver by `tell`, while the stage runs or after it.
    """

    def __init__(
        self, write_behind: WriteBehind, tell: Callable[[ClusterEvent], None], reserved: int = 0
    ) -> None:
        self.write_behind = write_behind
        self.tell = tell
        self.reserved = reserved

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function in parallel and yield in order."""
        raise NotImplementedError

    def rank_group(
        self, function: Callable[..., Result], ranks: Sequence[object], report: Report
    ) -> list[Result]:
        """Run all ranks at the same time; `report` gets how far they are."""
        raise NotImplementedError

    def log(self, task: StageTask) -> StageLog:
        """Return the log of a stage."""
        return StageLog(task.log)

    def extra_host_bytes(self) -> int:
        """Return the summed peaks of other processes that worked for this stage."""
        return 0


class WorkerContext:
    """`gravel.stages.context.Context` inside a workflow.

    Sinks write into the artifact that is being made, or into memory without a `writer`. `part` makes parts.
    """

    writer: ArtifactWriter | None = None

    def __init__(
        self,
        task: StageTask,
        services: Services,
        log: StageLog,
        part: Callable[..., Part],
        make_parts: Callable[..., None],
    ) -> None:
        self.machine = task.machine
        self.reserved = services.reserved
        self.shares_scratch = task.store is None
        self.keeps_device_arrays = task.on_device
        self.map = services.map
        self.part = part
        self.make_parts = make_parts
        self.log = log.write
        self.remarks: list[str] = []
        self._task = task
        self._services = services
        self._checkpoint: Checkpoint | None = None
        self._last_progress = 0.0

    @property
    def scratch(self) -> Path:
        """An empty folder that is removed when the stage ends; it is made when it is first asked for."""
        self._task.scratch.mkdir(parents=True, exist_ok=True)
        return self._task.scratch

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[object]) -> list[Result]:
        """Run all ranks at the same time, one per worker."""
        return self._services.rank_group(function, ranks, self.progress)

    def sink(self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None) -> Sink:
        """Start an output array of rows with this shape, and of so many rows at most where that is known."""
        if self.writer is None:
            return cast(Sink, MemorySink(dtype, row_shape, rows=rows))
        return self.writer.sink(dtype, row_shape, rows=rows)

    def sink_maker(self) -> SinkMaker:
        """Return what other processes write arrays of the result with."""
        return MemorySinks() if self.writer is None else self.writer.sinks_elsewhere()

    def ranges(self, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> Ranges:
        """Start an output array that ranks write; without a folder that all see, its ranges come back."""
        if self.writer is None or not self.shares_scratch:
            return ReturnedRanges(partial(self.sink, dtype, row_shape), row_shape)
        return self.writer.ranges(dtype, row_shape)

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the stage is; most reports in quick succession are dropped, the last is not."""
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL or (total is not None and done >= total):
            self._last_progress = now
            whole = None if total is None else int(total)
            self._services.tell(Progress(self._task.key, int(done), whole, visible(unit)))

    def checkpoint(self) -> Checkpoint:
        """Return the place where a long stage keeps what it has done."""
        if self._checkpoint is None:
            task, stage = self._task, f"{self._task.stage.name} {self._task.stage.version}"
            most = self.machine.host_memory
            self._checkpoint = StoredCheckpoint(task.cache.files, task.recipe, self.log, stage, most)
        return self._checkpoint

    def note(self, message: str) -> None:
        """Tell what was done, or what is doubtful about the result, each time that the result is used."""
        self.log(message)
        self.remarks.append(hidden_in_text(shown_in_message(message)))

    remark = note
