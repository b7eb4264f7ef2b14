"""Parts of a stage's result: taken from the cache, or made and published while the stage that asked goes on.

A part has the recipe of the stage that makes it. Workers that are reserved for the stage that asks may make
parts for it; who asked publishes them all.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hashing import Recipe, content_of, make_recipe
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.store.committer import Committed, Committer
from gravel.pipeline.store.committer import Result as Output
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.leases import RecipeLocks
from gravel.pipeline.store.records import RecipeRecord
from gravel.pipeline.store.sharing import mask_for
from gravel.pipeline.workers.context import Services, WorkerContext
from gravel.pipeline.workers.failure import StageLog
from gravel.stages.context import Checkpoint, NoCheckpoint, Part
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.workers.protocol import StageTask
    from gravel.stages.artifact import Artifact
    from gravel.stages.stage import Parameters, Stage

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_REMARKS = 10
"""Different remarks on parts that are passed on."""


class Parts:
    """The parts of one stage run. Use it as a context manager: at its end all that was made is published."""

    def __init__(self, task: StageTask, services: Services, log: StageLog) -> None:
        self._task, self._services, self._log = task, services, log
        self._committer = Committer(task.cache, RecipeLocks(task.cache.root, task.run), self._committed)
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._remarks: list[tuple[str, str]] = []
        self._kind = ""
        self._cached = self._made = 0
        self._made_ahead: set[str] = set()

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
            context = self._context(progress)
            made = run_part(context, stage, parameters)
            part = Part(made, tuple(context.remarks), recipe.digest)
        file = next((shown(each.location) for each in stage.files(parameters)), "")
        self._remarks += [(file, remark) for remark in part.remarks]
        return part

    def _kept(
        self, stage: Stage, parameters: Parameters, recipe: Recipe, progress: Callable[[int], None]
    ) -> Part:
        task = self._task
        known = self._known.get(recipe.digest) or self._look_up(recipe.digest)
        if known is not None:
            if recipe.digest in self._made_ahead:
                self._made_ahead.remove(recipe.digest)
                self._made += 1
            else:
                self._cached += 1
            self._known[recipe.digest] = known
            return Part(task.cache.open(known[0]), known[1], recipe.digest)
        context = self._context(progress)
        made = make_part(context, task, stage, parameters, recipe)
        self._add(recipe, made)
        self._made += 1
        return Part(task.cache.open(made.prepared.record.id), made.remarks, recipe.digest)

    def make_ahead(self, many: Iterable[tuple[Stage, Parameters]], *, kept: bool) -> None:
        """Make parts on the reserved workers; see `gravel.stages.context.Context.make_parts`.

        Parts of URLs are made here, by `get`: this process alone knows their copies. So are all parts where
        workers have tiers of the cache for themselves.
        """
        if not (kept and self._task.keep and self._services.reserved and self._task.store is None):
            return
        tasks = []
        for stage, parameters in many:
            files = [file.location for file in stage.files(parameters)]
            recipe = self._recipe(stage, parameters)
            if any(map(is_url, files)) or self._look_up(recipe.digest) is not None:
                continue
            contents = {file: self._task.contents[file] for file in files}
            task = replace(self._task, contents=contents, scratch=self._task.scratch / uuid.uuid4().hex)
            tasks.append(PartTask(task, stage, parameters, recipe))
        answers = self._services.map(make_elsewhere, tasks, on_reserved=True)
        for asked, (made, lines) in zip(tasks, answers, strict=True):
            for line in lines:
                self._log.write(line)
            if made is not None:
                self._add(asked.recipe, made)
                self._made_ahead.add(asked.recipe.digest)

    def _add(self, recipe: Recipe, made: MadePart) -> None:
        name = made.prepared.record.id
        self._known[recipe.digest] = name, made.remarks
        record = RecipeRecord(recipe.digest, (name,), made.provenance, recipe.parts, time.time())
        self._committer.add(Output(recipe.digest, record, (made.prepared,)))

    def _context(self, progress: Callable[[int], None]) -> _PartContext:
        context = _PartContext(self._task, self._services, self._log, self.get, self.make_ahead)
        context.tell = progress
        return context

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


class Alone(Services):
    """What a part has that is made on another worker than its stage: nothing but that worker."""

    def __init__(self) -> None:
        self.reserved = 0

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, on_reserved: bool = False
    ) -> Iterator[Result]:
        """Apply the function here."""
        return map(function, items)


@dataclass(frozen=True)
class MadePart:
    """A part that is written and not yet published."""

    prepared: Prepared
    remarks: tuple[str, ...]
    provenance: dict[str, Any]


@dataclass(frozen=True)
class PartTask:
    """A part to make on another worker; `task` is of the stage that asks, with a scratch of its own."""

    task: StageTask
    stage: Stage
    parameters: Parameters
    recipe: Recipe


def make_elsewhere(item: PartTask) -> tuple[MadePart | None, list[str]]:
    """Make a part on this worker; returns it, or None where its stage fails, and the lines of its log."""
    task, log = item.task, LinesOfLog()
    os.umask(mask_for(task.cache.root))
    context = _PartContext(task, Alone(), log, _no_part, _no_parts)
    context.tell = lambda done: None
    try:
        with storage_errors(task.cache.root):
            return make_part(context, task, item.stage, item.parameters, item.recipe), log.lines
    except (StageError, GravelError):
        # Who asked for it makes it again, and hears what is wrong.
        return None, log.lines
    finally:
        shutil.rmtree(task.scratch, ignore_errors=True)


def make_part(
    context: _PartContext, task: StageTask, stage: Stage, parameters: Parameters, recipe: Recipe
) -> MadePart:
    """Make a part and write it; raises StageError, also for a file that changed meanwhile."""
    began, clock = time.time(), time.perf_counter()
    with task.cache.writer(task.run, durable=task.host != socket.gethostname()) as writer:
        context.writer = writer
        prepared = writer.prepare(run_part(context, stage, parameters))
    try:
        _refuse_changed(task, stage, parameters)
    except StageError:
        prepared.drop()
        raise
    remarks = tuple(context.remarks)
    provenance = {
        "stage": stage.name,
        "key": task.key,
        "run": task.run,
        "host": socket.gethostname(),
        "started": began,
        "seconds": time.perf_counter() - clock,
        "remarks": list(remarks),
    }
    return MadePart(prepared, remarks, provenance)


def run_part(context: _PartContext, stage: Stage, parameters: Parameters) -> Artifact:
    """Run a stage without inputs that makes a part."""
    context.keeps_device_arrays = False
    made = stage.run(context, parameters)
    assert not isinstance(made, tuple)
    return made


def _refuse_changed(task: StageTask, stage: Stage, parameters: Parameters) -> None:
    digests = FileDigests(task.cache.root)
    for file in stage.files(parameters):
        if is_url(file.location):
            continue  # what is read is its copy
        try:
            now = digests.digest(file)
        except GravelError as error:
            now = str(error)
        if now != task.contents[file.location]:
            raise StageError(
                "this file changed while it was read",
                hint="run again when nothing writes to it",
                file=shown(file.location),
            )


class LinesOfLog(StageLog):
    """A log that travels back to the stage that asked for a part."""

    def __init__(self) -> None:
        super().__init__(None)
        self.lines: list[str] = []

    def write(self, message: str) -> None:
        """Keep the message."""
        self.lines.append(message)


def _no_part(*given: Any, **more: Any) -> Part:
    raise NotImplementedError("a part of a part")


def _no_parts(*given: Any, **more: Any) -> None:
    raise NotImplementedError("parts of a part")
