"""A worker's own tier of the cache in a store, where it does not see the folder of who started the run."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.pipeline.core.files import make_root
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.exchange import Exchange
from gravel.pipeline.store.folder import scratch_path
from gravel.pipeline.store.leases import Lease
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.workers.failure import StageLog
from gravel.pipeline.workers.protocol import Logged
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.workers.protocol import ClusterEvent, StageOutcome, StageTask

LOG = logging.getLogger("distributed.gravel")

_tiers: dict[str, Cache] = {}
_leases: dict[tuple[str, str], Lease] = {}
_lock = threading.Lock()


def tier_of(url: str, run: str) -> Cache:
    """Return this process's tier of a store, leased for a run until `leave`; raises `GravelError`."""
    with _lock:
        tier = _tiers.get(url)
        if tier is None:
            root = find_cache(url)
            make_root(root)
            tier = _tiers[url] = Cache(root, LOG.info)
            tier.sweep()
        if (url, run) not in _leases:
            # Another worker on this machine may share the tier, and have the run's lease: it is as good.
            with suppress(FileExistsError):
                _leases[url, run] = tier.lease(run)
        return tier


def leave(url: str, run: str) -> None:
    """End what this process has of a run."""
    with _lock:
        lease, tier = _leases.pop((url, run), None), _tiers.get(url)
        if tier is not None:
            shutil.rmtree(tier.root / scratch_path(run), ignore_errors=True)
        if lease is not None:
            lease.end()


def localized(task: StageTask) -> StageTask:
    """Return a task as this worker carries it out; raises `GravelError` where it has no tier."""
    if task.store is None:
        return task
    tier = tier_of(task.store, task.run)
    scratch = tier.root / scratch_path(task.run, f"{task.scratch.name}-{os.getpid()}")
    return replace(task, cache=tier, scratch=scratch, log=None)


def set_aside(tier: Cache, artifact_id: str, reason: str) -> bool:
    """Move a damaged artifact aside, so that the store is asked for it again; says if it lay in the tier."""
    if not tier.is_here(artifact_id):
        return False
    tier.quarantine(artifact_id, reason)
    return True


def put_into_store(task: StageTask, outcome: StageOutcome) -> StageOutcome:
    """Have the outputs of a stage run in the store, and its parts; raises `GravelError`."""
    exchange = Exchange(task.cache, task.run)
    outcome = replace(outcome, prepared=tuple(map(exchange.publish, outcome.prepared)))
    if outcome.parts and task.cache.pushes is not None:
        task.cache.pushes.finish()
    return outcome


def written_to_store(task: StageTask, prepared: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
    """Have a result that was in memory, and is written, in the store; raises `GravelError`."""
    exchange = Exchange(task.cache, task.run)
    return tuple(map(exchange.publish if task.keep else exchange.pass_on, prepared))


def refuse_other_files(task: StageTask) -> None:
    """Raise StageError for a file that this machine lacks, or has with another content than the recipe."""
    digests = FileDigests(task.cache.root)
    for file in task.stage.files(task.parameters):
        if is_url(file.location) or (wanted := task.contents.get(file.location)) is None:
            continue
        if digests.digest(file) != wanted:
            raise StageError(
                "this file has another content on the worker's machine than where the run was started",
                hint="put it into the store, and name it by its URL",
                file=shown(file.location),
            )


class SentLog(StageLog):
    """The log of a stage on another machine: its lines are sent to the driver."""

    def __init__(self, key: str, tell: Callable[[ClusterEvent], None]) -> None:
        super().__init__(None)
        self._key = key
        self._tell = tell

    def write(self, message: str) -> None:
        """Send a message."""
        self._tell(Logged(self._key, message))
