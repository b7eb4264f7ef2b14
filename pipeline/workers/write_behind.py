"""Results that are in memory are written to the cache behind the stages that follow."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from gravel.pipeline.workers.failure import explain_error
from gravel.pipeline.workers.protocol import Written
from gravel.pipeline.workers.spans import Spans
from gravel.pipeline.workers.stage_log import StageLog

if TYPE_CHECKING:
    from gravel.pipeline.workers.stage_task import StageTask
    from gravel.stages.artifacts import Artifact


@dataclass(frozen=True)
class _Result:
    task: StageTask
    artifacts: tuple[Artifact, ...]
    ids: tuple[str, ...]
    tell: Callable[[Written], None]


class Stopped(Exception):
    """Nobody wants the rest."""


class WriteBehind:
    """Writes one result after the other on a thread of its own, which hands chunks to others."""

    def __init__(self) -> None:
        self._results: SimpleQueue[_Result | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._pauses = 0
        self._stopped = False

    def add(
        self,
        task: StageTask,
        artifacts: tuple[Artifact, ...],
        ids: tuple[str, ...],
        tell: Callable[[Written], None],
    ) -> None:
        """Write the result of a task soon; `tell` gets the end of it, in another thread."""
        self._results.put(_Result(task, artifacts, ids, tell))
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="gravel-write-behind")
                self._thread.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write nothing meanwhile; chunks that threads have already are written."""
        with self._changed:
            self._pauses += 1
        try:
            yield
        finally:
            with self._changed:
                self._pauses -= 1
                self._changed.notify_all()

    def stop(self) -> None:
        """Give up what is not written yet, and return when nothing is being written any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            self._results.put(None)
            thread.join()

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._pauses)
            if self._stopped:
                raise Stopped

    def _work(self) -> None:
        while (result := self._results.get()) is not None:
            try:
                self._wait()
                written = self._write(result)
            except Stopped:
                return
            result.tell(written)
            del result  # its arrays are somebody else's, or nobody's, from now on

    def _write(self, result: _Result) -> Written:
        task = result.task
        durable = task.host != socket.gethostname()
        spans = Spans(kept=task.profile)
        try:
            with (
                spans.take("write"),
                task.cache.writer(task.run, durable=durable, before_each=self._wait) as writer,
            ):
                pairs = zip(result.artifacts, result.ids, strict=True)
                prepared = tuple(writer.prepare(artifact, name) for artifact, name in pairs)
        except Stopped:
            raise
        except Exception as error:
            _, failure = explain_error(
                error,
                key=task.key,
                run=task.run,
                root=task.cache.root,
                origin=task.stage.origin,
                log=StageLog(task.log).write,
            )
            return Written(task.key, task.attempt, failure=failure)
        return Written(task.key, task.attempt, prepared, spans=tuple(spans.taken))
