"""Parts of a stage's result that have recipes of their own: taken from the cache, or made and published here.

A stage asks for a part as for a function's value (`context.part`), and knows no cache. A part is known by the
recipe of the stage that makes it, and is published by the worker that made it while the stage goes on.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hashing import Recipe, content_of, make_recipe
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.store.committer import Committed, Committer, Result
from gravel.pipeline.store.recipe_locks import RecipeLocks
from gravel.pipeline.store.records import RecipeRecord
from gravel.pipeline.workers.context import Services, WorkerContext
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

if TYPE_CHECKING:
    from gravel.pipeline.store.writer import ArtifactWriter
    from gravel.pipeline.workers.stage_log import StageLog
    from gravel.pipeline.workers.stage_task import StageTask
    from gravel.stages.artifact import Artifact
    from gravel.stages.stage import Parameters, Stage


class Parts:
    """The parts of one stage run. Use it as a context manager: at its end all that was made is published."""

    def __init__(self, task: StageTask, services: Services, log: StageLog) -> None:
        self._task, self._services, self._log = task, services, log
        self._digests = FileDigests(task.cache.root)
        self._committer = Committer(task.cache, RecipeLocks(task.cache.root, task.run), self._committed)
        self._known: dict[str, str] = {}
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

    def get(
        self, stage: Stage, parameters: Parameters, *, kept: bool, progress: Callable[[int], None]
    ) -> Artifact:
        """Return a part; see `gravel.stages.context.Context.part`."""
        task = self._task
        if not (kept and task.keep):
            return self._run(stage, parameters, None, progress)
        self._kind = stage.name
        recipe = self._recipe(stage, parameters)
        name = self._known.get(recipe.digest) or self._look_up(recipe.digest)
        if name is not None:
            self._cached += 1
            self._known[recipe.digest] = name
            return task.cache.open(name)
        began, clock = time.time(), time.perf_counter()
        with task.cache.writer(task.run, durable=task.host != socket.gethostname()) as writer:
            prepared = writer.prepare(self._run(stage, parameters, writer, progress))
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
        }
        name = self._known[recipe.digest] = prepared.record.id
        record = RecipeRecord(recipe.digest, (name,), made, recipe.parts, time.time())
        self._committer.add(Result(recipe.digest, record, (prepared,)))
        self._made += 1
        return task.cache.open(name)

    def _run(
        self,
        stage: Stage,
        parameters: Parameters,
        writer: ArtifactWriter | None,
        progress: Callable[[int], None],
    ) -> Artifact:
        task = self._task
        context = _PartContext(task.machine, task.scratch, writer, self._services, self._log, parts=self)
        context.tell = progress
        return cast("Artifact", stage.run(context, parameters))

    def _recipe(self, stage: Stage, parameters: Parameters) -> Recipe:
        files = {
            file.location: content_of(self._task.contents[file.location], file)
            for file in stage.files(parameters)
        }
        return make_recipe(stage, parameters, {}, files, None)

    def _look_up(self, digest: str) -> str | None:
        cache = self._task.cache
        record = cache.look_up(digest)
        return None if record is None or cache.check(record.outputs[0]) else record.outputs[0]

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
