"""What a stage sees of the workflow around it: the only door to store, workers, screen and log.

A stage asks for a part of its result as for a function's value (`context.part`), and knows no cache. A part
has the recipe of the stage that makes it: it is taken from the cache, or made and published by the worker
while the stage that asked goes on.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.errors import shown as shown_in_message
from gravel.pipeline.core.hashing import Recipe, content_of, make_recipe
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.store.checkpoints import StoredCheckpoint
from gravel.pipeline.store.committer import Committed, Committer
from gravel.pipeline.store.committer import Result as Output
from gravel.pipeline.store.leases import RecipeLocks
from gravel.pipeline.store.records import RecipeRecord
from gravel.pipeline.workers.failure import StageLog
from gravel.pipeline.workers.protocol import Progress
from gravel.stages.context import Checkpoint, MemorySink, NoCheckpoint, Part, Sink
from gravel.stages.errors import StageError
from gravel.stages.urls import hidden_in_text, is_url, shown, visible

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.pipeline.workers.protocol import ClusterEvent, StageTask
    from gravel.pipeline.workers.results_in_memory import WriteBehind
    from gravel.stages.artifact import Artifact
    from gravel.stages.stage import Parameters, Stage

Item = TypeVar("Item")
Result = TypeVar("Result")

PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress that leave the process; stages report once a chunk."""

MAX_REMARKS = 10
"""Different remarks on parts that are passed on."""


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

    def rank_group(self, function: Callable[..., Result], ranks: Sequence[object]) -> list[Result]:
        """Run all ranks at the same time."""
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

    def __init__(self, task: StageTask, services: Services, log: StageLog, part: Callable[..., Part]) -> None:
        self.machine = task.machine
        self.reserved = services.reserved
        self.keeps_device_arrays = task.on_device
        self.map = services.map
        self.rank_group = services.rank_group
        self.part = part
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

    def sink(self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None) -> Sink:
        """Start an output array of rows with this shape, and of so many rows at most where that is known."""
        if self.writer is None:
            return cast(Sink, MemorySink(dtype, row_shape, rows=rows))
        return self.writer.sink(dtype, row_shape, rows=rows)

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


class Parts:
    """The parts of one stage run. Use it as a context manager: at its end all that was made is published."""

    def __init__(self, task: StageTask, services: Services, log: StageLog) -> None:
        self._task, self._services, self._log = task, services, log
        self._digests = FileDigests(task.cache.root)
        self._committer = Committer(task.cache, RecipeLocks(task.cache.root, task.run), self._committed)
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._remarks: list[tuple[str, str]] = []
        self._kind = ""
        self._cached = self._made = 0

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *error: object) -> None:
        self._committer.close()

    def __str__(self) -> str:
        """Say what became of the parts, such as `8 pieces: 7 cached, 1 read`; empty if none is stored."""
        count, cached, made = self._cached + self._made, self._cached, self._made
        return f"{count:,} {self._kind}s: {cached:,} cached, {made:,} read" if count else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was remarked of parts: `read a.csv and 7 more as: ...`.

        Remarks that differ in a file's name and in what they quote of it alone are made once.
        """
        named: dict[str, list[str]] = {}
        first: dict[str, str] = {}
        for file, remark in sorted(self._remarks):
            name = next((name for name in (file, file.rpartition("/")[2]) if name and name in remark), "\0")
            text = remark.replace(name, "\0")
            kind = re.sub("'[^']*'", "''", text)
            first.setdefault(kind, text)
            named.setdefault(kind, []).append(name)
        messages = [
            first[kind].replace("\0", names[0] + (f" and {len(names) - 1:,} more" if names[1:] else ""))
            for kind, names in named.items()
        ]
        more = len(messages) - MAX_REMARKS
        return (*messages[:MAX_REMARKS], *([f"{more:,} more remarks on single files"] if more > 0 else []))

    def get(
        self, stage: Stage, parameters: Parameters, *, kept: bool, progress: Callable[[int], None]
    ) -> Part:
        """Return a part; see `gravel.stages.context.Context.part`."""
        recipe = self._recipe(stage, parameters)
        if kept and self._task.keep:
            self._kind = stage.name
            part = self._kept(stage, parameters, recipe, progress)
        else:
            part = Part(*self._run(stage, parameters, None, progress), recipe.digest)
        file = next((shown(each.location) for each in stage.files(parameters)), "")
        self._remarks += [(file, remark) for remark in part.remarks]
        return part

    def _kept(
        self, stage: Stage, parameters: Parameters, recipe: Recipe, progress: Callable[[int], None]
    ) -> Part:
        task = self._task
        known = self._known.get(recipe.digest) or self._look_up(recipe.digest)
        if known is not None:
            self._cached += 1
            self._known[recipe.digest] = known
            return Part(task.cache.open(known[0]), known[1], recipe.digest)
        began, clock = time.time(), time.perf_counter()
        with task.cache.writer(task.run, durable=task.host != socket.gethostname()) as writer:
            artifact, remarks = self._run(stage, parameters, writer, progress)
            prepared = writer.prepare(artifact)
        try:
            self._refuse_changed(stage, parameters)
        except StageError:
            prepared.drop()
            raise
        made = {
            "stage": stage.name,
            "key": task.key,
            "run": task.run,
            "host": socket.gethostname(),
            "started": began,
            "seconds": time.perf_counter() - clock,
            "remarks": list(remarks),
        }
        name = prepared.record.id
        self._known[recipe.digest] = name, remarks
        record = RecipeRecord(recipe.digest, (name,), made, recipe.parts, time.time())
        self._committer.add(Output(recipe.digest, record, (prepared,)))
        self._made += 1
        return Part(task.cache.open(name), remarks, recipe.digest)

    def _run(
        self,
        stage: Stage,
        parameters: Parameters,
        writer: ArtifactWriter | None,
        progress: Callable[[int], None],
    ) -> tuple[Artifact, tuple[str, ...]]:
        context = _PartContext(self._task, self._services, self._log, self.get)
        context.tell, context.writer = progress, writer
        context.keeps_device_arrays = False
        made = stage.run(context, parameters)
        assert not isinstance(made, tuple)
        return made, tuple(context.remarks)

    def _recipe(self, stage: Stage, parameters: Parameters) -> Recipe:
        files = {
            file.location: content_of(self._task.contents[file.location], file)
            for file in stage.files(parameters)
        }
        return make_recipe(stage, parameters, {}, files, None)

    def _look_up(self, digest: str) -> tuple[str, tuple[str, ...]] | None:
        cache = self._task.cache
        record = cache.look_up(digest)
        if record is None or cache.check(record.outputs[0]) is not None:
            return None
        return record.outputs[0], tuple(record.provenance.get("remarks") or ())

    def _refuse_changed(self, stage: Stage, parameters: Parameters) -> None:
        for file in stage.files(parameters):
            if is_url(file.location):
                continue  # what is read is its copy
            try:
                now = self._digests.digest(file)
            except GravelError as error:
                now = str(error)
            if now != self._task.contents[file.location]:
                raise StageError(
                    "this file changed while it was read",
                    hint="run again when nothing writes to it",
                    file=shown(file.location),
                )

    def _committed(self, committed: Committed) -> None:
        if committed.problem is not None:
            self._log.write(f"a part is not stored, and is made again next time: {committed.problem[0]}")


class _PartContext(WorkerContext):
    """The context of a stage that makes a part: its progress is that of the stage that asked."""

    tell: Callable[[int], None]

    def progress(self, done: int, total: int | None, unit: str) -> None:
        self.tell(done)

    def checkpoint(self) -> Checkpoint:
        return NoCheckpoint()
