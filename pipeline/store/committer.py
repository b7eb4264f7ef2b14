"""Publishing results behind the driver: many are brought to the disk at once, then their records are made.

What a disk needs for one small file it needs for hundreds. So results that come thick and fast are
published in groups: a thread writes their records beside their names, waits once until all of it is on the
disk, and then gives the records their names. Whatever instant the process dies at, no record leads to data
that are not there; after a power cut the results of the last second may be missing, and are computed again.

Stages of this run need not wait: they are given the records of what they read (`Cache.unpublished`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.failures import storage_errors
from gravel.pipeline.store.files import Draft
from gravel.pipeline.store.folder import Prepared
from gravel.pipeline.store.leases import RecipeLocks
from gravel.pipeline.store.records import RecipeRecord

INTERVAL = 0.2
"""Seconds from one group to the next: a result that comes alone is published at once."""

REPORTING_KERNEL = (5, 8)
"""The first Linux whose `syncfs` says that something could not be written."""


@dataclass(frozen=True)
class Result:
    """What a stage run made: the record of its recipe, and its outputs."""

    key: str
    record: RecipeRecord
    outputs: tuple[Prepared, ...]


Problem = tuple[str, str | None]
"""What went wrong, and what to do about it."""


@dataclass(frozen=True)
class Committed:
    """A result is published, or, with a problem, is not."""

    key: str
    problem: Problem | None = None


class Committer:
    """Publishes results in their order; `tell` gets a `Committed` for each, in another thread."""

    def __init__(self, cache: Cache, locks: RecipeLocks, tell: Callable[[Committed], None]) -> None:
        self._cache = cache
        self._locks = locks
        self._tell = tell
        self._superseded: list[Prepared] = []
        self._waiting: list[Result] = []
        self._unsynced: list[Path] = []
        self._changed = threading.Condition()
        self._hurry = self._closing = self._works = False
        self._disk: Disk | None = None
        self._thread: threading.Thread | None = None

    def add(self, result: Result) -> None:
        """Publish a result soon; of equal outputs the first stays."""
        outputs = tuple(self._once(output) for output in result.outputs)
        if self._thread is None:
            self._disk = Disk(self._cache.root)
            self._thread = threading.Thread(target=self._work, daemon=True, name="gravel-committer")
            self._thread.start()
        with self._changed:
            self._waiting.append(Result(result.key, result.record, outputs))
            if len(self._waiting) == 1:
                self._changed.notify_all()

    def _once(self, output: Prepared) -> Prepared:
        known = self._cache.unpublished.get(output.record.id)
        if known is None or not output.is_new:
            if output.is_new:
                self._cache.unpublished[output.record.id] = output.record
            return output
        output.drop()
        return Prepared(known, is_new=False)

    def flush(self) -> None:
        """Return when everything that was added is published, or has failed to be."""
        with self._changed:
            while self._waiting or self._works:
                self._hurry = True
                self._changed.notify_all()
                self._changed.wait(INTERVAL)

    def close(self) -> None:
        """Publish what is left, wait until all of it is on the disk, and end the thread."""
        if self._thread is None or self._disk is None:
            return
        self.flush()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._thread = None
        try:
            self._disk.sync(self._unsynced)
        except OSError as error:
            self._cache.say(f"the disk may lack the last records ({error}); they are made again if it does")
        finally:
            self._disk.close()
        for output in self._superseded:
            output.drop()
        self._superseded.clear()

    def _work(self) -> None:
        next_one = 0.0
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                while not self._hurry and not self._closing and (left := next_one - time.monotonic()) > 0:
                    self._changed.wait(left)
                batch, self._waiting = self._waiting, []
                self._hurry, self._works = False, True
            try:
                self._commit(batch)
            except Exception as error:  # the driver waits for an answer, whatever happens
                for result in batch:
                    self._tell(Committed(result.key, _described(error)))
            finally:
                next_one = time.monotonic() + INTERVAL
                with self._changed:
                    self._works = False
                    self._changed.notify_all()

    def _commit(self, batch: Sequence[Result]) -> None:
        drafts: dict[str, list[Draft]] = {}
        problems: dict[str, Problem] = {}
        for result in batch:
            try:
                drafts[result.key] = [each.draft(self._cache) for each in result.outputs if each.is_new]
                drafts[result.key].append(self._cache.draft_recipe(result.record))
            except Exception as error:
                problems[result.key] = _described(error)
        files = [path for result in batch for output in result.outputs for path in output.files]
        files += [each.temporary for found in drafts.values() for each in found]
        try:
            assert self._disk is not None
            with storage_errors(self._cache.root):
                self._disk.sync([*self._unsynced, *files])
            self._unsynced = []
        except Exception as error:
            problems = {result.key: problems.get(result.key, _described(error)) for result in batch}
        for result in batch:
            if result.key not in problems:
                try:
                    self._name(result, drafts.pop(result.key))
                except Exception as error:
                    problems[result.key] = _described(error)
        for found in drafts.values():
            for each in found:
                each.drop()
        for result in batch:
            new = [output for output in result.outputs if output.is_new]
            if result.key in problems:
                self._superseded += new
            for output in new:  # whoever wants it from now on finds it in the cache
                self._cache.unpublished.pop(output.record.id, None)
            self._locks.release(result.record.digest)
            self._tell(Committed(result.key, problems.get(result.key)))

    def _name(self, result: Result, drafts: list[Draft]) -> None:
        *artifacts, recipe = drafts
        new = [output for output in result.outputs if output.is_new]
        for output, record in zip(new, artifacts, strict=True):
            if not output.publish(self._cache, record):
                # Stages of this run may read it; it goes at the end.
                self._superseded.append(output)
            self._unsynced.append(self._cache.root / record.name)
        for output in result.outputs:
            if self._cache.find(output.record.id) is None:  # here, or in the store behind
                raise GravelError(f"artifact {output.record.id[:12]} could not be published")
        self._cache.remember_draft(result.record.digest, recipe)
        self._unsynced.append(self._cache.root / recipe.name)


def _described(error: Exception) -> Problem:
    if isinstance(error, GravelError):
        return str(error), error.problems[0].hint
    return f"{type(error).__name__}: {error}", None


class Disk:
    """The file system of a folder. `sync` waits for everything that was written to it before."""

    def __init__(self, folder: Path) -> None:
        # Errors are reported from the opening of this descriptor on.
        self._handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)

    def sync(self, files: Iterable[Path]) -> None:
        """Return when these files and their names are on the disk; raises OSError if that fails."""
        call = _syncfs()
        if call is None:
            _sync_each(files)
        elif call(self._handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._handle)


@cache
def _syncfs() -> Any:
    with suppress(ValueError, AttributeError, OSError):
        parts = platform.release().split(".")
        if platform.system() == "Linux" and (int(parts[0]), int(parts[1])) >= REPORTING_KERNEL:
            return ctypes.CDLL(None, use_errno=True).syncfs
    return None


def _sync_each(files: Iterable[Path]) -> None:
    paths = list(files)
    for path in [*paths, *dict.fromkeys(path.parent for path in paths)]:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # it was given another name
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
