"""The context that a stage sees in a workflow: the stage's only door to store, workers, screen and log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from gravel.pipeline.core.errors import shown
from gravel.stages.checkpoints import Checkpoint, NoCheckpoint
from gravel.stages.context import MemorySink, Sink
from gravel.stages.stage import Machine
from gravel.stages.urls import hidden_in_text, visible

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.pipeline.workers.failure import StageLog
    from gravel.pipeline.workers.protocol import Readable, Written
    from gravel.pipeline.workers.write_behind import WriteBehind
    from gravel.stages.context import Part
    from gravel.stages.stage import Parameters, Stage

Item = TypeVar("Item")
Result = TypeVar("Result")

PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress that leave the process; stages report once a chunk."""


class Services(Protocol):
    """What a cluster gives to a stage that runs on it; `reserved` counts the workers of its rank group.

    Results that are in memory are given to `write_behind`, and how that ended to `written`.
    """

    reserved: int
    write_behind: WriteBehind

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function in parallel and yield in order; see `gravel.stages.context.Context`."""
        ...

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[object]) -> list[Result]:
        """Run all ranks at the same time."""
        ...

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Tell the driver how far the stage is."""
        ...

    def compiles(self, kernel: str | None) -> None:
        """Tell the driver that the stage waits for a kernel, or no longer waits (None)."""
        ...

    def extra_host_bytes(self) -> int:
        """Return the summed peaks of other processes that worked for this stage."""
        ...

    def written(self, written: Readable | Written) -> None:
        """Tell the driver how far the writing of a result is."""
        ...


class WorkerContext:
    """`gravel.stages.context.Context` inside a workflow.

    Sinks write into the artifact that is being made, or into memory where the result is not kept.
    """

    def __init__(
        self,
        machine: Machine,
        scratch: Path,
        writer: ArtifactWriter | None,
        services: Services,
        log: StageLog,
        *,
        keeps_device_arrays: bool = False,
        checkpoint: Checkpoint | None = None,
        parts: Callable[..., Part] | None = None,
    ) -> None:
        self.machine = machine
        self._scratch = scratch
        self._writer = writer
        self._services = services
        self._log = log
        self._last_progress = 0.0
        self._checkpoint = checkpoint or NoCheckpoint()
        self._parts = parts
        self.remarks: list[str] = []
        self.reserved = services.reserved
        self.keeps_device_arrays = keeps_device_arrays

    @property
    def scratch(self) -> Path:
        """An empty folder that is removed when the stage ends; it is made when it is first asked for."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        return self._scratch

    def sink(self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None) -> Sink:
        """Start an output array of rows with this shape, and of so many rows at most where that is known."""
        if self._writer is None:
            return cast(Sink, MemorySink(dtype, row_shape, rows=rows))
        return self._writer.sink(dtype, row_shape, rows=rows)

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply a module-level function to each item, in parallel, yielding results in order."""
        return self._services.map(function, items, on_reserved=on_reserved)

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[object]) -> list[Result]:
        """Run `function(rank_context, item)` for all items at the same time, one per worker."""
        return self._services.rank_group(function, ranks)

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the stage is; most reports in quick succession are dropped, the last is not."""
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL or (total is not None and done >= total):
            self._last_progress = now
            self._services.progress(int(done), None if total is None else int(total), visible(unit))

    def checkpoint(self) -> Checkpoint:
        """Return the place where a long stage keeps what it has done."""
        return self._checkpoint

    def part(
        self, stage: Stage, parameters: Parameters, *, kept: bool, progress: Callable[[int], None]
    ) -> Part:
        """Return what a stage without inputs makes, from the cache if it is there."""
        assert self._parts is not None
        return self._parts(stage, parameters, kept=kept, progress=progress)

    def log(self, message: str) -> None:
        """Add a line to the stage's log."""
        self._log.write(message)

    def note(self, message: str) -> None:
        """Tell what was done, each time that the result is used."""
        self._log.write(message)
        self.remarks.append(hidden_in_text(shown(message)))

    def remark(self, message: str) -> None:
        """Tell of something doubtful about the result, each time that it is used."""
        self.note(message)
