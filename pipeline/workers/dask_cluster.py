"""What every kind of Dask cluster has in common: tasks pinned to worker slots, lost workers, replacement."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from distributed import Status, WorkerPlugin, fire_and_forget

from gravel.pipeline.plugins.files import SOURCES, PluginSource, add_sources
from gravel.pipeline.workers.dask_worker import item_prefix, run_on_worker, topic, write_out_on_worker
from gravel.pipeline.workers.own_tier import leave
from gravel.pipeline.workers.protocol import (
    Assignment,
    Back,
    Cluster,
    Failure,
    Finished,
    Lost,
    StageOutcome,
    StageTask,
    WorkerSlot,
)
from gravel.pipeline.workers.results_in_memory import release_resident

LOG = logging.getLogger("distributed.gravel")

SAME = "give client, scheduler and workers the same environment; see docs/clusters.md"

REPLACE_LIMIT = 90.0
"""Seconds within which a replaced worker must be back; one takes 1-3 s on a quiet machine."""

LOSSES = ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError")
"""Errors of Dask's that mean that a worker or the line to it was lost."""


class DaskCluster(Cluster):
    """Worker slots are workers by name; their addresses change whenever they are replaced.

    `kind` is "local", "cuda" or "existing". The `client` is connected, and is closed with the cluster, as is
    `cluster` if it was started here; it is None for somebody else's. The id `run` names the channel of the
    run's events, and `about` is what `describe` adds.
    """

    def __init__(
        self,
        kind: str,
        client: Any,
        cluster: Any | None,
        worker_slots: Sequence[WorkerSlot],
        run: str,
        about: str = "",
        warning: str | None = None,
        store: str | None = None,
    ) -> None:
        super().__init__(kind, worker_slots, warning)
        self.store = store
        self._client = client
        self._cluster = cluster
        self._run = run
        self._about = about
        self._futures: dict[str, tuple[str, Any]] = {}
        self._abandoned: set[str] = set()
        self._lock = threading.Lock()
        self._address: dict[str, str] = {}
        self._replacing: list[threading.Thread] = []
        self._line = client.scheduler_comm
        self._find_addresses()
        client.subscribe_topic(topic(run), self._on_event)
        client.subscribe_topic("all", self._on_workers)
        if SOURCES:
            client.run_on_scheduler(add_sources, dict(SOURCES))
            client.register_plugin(PluginFiles(dict(SOURCES)), name=f"gravel-plugins-{run}")

    def describe(self) -> str:
        """Say in a few words what the cluster is."""
        devices = {worker_slot.device for worker_slot in self.worker_slots if worker_slot.device}
        on = f" on {', '.join(sorted(devices))}" if devices else ""
        where = f" at {self._client.scheduler.address}" if self._cluster is None else ""
        return f"{self.kind}, {len(self.worker_slots)} workers{on}{where}{self._about}"

    def _find_addresses(self) -> set[str]:
        """Learn the addresses of all worker slots anew and return those that are there."""
        workers = self._client.scheduler_info()["workers"]
        found = {str(worker["name"]): address for address, worker in workers.items()}
        with self._lock:
            for worker_slot in self.worker_slots:
                if worker_slot.name in found:
                    self._address[worker_slot.name] = found[worker_slot.name]
        return set(found)

    def _on_event(self, event: tuple[float, dict[str, Any]]) -> None:
        # From this run's own workers, whose results are unpickled, too.
        self.events.put(pickle.loads(event[1]["event"]))

    def _on_workers(self, event: tuple[float, Any]) -> None:
        message = event[1]
        if not isinstance(message, dict) or message.get("action") != "remove-worker":
            return
        gone = message.get("worker")
        with self._lock:
            worker_slots = [name for name, address in self._address.items() if address == gone]
        for worker_slot in worker_slots:
            self.events.put(Lost(worker_slot))

    def submit(self, tasks: Sequence[StageTask], where: Assignment) -> None:
        """Send stage runs to their worker slot, as one task of Dask's."""
        rank_group = tuple(self._address[worker_slot] for worker_slot in where.rank_group)
        sent = [replace(task, rank_group=rank_group) for task in tasks]
        future = self._client.submit(
            run_on_worker,
            sent,
            key=f"{self._run}-{tasks[0].key}-{tasks[0].attempt}",
            workers=[self._address[where.worker_slot]],
            allow_other_workers=False,
            pure=False,
        )
        for task in tasks:
            self._futures[task.key] = (where.worker_slot, future)
        names = [(task.key, task.attempt) for task in tasks]
        future.add_done_callback(lambda done: self._on_done(names, done))

    def _on_done(self, names: Sequence[tuple[str, int]], future: Any) -> None:
        if future.status == "cancelled":
            return
        if future.status == "finished":
            outcomes = future.result()
        else:
            outcomes = [_not_run(key, future.exception()) for key, _ in names]
        for (key, attempt), outcome in zip(names, outcomes, strict=True):
            self.events.put(Finished(key, attempt, outcome))

    def lost(self) -> str | None:
        """Say that the scheduler is gone: with the line to it all that was submitted is forgotten there."""
        client = self._client
        if client.status == "running" and client.scheduler_comm is self._line:
            return None
        where = getattr(client.scheduler, "address", None) or "its address"
        return f"the Dask scheduler at {where} was lost"

    def helpers(self, key: str) -> frozenset[str]:
        """Return the worker slots that work on items of a stage's `context.map` now."""
        prefix = item_prefix(self._run, key)
        with self._lock:
            names = {address: name for name, address in self._address.items()}
        return frozenset(
            names[address]
            for address, keys in self._client.processing().items()
            if address in names and any(str(each).startswith(prefix) for each in keys)
        )

    def cancel(self, key: str) -> None:
        """Drop the future; a thread that runs cannot be stopped, only its process replaced."""
        worker_slot, future = self._futures.pop(key, ("", None))
        if future is None:
            return
        if future.done():
            future.release()
        else:
            self._abandoned.add(worker_slot)
            future.cancel(force=True)

    def write_out(self, worker_slot: str, task: StageTask, resident: tuple[str, ...]) -> None:
        """Have results kept in a worker slot written to files, without waiting."""
        self._ask(worker_slot, write_out_on_worker, task, resident)

    def release(self, worker_slot: str, resident: tuple[str, ...]) -> None:
        """Let go of results kept in a worker slot, without waiting."""
        self._ask(worker_slot, release_resident, resident)

    def _ask(self, worker_slot: str, function: Callable[..., None], *given: object) -> None:
        if worker_slot in self._find_addresses():  # else its loss follows
            where = [self._address[worker_slot]]
            fire_and_forget(self._client.submit(function, *given, workers=where, pure=False, priority=20))

    def replace(self, worker_slots: Sequence[str]) -> None:
        """Restart the workers of these slots in the background and report with a `Back`."""

        def work() -> None:
            try:
                problem = self._restart(tuple(worker_slots))
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            self.events.put(Back(tuple(worker_slots), problem))

        self._replacing.append(threading.Thread(target=work, daemon=True, name="gravel-replace"))
        self._replacing[-1].start()

    def _restart(self, worker_slots: tuple[str, ...]) -> str | None:
        with self._lock:
            before = {worker_slot: self._address.pop(worker_slot, "") for worker_slot in worker_slots}
        workers = self._client.scheduler_info()["workers"]
        alive = [address for address in before.values() if address in workers]
        if any(not workers[address]["nanny"] for address in alive):
            return "it cannot be started anew, since it has no nanny; what it runs goes on there"
        if alive:
            self._client.restart_workers(alive, timeout=REPLACE_LIMIT, raise_for_error=False)
        limit = time.monotonic() + REPLACE_LIMIT
        while time.monotonic() < limit:
            here = self._find_addresses()
            if all(
                worker_slot in here and self._address[worker_slot] != before[worker_slot]
                for worker_slot in worker_slots
            ):
                self._abandoned -= set(worker_slots)
                return None
            time.sleep(0.1)
        return f"the worker did not come back within {REPLACE_LIMIT:g} s"

    def close(self, *, hurry: bool = False) -> None:
        """Close the client and, if it was started here, the cluster with every process of it."""
        limit = 2 if hurry else 15
        try:
            if self._cluster is None and self.lost() is None:
                for thread in self._replacing:  # a stage that was stopped must not go on there
                    thread.join(limit)
                if hurry:
                    self._stop_foreign()
                if self.store is not None:
                    self._client.run(leave, self.store, self._run, on_error="ignore")
            if self._cluster is not None:
                self._end_workers(self._cluster)
                self._cluster.close(timeout=limit)
        except Exception as error:
            LOG.warning("closing the cluster: %s", error)
        try:
            self._client.close(timeout=limit)
        except Exception as error:
            LOG.warning("closing the client: %s", error)

    def _end_workers(self, cluster: Any) -> None:
        """End worker processes of this machine before the cluster that has them."""
        with suppress(Exception):  # then they are asked to end, which takes half a second longer
            cluster.sync(_kill_workers, cluster)

    def _stop_foreign(self) -> None:
        """End what still runs in somebody else's workers: only a new process stops a thread."""
        worker_slots = self._abandoned | {
            worker_slot for worker_slot, future in self._futures.values() if not future.done()
        }
        workers = [self._address[worker_slot] for worker_slot in worker_slots if worker_slot in self._address]
        if workers:
            self._client.restart_workers(workers, timeout=10, raise_for_error=False)


async def _kill_workers(cluster: Any) -> None:
    """End worker processes that have nothing left to do: all results are published, or nobody wants them."""
    for nanny in cluster.workers.values():
        nanny.status = Status.closing_gracefully  # it closes, and starts no new worker
        await nanny.process.process.kill()


def _not_run(key: str, error: BaseException) -> StageOutcome:
    """Say what became of a task that Dask gives no result of."""
    if type(error).__name__ in LOSSES:
        return StageOutcome(key, "lost", failure=Failure("bug", f"{type(error).__name__}: {error}"))
    # A stage answers with its failures: this is a task that could not be sent or read there.
    reason = f"a worker could not take it: {error.__cause__ or repr(error)}"
    return StageOutcome(key, "failed", failure=Failure("bug", reason, SAME))


class PluginFiles(WorkerPlugin):  # type: ignore[misc]
    """Lets workers import the plugins, under the names by which their stages arrive."""

    def __init__(self, sources: dict[str, PluginSource]) -> None:
        self._sources = sources

    def setup(self, worker: Any) -> None:
        """Dask runs this on every worker before its first task, those included that come or restart later."""
        add_sources(self._sources)
