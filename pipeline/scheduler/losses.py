"""What is lost: workers that die, run out of memory or are overdue, and the cluster itself."""

from __future__ import annotations

import queue
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.scheduler.node import ENDED, KNOWN, REPLACING, RUNNING, WAITING, WANTED, Node
from gravel.pipeline.store.opening import open_file
from gravel.pipeline.workers.failure import overdue
from gravel.pipeline.workers.protocol import Failure, Lost, Written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from gravel.pipeline.scheduler.attempts import Attempts
    from gravel.pipeline.scheduler.nodes import Nodes
    from gravel.pipeline.scheduler.results import Results
    from gravel.pipeline.scheduler.run import Run
    from gravel.pipeline.scheduler.run_events import RunEvents
    from gravel.pipeline.workers.protocol import Back, Cluster

DIED = "see docs/troubleshooting.md#worker-died"

TAIL_LINES = 12
"""Lines of a stage's log that its failure shows."""

TICK = 0.25
"""Seconds after which the screen is refreshed, and locks of other runs are tried, when nothing happens."""


class Losses:
    """Replaces workers and tries again what they ran."""

    def __init__(self, run: Run, attempts: Attempts, results: Results) -> None:
        self._run = run
        self._nodes = run.nodes
        self._attempts = attempts
        self._results = results

    def worker_died(self, worker_slot: str) -> None:
        """What ran or was kept there is lost, and so is the rank group that it was part of."""
        self._forget([worker_slot])
        self._lose_all([worker_slot], "the worker that ran it died")
        if not any(worker_slot in node.attempt.replaced for node in self._nodes.in_state(REPLACING)):
            self._replace([worker_slot])

    def lose(self, node: Node, failure: Failure) -> None:
        """An attempt ended with its worker: try again, or fail after too many."""
        run, worker_slots = self._run, node.attempt.worker_slots
        self._forget(worker_slots)
        self._attempts.drop(node)
        node.losses += 1
        if node.losses > run.options.retries:
            tail = log_tail(run.events.record.log_path(node.key))
            end = f"; the end of its log:\n{tail}" if tail else ""
            message = f"{failure.message} ({node.losses} attempts){end}"
            run.resolver.fail(node, Failure(failure.kind, message, failure.hint or DIED))
        else:
            node.attempt.replaced = worker_slots
            self._nodes.move(node, REPLACING)
            run.events.retried(node, failure.message)
        self._replace(worker_slots)

    def _lose_all(self, worker_slots: Collection[str], message: str) -> None:
        for node in self._nodes.in_state(RUNNING):
            if not node.attempt.worker_slots.isdisjoint(worker_slots):
                self.lose(node, Failure("bug", message))

    def stop_overdue(self) -> None:
        """Fail the runs whose time is up.

        A thread cannot be stopped, only its process replaced: the run's own, those of its rank group, and
        those that work on its items, unless another run is there.
        """
        run, now = self._run, time.monotonic()
        for node in self._nodes.in_state(RUNNING):
            limit, began = node.run.time_limit, node.attempt.began
            if run.cluster is None or limit is None or began is None or now - began < limit:
                continue
            others = [other for other in self._nodes.in_state(RUNNING) if other is not node]
            taken = {worker_slot for other in others for worker_slot in other.attempt.worker_slots}
            worker_slots = node.attempt.worker_slots | (run.cluster.helpers(node.key) - taken)
            progress = run.events.record.stages[node.key].progress
            done = f" ({progress['done']:,} {progress['unit']} were done)" if progress else ""
            self._forget(worker_slots)
            self._attempts.drop(node)
            run.resolver.fail(node, overdue(limit, done))
            self._replace(worker_slots)

    def _replace(self, worker_slots: Collection[str]) -> None:
        taken = self._run.placement.take_away(worker_slots)
        if taken and self._run.cluster is not None:
            self._run.cluster.replace(sorted(taken))
        self._lose_all(worker_slots, "the worker that ran it was replaced")

    def _forget(self, worker_slots: Iterable[str]) -> None:
        """Results in these workers' memory are gone; what no file has is made again when it is needed."""
        gone, residency = set(worker_slots), self._run.residency
        for node in self._nodes.in_memory():
            if node.resident_at not in gone:
                continue
            if not node.run.keep and residency.is_readable(node):
                residency.written(node, node.attempt.number)
                continue
            is_lost = self._attempts.forget(node)
            if not node.run.keep:
                self._nodes.move(node, KNOWN)
            elif is_lost:
                self._results.lost(node)

    def workers_are_back(self, event: Back) -> None:
        """Use replaced workers again, or do without those that will not come back."""
        run = self._run
        run.placement.give_back(event.worker_slots, gone=event.problem is not None)
        if event.problem is not None:
            run.events.emit("note", message=f"{', '.join(event.worker_slots)}: {event.problem}")
        for node in self._nodes.in_state(REPLACING):
            node.attempt.replaced -= set(event.worker_slots)
            if not node.attempt.replaced:
                self._nodes.move(node, WANTED)
        if not run.placement.count:
            for node in self._nodes.in_state(WANTED, WAITING):
                message = f"no worker is left: {event.problem}"
                run.resolver.fail(node, Failure("bug", message, "see logs/dask.log of the run"))

    def finish_writing(self) -> None:
        """Wait until no result is being written, or the cluster is gone; what is not written then is lost.

        At the end of a run nothing is computed again: what is lost with a worker stays lost.
        """
        residency, cluster, events = self._run.residency, self._run.cluster, self._run.events
        if residency.on_their_way():
            size = format_bytes(sum(node.bytes for node in residency.on_their_way()))
            events.emit("note", message=f"writing {size} of results; stop again to leave them")
        while residency.on_their_way() and cluster is not None and cluster.lost() is None:
            with suppress(queue.Empty):
                match cluster.events.get(timeout=TICK):
                    case Written() as event:
                        self._results.take(event)
                    case Lost() as event:
                        for node in residency.on_their_way():
                            if node.resident_at == event.worker_slot:
                                self._attempts.forget(node)
                                events.interrupted(node)
            events.tick()
        for node in residency.on_their_way():
            events.interrupted(node)


def refuse_without(cluster: Cluster, nodes: Nodes, events: RunEvents, cause: Exception | None = None) -> None:
    """Raise GravelError if the cluster is gone; what is complete is in the cache."""
    lost = cluster.lost()
    if lost is None:
        return
    for node in nodes:
        if node.state not in ENDED:
            events.interrupted(node)
    kept = events.record.count("computed") + events.record.count("cached")
    raise GravelError(
        f"{lost} in the middle of the run; {kept} of {len(nodes)} results are kept",
        hint="start the cluster again, then the same command: it goes on from there",
    ) from cause


def log_tail(path: Path) -> str:
    """Return the last lines of a log, or nothing."""
    try:
        with open_file(path.parents[1], f"{path.parent.name}/{path.name}") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 8192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])
