"""The loop that carries out a plan. It alone decides; workers only run what they are given."""

from __future__ import annotations

import queue
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.memory import refuse_what_cannot_fit, refuse_what_no_disk_holds
from gravel.pipeline.datasets.file_digest import missing_file
from gravel.pipeline.plan.status import plan_extents, resident_inputs
from gravel.pipeline.scheduler.attempts import Attempts
from gravel.pipeline.scheduler.cluster_start import compile_ahead, plan_kernels, start_cluster
from gravel.pipeline.scheduler.losses import TICK, Losses, refuse_without
from gravel.pipeline.scheduler.machine import refuse_larger_groups
from gravel.pipeline.scheduler.node import (
    BUSY,
    DONE,
    ENDED,
    LOCKING,
    RUNNING,
    SKIPPED,
    WAITING,
    WANTED,
)
from gravel.pipeline.scheduler.placement import ranks_of
from gravel.pipeline.scheduler.results import Results
from gravel.pipeline.store.committer import Committed
from gravel.pipeline.store.exchange import Exchange
from gravel.pipeline.workers.failure import StageLog
from gravel.pipeline.workers.protocol import (
    Back,
    Began,
    Failure,
    Finished,
    Logged,
    Lost,
    Readable,
    Reported,
    Waiting,
    Written,
    is_elsewhere,
)
from gravel.stages.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gravel.pipeline.scheduler.cluster_start import Compiling
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.nodes import Nodes
    from gravel.pipeline.scheduler.run import Run
    from gravel.pipeline.workers.protocol import Cluster, StageOutcome
    from gravel.stages.stage import Need


class Driver:
    """Computes what of a run was not found in the cache."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nodes, self._events = run.nodes, run.events
        self._attempts = Attempts(run)
        self._results = Results(run, self._attempts)
        self._losses = Losses(run, self._attempts, self._results)
        self._put_back: Callable[[], None] = lambda: None
        self._compiling: Compiling | None = None
        self._stopping = False
        self._needs: Mapping[str, Need] = {}
        run.events.open = self._results.open_soon
        run.resolver.maker.open_ids = self._results.open
        run.wake = self._wake

    def drive(self) -> None:
        """Compute; raises RequestError for what is refused before anything starts."""
        run = self._run
        try:
            run.loading.begin()
            self._refuse()
            while not run.interrupted and (self._nodes.unfinished or run.residency.unwritten):
                fetched = run.digests.fetches.ended if run.digests.fetches is not None else 0
                moves = self._nodes.moves
                run.resolver.resolve_ready(fetched)
                for message in run.cache.acceptance.warnings():
                    self._events.emit("note", message=message)
                self._stop_after_failures()
                self._admit()
                self._wait(moves, fetched)
        except KeyboardInterrupt:
            run.interrupted = True
        except GravelError:
            if not run.interrupted:  # a cluster that was interrupted while it started
                raise
        except Exception as error:
            if run.cluster is not None and not run.interrupted:
                # Whatever is asked of a cluster that is gone fails in its own way.
                refuse_without(run.cluster, self._nodes, self._events, error)
            raise
        finally:
            self._close()

    def _wake(self) -> None:
        """Notice an interruption at once; called from a signal handler."""
        if self._attempts.inside:
            raise KeyboardInterrupt
        if self._run.cluster is not None:
            self._run.put(None)

    def _refuse(self) -> None:
        """Refuse the whole run if it cannot end well; from now on only single stage runs fail."""
        with self._events.spans.take("memory"):
            needs = self._needs = refuse_what_cannot_run(self._run)
            waiting = [node.key for node in self._nodes.in_state(WANTED, WAITING)]
            self._compiling = compile_ahead(self._run.plan, waiting, needs, self._run.environment)
        self._run.resolver.strict = False

    def _stop_after_failures(self) -> None:
        """Start nothing more after a failure, if that was asked for."""
        if self._stopping or not self._run.options.fail_fast or not self._events.failures:
            return
        self._stopping = True
        for node in self._nodes:
            if node.state not in ENDED:
                self._attempts.drop(node)
                self._nodes.move(node, SKIPPED)
                self._events.skipped(node, "stopped")

    def _admit(self) -> None:
        """Start the stage runs that are ready and for which there is room."""
        run, ready = self._run, self._nodes.ready
        if not len(ready):
            return
        if run.cluster is None:
            self._start()
        ready.offer(
            self._attempts.begin,
            lambda: not run.interrupted and run.placement.has_free,
            patient=self._nodes.any_in(*BUSY),
        )

    def _start(self) -> None:
        """Start the cluster."""
        run, record, began, clock = self._run, self._events.record, time.time(), time.monotonic()
        cluster, self._put_back = start_cluster(
            run.environment,
            record.run,
            record.folder,
            run.cache.root,
            workers=run.options.workers,
            ranks=max((ranks_of(node) for node in self._nodes.in_state(WANTED, WAITING)), default=0),
            progress=self._events.progressed,
            meanwhile=run.loading.while_workers_start,
            kernels=plan_kernels(run.plan, run.environment),
            files=local_files(self._nodes.in_state(WANTED, WAITING)),
            useful=usable_workers(self._nodes, self._needs),
            waiting=Waiting(
                lambda message: self._events.emit("note", message=message), lambda: run.interrupted
            ),
        )
        run.cluster = cluster
        if cluster.store is not None and run.cache.pushes is not None:
            run.cache.pushes.finish()  # what earlier runs left here, workers seek there
        run.placement.set_worker_slots(cluster.worker_slots)
        record.cluster = cluster.describe()
        took = time.monotonic() - clock
        self._events.spans.add("cluster", began, took)
        self._events.emit("cluster_started", cluster=record.cluster, seconds=took)
        if cluster.warning is not None:
            self._events.emit("note", message=cluster.warning)

    def _wait(self, moves: int, fetched: int) -> None:
        """Wait for whatever is under way, or make room where nothing is and no node moved meanwhile."""
        run, nodes, fetches = self._run, self._nodes, self._run.digests.fetches
        is_busy = nodes.any_in(*BUSY) or run.placement.away or run.residency.unwritten
        if run.cluster is not None and (is_busy or nodes.any_in(LOCKING)):
            if not is_busy:
                # Nothing can go on but what another run computes, or what has its recipe on the way.
                self._results.committer.flush()
            self._take_events(run.cluster)
        elif fetches is not None and fetches.wait(fetched, TICK):
            self._events.fetched(fetches)
            self._events.tick()
        elif moves == nodes.moves and not run.interrupted:
            self._attempts.unblock()

    def _take_events(self, cluster: Cluster) -> None:
        """Handle what has happened, or wait a moment until something does."""
        try:
            self._handle(cluster.events.get(timeout=TICK))
            while not self._run.interrupted:
                self._handle(cluster.events.get_nowait())
        except queue.Empty:
            pass
        if not self._run.interrupted:
            refuse_without(cluster, self._nodes, self._events)
            self._losses.stop_overdue()
            self._attempts.try_locks()
        self._events.fetched(self._run.digests.fetches)
        self._events.tick()

    def _handle(self, event: object) -> None:
        match event:
            case Began():
                if (node := self._nodes[event.key]).is_running(event.attempt):
                    node.attempt.began = time.monotonic()
            case Reported():
                if self._nodes[event.key].state == RUNNING:
                    self._events.progressed(event)
            case Logged():
                StageLog(self._events.record.log_path(event.key)).write(event.message)
            case Finished():
                if (node := self._nodes[event.key]).is_running(event.attempt):
                    self._finish(node, event.outcome)
            case Readable() | Written() | Committed():
                self._results.take(event)
            case Lost():
                self._losses.worker_died(event.worker_slot)
            case Back():
                self._losses.workers_are_back(event)

    def _finish(self, node: Node, outcome: StageOutcome) -> None:
        failure = outcome.failure or Failure("bug", "no reason was given")
        match outcome.state:
            case "computed":
                self._results.computed(node, outcome)
                if node.stated is not None and node.stated.outputs_guessed:
                    self._check_again()
            case "damaged":
                assert outcome.artifact is not None
                self._results.damaged(node, outcome.artifact, failure.message, outcome.started)
            case "lost" | "out_of_memory":
                self._losses.lose(node, failure)
            case _:
                if failure.kind == "disk":
                    self._results.publish_all()  # what it reads may have failed for the same cause
                self._attempts.drop(node)
                self._run.resolver.fail(node, failure)

    def _check_again(self) -> None:
        """Fail what cannot fit, now that vertices are known which plans could only bound."""
        run, waiting = self._run, self._nodes.in_state(WANTED, WAITING)
        made = {node.key: node.extents for node in self._nodes if node.extents}
        keys = {node.key for node in waiting}
        found = plan_extents(run.plan, run.cache, run.environment.machine, self._nodes.ids, keys, made)
        for node in waiting:
            if node.key in found and node.state in (WANTED, WAITING):
                needs = {node.key: found[node.key]}
                try:
                    refuse_what_cannot_fit(needs, run.environment.capacity, resident_inputs(run.plan, found))
                except GravelError as error:
                    run.resolver.fail(node, Failure("stage", str(error), error.problems[0].hint))

    def _close(self) -> None:
        """Publish what was computed, and end every process that was started."""
        if self._compiling is not None:
            self._compiling.close(lambda key: self._nodes[key].state == DONE)
        hurry = self._run.interrupted or self._stopping or self._nodes.any_in(LOCKING, *BUSY)
        self._losses.finish_writing()
        self._results.close()
        if self._run.cluster is None:
            return
        self._events.published()
        for node in () if hurry else self._nodes.in_memory():
            self._attempts.release(node)
        with self._events.spans.take("close"):
            try:
                self._run.cluster.close(hurry=hurry)
                if self._run.cluster.store is not None:
                    Exchange(self._run.cache, self._events.record.run).clear()
            finally:
                self._put_back()


def refuse_what_cannot_run(run: Run) -> Mapping[str, Need]:
    """Raise GravelError for what would stop the workflow's own stage runs later; data sets fail one by one.

    Returns what each stage run of the plan is expected to need.
    """
    plan, nodes, environment, data_sets = run.plan, run.nodes, run.environment, run.plan.workflow.datasets
    asked = nodes.to_compute()
    found = plan_extents(plan, run.cache, environment.machine, nodes.ids, asked)
    needs = {key: need for key, need in found.items() if key in asked}
    for key, need in needs.items():
        run.events.stated(key, need)
    resident = resident_inputs(plan, found)
    for key in [key for key in needs if plan.runs[key].is_of(data_sets)]:
        try:
            refuse_what_cannot_fit({key: needs[key]}, environment.capacity, resident)
        except RequestError as error:
            del needs[key]
            if nodes[key].state not in ENDED:
                run.resolver.fail(nodes[key], Failure("stage", str(error), error.problems[0].hint))
    locations = {key: plan.runs[key].location for key in needs}
    refuse_what_cannot_fit(needs, environment.capacity, resident, locations)
    own = [node for node in nodes.in_state(WANTED, WAITING) if not node.run.is_of(data_sets)]
    refuse_missing_files(own)
    ranks = {node.key: ranks_of(node) for node in own}
    refuse_larger_groups(ranks, plan.runs, environment, run.options.workers)
    stored = {key: need for key, need in needs.items() if plan.runs[key].keep}
    if run.cache.remote is None or not is_elsewhere(
        environment.cluster
    ):  # else the disks may be the workers'
        refuse_what_no_disk_holds(stored, run.cache.root, locations)
    return found


def usable_workers(nodes: Nodes, needs: Mapping[str, Need]) -> int:
    """Return how many workers a run can use at once: where its plan is widest, with those of rank groups."""
    depth: dict[str, int] = {}
    width: dict[int, int] = {}
    for node in nodes.in_state(WANTED, WAITING):  # in the plan's order
        level = depth[node.key] = 1 + max((depth.get(key, 0) for key in node.run.upstream), default=0)
        several = needs[node.key].workers if node.key in needs else 0
        width[level] = width.get(level, 0) + max(1, ranks_of(node), several)
    return max(width.values(), default=1)


def local_files(nodes: Iterable[Node]) -> list[str]:
    """List the files of this machine that stage runs read."""
    return sorted(
        {
            file.location
            for node in nodes
            for file in node.run.stage.files(node.run.parameters)
            if not is_url(file.location)
        }
    )


def refuse_missing_files(nodes: Iterable[Node]) -> None:
    """Raise RequestError, with the place in the workflow, for the first local file that is not there."""
    for node in nodes:
        for file in node.run.stage.files(node.run.parameters):
            path = Path(file.location)
            if is_url(file.location) or path.exists():
                continue
            problem = missing_file(path).problems[0]
            place = node.run.files.get(file.location, node.run.location)
            raise RequestError(problem.message, hint=problem.hint, location=place)
