"""Results in the memory of the process that made them: kept by id, and written behind the stages that follow.

What is not kept on disk has a pseudo-id.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.records.profile import Spans
from gravel.pipeline.workers.failure import StageLog, explain_error
from gravel.pipeline.workers.protocol import Readable, Written
from gravel.stages.stage import Extent

if TYPE_CHECKING:
    from gravel.pipeline.store.sink import WriteThreads
    from gravel.pipeline.workers.protocol import StageTask
    from gravel.stages.artifact import Artifact

AT_ONCE = 8
"""Results that are written at the same time. One set of threads writes the arrays of all, the oldest first.
What each does besides (metadata, waiting for the disk) is hidden behind the arrays of the others."""

PREFIX = "recipe:"
"""How the pseudo-ids of results begin that are not kept: `recipe:<digest>:<output>`."""

RESIDENT: dict[str, Artifact] = {}
"""This process's results by id."""

_owners: Counter[str] = Counter()
_lock = threading.Lock()


def keep_resident(names: tuple[str, ...], artifacts: tuple[Artifact, ...]) -> None:
    """Keep a stage's outputs in this process; equal ones of several stages are kept once for all of them."""
    with _lock:
        for name, artifact in zip(names, artifacts, strict=True):
            RESIDENT.setdefault(name, artifact)
            _owners[name] = 1 if name.startswith(PREFIX) else _owners[name] + 1


def read_resident(name: str) -> Artifact:
    """Return a result in this process's memory; raises `DamagedArtifact` if it is gone."""
    try:
        return RESIDENT[name]
    except KeyError:
        raise DamagedArtifact(name, "the worker that had it in memory is gone") from None


def release_resident(names: tuple[str, ...]) -> None:
    """Forget results of a stage that nothing in the run needs any more."""
    with _lock:
        for name in names:
            _owners[name] -= 1
            if _owners[name] <= 0:
                RESIDENT.pop(name, None)
                del _owners[name]


def read_only(artifact: Artifact) -> Artifact:
    """Return an artifact to whose arrays in host memory NumPy does not write."""
    import numpy

    from gravel.pipeline.store.mapping import locked
    from gravel.pipeline.store.stored_array import StoredArray

    def change(array: Any) -> Any:
        if isinstance(array, StoredArray):
            return array.locked()
        return locked(array) if isinstance(array, numpy.ndarray) else array

    return _mapped(artifact, change)


def in_host_memory(artifact: Artifact) -> Artifact:
    """Return an artifact whose arrays are in host memory; the device keeps those that it made, if it can."""
    from gravel.kernels.arrays import backend_of
    from gravel.kernels.placement.device_copies import to_host

    return _mapped(artifact, lambda array: to_host(array) if backend_of(array) == "cuda" else array)


def _mapped(artifact: Artifact, change: Callable[[Any], Any]) -> Artifact:
    """Return an artifact with each of its arrays changed."""
    values: dict[str, Any] = {}
    for name, path, array in _arrays(artifact):
        if path is None:
            values[name] = change(array)
        else:
            values.setdefault(name, {})[path] = change(array)
    return replace(artifact, **values)


def _arrays(artifact: Artifact) -> Iterator[tuple[str, str | None, Any]]:
    """Yield each array's field, its path in the field's group (None without one), and the array."""
    from gravel.pipeline.store.layout import ATTRIBUTE, GROUP, fields_of

    for name, role in fields_of(type(artifact).__name__).items():
        value = getattr(artifact, name)
        if role == GROUP and value is not None:
            yield from ((name, path, array) for path, array in value.items())
        elif role != ATTRIBUTE and value is not None:
            yield name, None, value


def extent_in_memory(artifact: Artifact) -> Extent:
    """Measure an artifact in memory as the store measures one on disk."""
    from gravel.pipeline.store.identity import extent_of
    from gravel.pipeline.store.layout import ATTRIBUTE, fields_of

    kind = type(artifact).__name__
    roles = fields_of(kind).items()
    attributes = {name: getattr(artifact, name) for name, role in roles if role == ATTRIBUTE}
    arrays = {
        name if path is None else f"{name}/{path}": (str(array.dtype), tuple(array.shape))
        for name, path, array in _arrays(artifact)
    }
    size = sum(math.prod(array.shape) * array.dtype.itemsize for _, _, array in _arrays(artifact))
    return extent_of(kind, attributes, arrays, size)


@dataclass(frozen=True)
class _Result:
    task: StageTask
    artifacts: tuple[Artifact, ...]
    ids: tuple[str, ...]
    tell: Callable[[Readable | Written], None]


class Stopped(Exception):
    """Nobody wants the rest."""


class WriteBehind:
    """Writes results, the oldest first and some at the same time, on threads of its own."""

    def __init__(self) -> None:
        self._results: SimpleQueue[_Result | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._write_threads: WriteThreads | None = None
        self._changed = threading.Condition()
        self._pauses = 0
        self._pause_began = 0.0
        self._pauses_before: list[tuple[float, float]] = []
        self._unwritten = 0
        self._stopped = False

    def add(
        self,
        task: StageTask,
        artifacts: tuple[Artifact, ...],
        ids: tuple[str, ...],
        tell: Callable[[Readable | Written], None],
    ) -> None:
        """Write the result of a task soon; `tell` gets a `Readable` and a `Written`, in another thread.

        What is not kept is written for other workers of this run only, and has no id before it is.
        """
        with self._changed:
            self._unwritten += 1
            if len(self._threads) < min(AT_ONCE, self._unwritten):
                name = f"gravel-write-behind-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, daemon=True, name=name))
                self._threads[-1].start()
        self._results.put(_Result(task, artifacts, ids, tell))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write nothing meanwhile; pieces that threads have already are written."""
        with self._changed:
            if not self._pauses:
                self._pause_began = time.time()
            self._pauses += 1
        try:
            yield
        finally:
            with self._changed:
                self._pauses -= 1
                if not self._pauses:
                    self._pauses_before.append((self._pause_began, time.time()))
                self._changed.notify_all()

    def stop(self) -> None:
        """Give up what is not written yet, and return when nothing is being written any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            threads = list(self._threads)
        for _ in threads:
            self._results.put(None)
        for thread in threads:
            thread.join()
        if self._write_threads is not None:
            self._write_threads.close()

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._pauses)
            if self._stopped:
                raise Stopped

    def _unpaused(self, began: float, ended: float) -> Iterator[tuple[float, float]]:
        """Yield the parts of a time in which writing was not paused."""
        with self._changed:
            pauses = list(self._pauses_before)
        for start, end in pauses:
            if start > began:
                yield began, min(start, ended)
            began = max(began, min(end, ended))
        yield began, ended

    def _work(self) -> None:
        while (result := self._results.get()) is not None:
            try:
                self._wait()
                written = self._write(result)
            except Stopped:
                return
            try:
                result.tell(written)
            finally:
                del result  # its arrays are somebody else's, or nobody's, from now on
                self._end_one()

    def _end_one(self) -> None:
        with self._changed:
            self._unwritten -= 1
            idle = None if self._unwritten else self._write_threads
            if idle is not None:
                self._write_threads = None
        if idle is not None:
            idle.close()  # a process that ends waits for threads

    def _shared_threads(self) -> WriteThreads:
        from gravel.pipeline.store.sink import WriteThreads

        with self._changed:
            if self._write_threads is None:
                self._write_threads = WriteThreads()
            return self._write_threads

    def _write(self, result: _Result) -> Written:
        task = result.task
        durable = task.host != socket.gethostname()
        spans = Spans(kept=task.profile)
        began = time.time()
        try:
            with task.cache.writer(
                task.run,
                durable=durable,
                passing=not task.keep,
                before_each=self._wait,
                threads=self._shared_threads(),
            ) as writer:
                pairs = zip(result.artifacts, result.ids, strict=True)
                prepared = tuple(
                    writer.prepare(artifact, name if task.keep else None) for artifact, name in pairs
                )
                if task.store is None:
                    result.tell(Readable(task.key, task.attempt, prepared))
            if task.store is not None:
                from gravel.pipeline.workers.own_tier import written_to_store

                prepared = written_to_store(task, prepared)
                result.tell(Readable(task.key, task.attempt, prepared))
        except Stopped:
            raise
        except Exception as error:
            _, failure = explain_error(error, task, StageLog(task.log))
            return Written(task.key, task.attempt, failure=failure)
        for start, end in self._unpaused(began, time.time()):
            spans.add("write", start, end - start)
        return Written(task.key, task.attempt, prepared, spans=tuple(spans.taken))
