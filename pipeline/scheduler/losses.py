"""Workers that die, run out of memory or are overdue: what ran there is tried again, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.pipeline.scheduler.attempts import Attempts
from gravel.pipeline.scheduler.failures import log_tail
from gravel.pipeline.scheduler.limits import overdue_runs
from gravel.pipeline.scheduler.node import KNOWN, REPLACING, RUNNING, WAITING, WANTED, Node
from gravel.pipeline.workers.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gravel.pipeline.scheduler.results import Results
    from gravel.pipeline.scheduler.run_state import RunState
    from gravel.pipeline.workers.protocol import Back, Cluster

DIED = "see docs/troubleshooting.md#worker-died"


class Losses:
    """Replaces workers and tries again what they ran; `retries` is how often for one stage run."""

    def __init__(self, state: RunState, attempts: Attempts, results: Results, retries: int) -> None:
        self._state = state
        self._nodes = state.nodes
        self._placement = state.placement
        self._resolver = state.resolver
        self._attempts = attempts
        self._results = results
        self._report = state.report
        self._retries = retries

    @property
    def _cluster(self) -> Cluster:
        assert self._state.cluster is not None
        return self._state.cluster

    def worker_died(self, worker_slot: str) -> None:
        """What ran or was kept there is lost, and so is the rank group that it was part of."""
        self._forget([worker_slot])
        for node in self._nodes.in_state(RUNNING):
            if worker_slot in node.attempt.worker_slots:
                self.lose(node, Failure("bug", "the worker that ran it died"))
        if not any(worker_slot in node.attempt.replaced for node in self._nodes.in_state(REPLACING)):
            self._replace([worker_slot])

    def lose(self, node: Node, failure: Failure) -> None:
        """An attempt ended with its worker: try again, or fail after too many."""
        worker_slots = node.attempt.worker_slots
        self._forget(worker_slots)
        self._attempts.drop(node)
        # What read it ahead may have brought its worker down, and will not do so again.
        node.losses += not node.attempt.read_ahead
        if node.losses > self._retries:
            tail = log_tail(self._report.record.log_path(node.key))
            end = f"; the end of its log:\n{tail}" if tail else ""
            message = f"{failure.message} ({node.losses} attempts){end}"
            self._resolver.fail(node, Failure(failure.kind, message, failure.hint or DIED))
        else:
            node.attempt.replaced = worker_slots
            self._nodes.move(node, REPLACING)
            self._report.retried(node, failure.message)
        self._replace(worker_slots)

    def stop_overdue(self) -> None:
        """Fail the runs whose time is up; only a new process stops what they do."""
        for node, worker_slots, failure in overdue_runs(self._nodes, self._cluster, self._report):
            self._forget(worker_slots)
            self._attempts.drop(node)
            self._resolver.fail(node, failure)
            self._replace(worker_slots)

    def _replace(self, worker_slots: Collection[str]) -> None:
        taken = self._placement.take_away(worker_slots)
        if taken:
            self._cluster.replace(sorted(taken))
        for node in self._nodes.in_state(RUNNING):
            if node.attempt.worker_slots & set(worker_slots):  # one that reads ahead, or what it reads
                self.lose(node, Failure("bug", "the worker that ran it was replaced"))

    def _forget(self, worker_slots: Iterable[str]) -> None:
        """What was held in workers' memory is gone; it is made again when something asks for it."""
        gone = set(worker_slots)
        for node in self._nodes.in_memory():
            if node.resident_at in gone:
                if self._attempts.forget(node):
                    self._results.lost(node)
                elif not node.run.keep:
                    self._nodes.move(node, KNOWN)

    def give_up(self, worker_slot: str) -> None:
        """At the end of a run nothing is computed again: what was lost with a worker stays lost."""
        for node in self._state.residency.unwritten():
            if node.resident_at == worker_slot:
                self._attempts.forget(node)
                self._report.interrupted(node)

    def workers_are_back(self, event: Back) -> None:
        """Use replaced workers again, or do without those that will not come back."""
        self._placement.give_back(event.worker_slots)
        if event.problem is not None:
            self._placement.drop(event.worker_slots)
            self._report.emit("note", message=f"{', '.join(event.worker_slots)}: {event.problem}")
        for node in self._nodes.in_state(REPLACING):
            node.attempt.replaced -= set(event.worker_slots)
            if not node.attempt.replaced:
                # One that ran ahead has no recipe yet.
                self._nodes.move(node, WANTED if node.recipe is not None else WAITING)
        if self._placement.empty:
            for node in self._nodes.in_state(WANTED, WAITING):
                message = f"no worker is left: {event.problem}"
                self._resolver.fail(node, Failure("bug", message, "see logs/dask.log of the run"))
