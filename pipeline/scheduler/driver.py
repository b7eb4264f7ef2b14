"""The loop that carries out a plan. It alone decides; workers only run what they are given."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.memory import format_bytes, refuse_what_cannot_fit, refuse_what_no_disk_holds
from gravel.pipeline.plan.recipes import NeedsResult
from gravel.pipeline.plan.sizes import plan_extents, resident_inputs
from gravel.pipeline.scheduler.attempts import Attempts
from gravel.pipeline.scheduler.compiling import Compiling, compile_ahead
from gravel.pipeline.scheduler.finishing import finish_writing
from gravel.pipeline.scheduler.limits import refuse_without
from gravel.pipeline.scheduler.losses import Losses
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.scheduler.node import (
    BUSY,
    DONE,
    ENDED,
    KNOWN,
    LOCKING,
    RUNNING,
    SKIPPED,
    WAITING,
    WANTED,
)
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.scheduler.placement import Placement, ranks_of
from gravel.pipeline.scheduler.plan_kernels import plan_kernels
from gravel.pipeline.scheduler.reading_ahead import ReadingAhead
from gravel.pipeline.scheduler.refusals import refuse_what_cannot_begin
from gravel.pipeline.scheduler.reporting import RunReport
from gravel.pipeline.scheduler.residency import Residency
from gravel.pipeline.scheduler.results import Results
from gravel.pipeline.scheduler.run_state import RunState
from gravel.pipeline.scheduler.starting import Started, start_cluster
from gravel.pipeline.store.committer import Committed
from gravel.pipeline.store.recipe_locks import RecipeLocks
from gravel.pipeline.workers.failure import Failure
from gravel.pipeline.workers.kinds import is_address
from gravel.pipeline.workers.protocol import Back, Began, Cluster, Finished, Lost, Made, Reported, Written
from gravel.pipeline.workers.resident import PREFIX
from gravel.pipeline.workers.stage_task import StageOutcome
from gravel.stages.artifact import Artifact, Json

if TYPE_CHECKING:
    from gravel.pipeline.datasets.file_digest import FileDigests
    from gravel.pipeline.scheduler.loading_here import LoadingHere
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.resolving import Resolver
    from gravel.pipeline.store.cache import Cache

TICK = 0.25
"""Seconds after which the screen is refreshed, and locks of other runs are tried, when nothing happens."""


class Driver:
    """Computes what of a plan was not found in the cache."""

    def __init__(
        self,
        resolver: Resolver,
        digests: FileDigests,
        cache: Cache,
        environment: RunEnvironment,
        options: RunOptions,
        report: RunReport,
        facts: dict[str, Json],
        loading: LoadingHere,
    ) -> None:
        self._resolver = resolver
        self._loading = loading
        self._cache = cache
        self._environment = environment
        self._options = options
        self._report = report
        self._digests = digests
        self._nodes = nodes = resolver.nodes
        self._plan = nodes.plan
        self._placement = Placement(environment, nodes)
        self._state = RunState(
            self._plan,
            nodes,
            self._placement,
            Residency(
                environment.resident_bytes,
                environment.capacity.host_bytes,
                is_local=not is_address(environment.cluster),
            ),
            resolver,
            cache,
            RecipeLocks(cache.root, report.record.run),
            environment,
            report,
            facts,
            profile=options.profile,
        )
        self._attempts = Attempts(self._state)
        self._results = Results(self._state, self._attempts)
        self._ahead = ReadingAhead(self._state, self._attempts)
        self._losses = Losses(self._state, self._attempts, self._results, options.retries)
        report.open = resolver.maker.open_ids = self._open
        self._started: Started | None = None
        self.interrupted = self._stopping = False
        self._compiling: Compiling | None = None

    def _open(self, name: str) -> Artifact:
        """Open a result, also one that only a worker's memory has."""
        for node in self._nodes.in_memory():
            if name in (node.ids or ()) and self._started is not None and node.resident_at is not None:
                if node.run.keep and not self._state.residency.is_unwritten(node):
                    break
                return self._started.cluster.fetch(node.resident_at, name)
        if not name.startswith(PREFIX):
            return self._cache.open(name)
        raise NeedsResult(next(node.key for node in self._nodes if name in (node.ids or ())))

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        self.interrupted = True
        if self._attempts.inside:
            raise KeyboardInterrupt
        if self._started is not None:
            self._started.cluster.events.put(None)

    def run(self) -> None:
        """Compute; raises RequestError for what is refused before anything starts."""
        try:
            self._loading.begin()
            with self._report.spans.take("memory"):
                self._refuse()
            self._resolver.strict = False
            self._loop()
        except KeyboardInterrupt:
            self.interrupted = True
        except GravelError:
            if not self.interrupted:  # a cluster that was interrupted while it started
                raise
        except Exception as error:
            if self._started is not None and not self.interrupted:
                # Whatever is asked of a cluster that is gone fails in its own way.
                refuse_without(self._started.cluster, self._nodes, self._report, error)
            raise
        finally:
            self._close()

    def _refuse(self) -> None:
        """Refuse the whole run if a stage cannot fit or needs more workers than there are; none has begun."""
        found = plan_extents(self._plan, self._cache, self._environment.machine, self._nodes.ids)
        self._state.needs = found
        asked = {node.key for node in self._nodes.in_state(WANTED, WAITING)}
        for node in reversed(list(self._nodes)):
            if node.key in asked:
                asked |= {source.key for source in node.sources if source.state == KNOWN}
        needs = {key: need for key, need in found.items() if key in asked}
        for key, need in needs.items():
            self._report.stated(key, need)
        resident = resident_inputs(self._plan, found)
        for key in [key for key in needs if self._nodes[key].run.is_of(self._plan.workflow.datasets)]:
            try:
                refuse_what_cannot_fit({key: needs[key]}, self._environment.capacity, resident)
            except RequestError as error:
                del needs[key]
                if self._nodes[key].state not in ENDED:
                    failure = Failure("stage", str(error), error.problems[0].hint)
                    self._resolver.fail(self._nodes[key], failure)
        locations = {key: self._plan.runs[key].location for key in needs}
        refuse_what_cannot_fit(needs, self._environment.capacity, resident, locations)
        refuse_what_cannot_begin(self._plan, self._nodes, self._environment, self._options.workers)
        stored = {key: need for key, need in needs.items() if self._plan.runs[key].keep}
        refuse_what_no_disk_holds(stored, self._cache.root, locations)
        waiting = [node.key for node in self._nodes.in_state(WANTED, WAITING)]
        self._compiling = compile_ahead(self._plan, waiting, found, self._environment)

    def _loop(self) -> None:
        while not self.interrupted and (self._nodes.unfinished or self._state.residency.writes):
            moves, fetches = self._nodes.moves, self._digests.fetches
            ended = fetches.ended if fetches is not None else 0
            self._resolver.resolve_ready(ended)
            self._after_failures()
            self._admit()
            if self._started is not None and self._is_something_under_way:
                self._wait_for_events(self._started.cluster)
            elif self._started is not None and self._nodes.any_in(LOCKING):
                self._wait_for_locks(self._started.cluster)
            elif fetches is not None and fetches.wait(ended, TICK):
                self._report.fetched(fetches)
                self._report.tick()
            elif moves == self._nodes.moves and not self.interrupted:
                self._unblock()

    @property
    def _is_something_under_way(self) -> bool:
        return self._nodes.are_busy or self._placement.waits or self._state.residency.writes

    def _wait_for_events(self, cluster: Cluster) -> None:
        """Handle what has happened, or wait a moment until something does."""
        try:
            self._handle(cluster.events.get(timeout=TICK))
            while not self.interrupted:
                self._handle(cluster.events.get_nowait())
        except queue.Empty:
            pass
        if not self.interrupted:
            refuse_without(cluster, self._nodes, self._report)
            self._losses.stop_overdue()
            self._attempts.try_locks()
        self._report.fetched(self._digests.fetches)
        self._report.tick()

    def _wait_for_locks(self, cluster: Cluster) -> None:
        """Nothing can go on but what another run computes, or what has the recipe of a result on its way."""
        self._results.committer.flush()
        self._wait_for_events(cluster)

    def _after_failures(self) -> None:
        if self._stopping or not self._options.fail_fast or not self._report.failures:
            return
        self._stopping = True
        for node in self._nodes:
            if node.state not in ENDED:
                self._attempts.drop(node)
                self._nodes.move(node, SKIPPED)
                self._report.skipped(node, "stopped")

    def _admit(self) -> None:
        ready = self._nodes.ready
        if not len(ready):
            return
        if self._started is None:
            self._start()

        begin, patient = self._attempts.begin, self._nodes.are_busy
        ready.offer(begin, lambda: not self.interrupted and self._placement.has_free, patient=patient)

    def _unblock(self) -> None:
        """Nothing runs and nothing can start: drop results in memory that only others read."""
        stuck = self._nodes.ready.nodes()
        if any(self._make_room(node) for node in stuck):
            return
        for node in stuck:
            free = format_bytes(self._placement.free_host_bytes())
            needed = format_bytes(self._attempts.need(node).host_bytes)
            message = f"it needs {needed} of host memory; {free} is left beside results that are not kept"
            hint = "give the run more memory, or keep the results that it reads (keep: true)"
            self._resolver.fail(node, Failure("stage", message, hint))
        for node in self._nodes.in_state(WANTED, WAITING):
            self._resolver.fail(node, Failure("bug", "nothing is left that could make it run"))

    def _make_room(self, node: Node) -> bool:
        """Forget what is held for others, if the node then fits, and start the node."""
        others = [each for each in self._nodes.in_memory() if not each.run.keep and each not in node.sources]
        if not others or not self._placement.would_fit_without(others, self._attempts.need(node)):
            return False
        for other in others:
            self._attempts.release(other)
            self._nodes.move(other, KNOWN)
        return self._attempts.begin(node, 0)

    def _start(self) -> None:
        began, clock = time.time(), time.monotonic()
        ranks = max((ranks_of(node) for node in self._nodes.in_state(WANTED, WAITING)), default=0)
        self._started = start_cluster(
            self._environment,
            self._report.record.run,
            self._report.record.folder,
            self._cache.root,
            workers=self._options.workers,
            ranks=ranks,
            progress=self._report.progressed,
            meanwhile=self._loading.while_workers_start,
            kernels=plan_kernels(self._plan, self._environment),
        )
        cluster = self._state.cluster = self._started.cluster
        self._placement.set_worker_slots(cluster.worker_slots)
        self._report.record.cluster = cluster.describe()
        took = time.monotonic() - clock
        self._report.spans.add("cluster", began, took)
        self._report.emit("cluster_started", cluster=cluster.describe(), seconds=took)
        if cluster.warning is not None:
            self._report.emit("note", message=cluster.warning)

    def _handle(self, event: object) -> None:
        match event:
            case Began():
                self._attempts.began(self._nodes[event.key], event.attempt)
            case Reported():
                if self._nodes[event.key].state == RUNNING:
                    self._report.progressed(event)
            case Finished():
                node = self._nodes[event.key]
                if node.is_running(event.attempt) and not self._ahead.takes(event):
                    self._finish(node, event.outcome)
            case Made():
                self._ahead.made(event)
            case Written():
                self._results.written(self._nodes[event.key], event)
            case Committed():
                self._results.published(self._nodes[event.key], event)
            case Lost():
                self._losses.worker_died(event.worker_slot)
            case Back():
                self._losses.workers_are_back(event)
        self._ahead.resolve(self._finish)

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
                if failure.kind == "disk" and self._started is not None:
                    # What it reads may have failed for the same cause.
                    self._publish_all(self._started.cluster)
                self._attempts.drop(node)
                self._resolver.fail(node, failure)

    def _close(self) -> None:
        if self._compiling is not None:
            self._compiling.close(lambda key: self._nodes[key].state == DONE)
        hurry = self.interrupted or self._stopping or self._nodes.any_in(LOCKING, *BUSY)
        if self._started is not None:
            finish_writing(self._started.cluster, self._state, self._results, self._losses)
            self._publish_all(self._started.cluster)  # a run is not done before all of it is published
        self._results.fail_unrecorded()
        self._results.close()
        if self._started is None:
            return
        self._report.published()
        for node in self._nodes.in_memory():
            if node.resident_at is not None and not hurry:
                self._started.cluster.release(node.resident_at, node.ids or ())
        with self._report.spans.take("close"):
            self._started.close(hurry=hurry)

    def _publish_all(self, cluster: Cluster) -> None:
        """Have all results published and handle what came of it, before anything else that has happened."""
        self._results.committer.flush()
        others: list[object] = []
        while not cluster.events.empty():
            event = cluster.events.get_nowait()
            if isinstance(event, Committed):
                self._handle(event)
            else:
                others.append(event)
        for event in others:
            cluster.events.put(event)
