"""The loop that carries out a plan. It alone decides; workers only run what they are given."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.scheduler.attempts import Attempts
from gravel.pipeline.scheduler.cluster_start import start_cluster
from gravel.pipeline.scheduler.compilation import compile_ahead, plan_kernels
from gravel.pipeline.scheduler.losses import Losses, refuse_without
from gravel.pipeline.scheduler.node import BUSY, DONE, ENDED, LOCKING, RUNNING, SKIPPED, WAITING, WANTED
from gravel.pipeline.scheduler.placement import ranks_of
from gravel.pipeline.scheduler.refusals import refuse_what_cannot_run
from gravel.pipeline.scheduler.results import Results
from gravel.pipeline.store.committer import Committed
from gravel.pipeline.workers.protocol import Back, Began, Failure, Finished, Lost, Readable, Reported, Written

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.cluster_start import Started
    from gravel.pipeline.scheduler.compilation import Compiling
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.run import Run
    from gravel.pipeline.workers.protocol import Cluster, StageOutcome

TICK = 0.25
"""Seconds after which the screen is refreshed, and locks of other runs are tried, when nothing happens."""


class Driver:
    """Computes what of a run was not found in the cache."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nodes, self._events = run.nodes, run.events
        self._attempts = Attempts(run)
        self._results = Results(run, self._attempts)
        self._losses = Losses(run, self._attempts, self._results)
        self._started: Started | None = None
        self._compiling: Compiling | None = None
        self._stopping = False
        run.events.open = self._results.open_soon
        run.resolver.maker.open_ids = self._results.open
        run.wake = self._wake

    def _wake(self) -> None:
        """Notice an interruption at once; called from a signal handler."""
        if self._attempts.inside:
            raise KeyboardInterrupt
        if self._run.cluster is not None:
            self._run.cluster.events.put(None)

    def drive(self) -> None:
        """Compute; raises RequestError for what is refused before anything starts."""
        try:
            self._run.loading.begin()
            self._refuse()
            self._loop()
        except KeyboardInterrupt:
            self._run.interrupted = True
        except GravelError:
            if not self._run.interrupted:  # a cluster that was interrupted while it started
                raise
        except Exception as error:
            if self._run.cluster is not None and not self._run.interrupted:
                # Whatever is asked of a cluster that is gone fails in its own way.
                refuse_without(self._run.cluster, self._nodes, self._events, error)
            raise
        finally:
            self._close()

    def _refuse(self) -> None:
        """Refuse the whole run if it cannot end well; from now on only single stage runs fail."""
        with self._events.spans.take("memory"):
            needs = refuse_what_cannot_run(self._run)
            waiting = [node.key for node in self._nodes.in_state(WANTED, WAITING)]
            self._compiling = compile_ahead(self._run.plan, waiting, needs, self._run.environment)
        self._run.resolver.strict = False

    def _loop(self) -> None:
        run, nodes = self._run, self._nodes
        while not run.interrupted and (nodes.unfinished or run.residency.writes):
            moves, fetches = nodes.moves, run.digests.fetches
            fetched = fetches.ended if fetches is not None else 0
            run.resolver.resolve_ready(fetched)
            self._stop_after_failures()
            self._admit()
            if run.cluster is not None and self._is_something_under_way:
                self._wait_for_events(run.cluster)
            elif run.cluster is not None and nodes.any_in(LOCKING):
                # Nothing can go on but what another run computes, or what has its recipe on the way.
                self._results.committer.flush()
                self._wait_for_events(run.cluster)
            elif fetches is not None and fetches.wait(fetched, TICK):
                self._events.fetched(fetches)
                self._events.tick()
            elif moves == nodes.moves and not run.interrupted:
                self._attempts.unblock()

    @property
    def _is_something_under_way(self) -> bool:
        return self._nodes.are_busy or self._run.placement.waits or self._run.residency.writes

    def _stop_after_failures(self) -> None:
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
        ready = self._nodes.ready
        if not len(ready):
            return
        if self._started is None:
            self._start()
        ready.offer(
            self._attempts.begin,
            lambda: not self._run.interrupted and self._run.placement.has_free,
            patient=self._nodes.are_busy,
        )

    def _start(self) -> None:
        """Start the cluster."""
        run, record, began, clock = self._run, self._events.record, time.time(), time.monotonic()
        self._started = start_cluster(
            run.environment,
            record.run,
            record.folder,
            run.cache.root,
            workers=run.options.workers,
            ranks=max((ranks_of(node) for node in self._nodes.in_state(WANTED, WAITING)), default=0),
            progress=self._events.progressed,
            meanwhile=run.loading.while_workers_start,
            kernels=plan_kernels(run.plan, run.environment),
        )
        cluster = run.cluster = self._started.cluster
        run.placement.set_worker_slots(cluster.worker_slots)
        record.cluster = cluster.describe()
        took = time.monotonic() - clock
        self._events.spans.add("cluster", began, took)
        self._events.emit("cluster_started", cluster=record.cluster, seconds=took)
        if cluster.warning is not None:
            self._events.emit("note", message=cluster.warning)

    def _wait_for_events(self, cluster: Cluster) -> None:
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
                self._attempts.began(self._nodes[event.key], event.attempt)
            case Reported():
                if self._nodes[event.key].state == RUNNING:
                    self._events.progressed(event)
            case Finished():
                node = self._nodes[event.key]
                if node.is_running(event.attempt):
                    self._finish(node, event.outcome)
            case Readable():
                self._results.readable(self._nodes[event.key], event)
            case Written():
                self._results.written(self._nodes[event.key], event)
            case Committed():
                self._results.published(self._nodes[event.key], event)
            case Lost():
                self._losses.worker_died(event.worker_slot)
            case Back():
                self._losses.workers_are_back(event)

    def _finish(self, node: Node, outcome: StageOutcome) -> None:
        failure = outcome.failure or Failure("bug", "no reason was given")
        match outcome.state:
            case "computed":
                self._results.computed(node, outcome)
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

    def _close(self) -> None:
        """Publish what was computed, and end every process that was started."""
        if self._compiling is not None:
            self._compiling.close(lambda key: self._nodes[key].state == DONE)
        hurry = self._run.interrupted or self._stopping or self._nodes.any_in(LOCKING, *BUSY)
        self._losses.finish_writing()
        self._results.close()
        if self._started is None:
            return
        self._events.published()
        if not hurry:
            self._attempts.release_all()
        with self._events.spans.take("close"):
            self._started.close(hurry=hurry)
