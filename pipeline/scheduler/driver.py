"""The loop that carries out a plan. It alone decides; workers only run what they are given."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.hardware import hardware
from gravel.pipeline.core.memory import format_bytes, refuse_what_cannot_fit
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.plan.recipes import NeedsResult, RecipeMaker
from gravel.pipeline.plan.sizes import plan_extents, resident_inputs, stated_need
from gravel.pipeline.scheduler.failures import log_tail
from gravel.pipeline.scheduler.limits import not_served, overdue_runs, refuse_without
from gravel.pipeline.scheduler.locks import Locked, RecipeLock
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.scheduler.nodes import (
    BUSY,
    DONE,
    ENDED,
    KNOWN,
    LOCKING,
    NOT_RUN,
    REPLACING,
    RUNNING,
    SKIPPED,
    WAITING,
    WANTED,
    Node,
    Nodes,
)
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.scheduler.placement import Placement, ranks_of
from gravel.pipeline.scheduler.provenance import provenance
from gravel.pipeline.scheduler.reporting import RunReport
from gravel.pipeline.scheduler.resolving import Resolver
from gravel.pipeline.scheduler.starting import Started, start_cluster
from gravel.pipeline.scheduler.tasks import make_task
from gravel.pipeline.workers.protocol import Assignment, Back, Began, Cluster, Finished, Lost, Progress
from gravel.pipeline.workers.resident import PREFIX
from gravel.pipeline.workers.stage_run import Failure, StageOutcome
from gravel.stages.addresses import shown
from gravel.stages.artifacts import Artifact, Json
from gravel.stages.errors import StageError
from gravel.stages.stage import Need

if TYPE_CHECKING:
    from gravel.pipeline.datasets.file_digest import FileDigests
    from gravel.pipeline.scheduler.data_set_changes import Past
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.failures import ReadOnly

TICK = 0.25
"""Seconds between two looks at the screen when nothing happens."""

DIED = "see docs/troubleshooting.md#worker-died"


class Driver:
    """Carries out one plan; `run` returns "done", "failed" or "interrupted"."""

    def __init__(
        self,
        plan: Plan,
        digests: FileDigests,
        cache: Cache,
        environment: RunEnvironment,
        options: RunOptions,
        report: RunReport,
        facts: dict[str, Json],
    ) -> None:
        self._plan = plan
        self._cache = cache
        self._environment = environment
        self._options = options
        self._report = report
        self._digests = digests
        self._nodes = Nodes(plan)
        maker = RecipeMaker(plan, cache, digests, environment.hardware_of, open_ids=self._open_ids)
        self._resolver = Resolver(self._nodes, maker, cache, report)
        self._placement = Placement(environment, self._nodes)
        self._started: Started | None = None
        self._locks: dict[str, RecipeLock] = {}
        self._interrupted = False
        self._inside = False
        self._stopping = False
        self._facts = facts
        self._read_only: ReadOnly | None = None

    def _open_ids(self, name: str) -> Artifact:
        """Open an artifact for resolving source ids, also one that only a worker's memory holds."""
        if not name.startswith(PREFIX):
            return self._cache.open(name)
        owner = next(node for node in self._nodes if node.ids is not None and name in node.ids)
        if owner.resident_at is None or self._started is None:
            raise NeedsResult(owner.key)
        return self._started.cluster.fetch(owner.resident_at, name)

    def only_serve(self, why: ReadOnly) -> None:
        """Refuse the run with this if something has to be computed."""
        self._read_only = why

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        self._interrupted = True
        if self._inside:
            raise KeyboardInterrupt
        if self._started is not None:
            self._started.cluster.events.put(None)

    def run(self) -> str:
        """Carry the plan out; raises RequestError for what is refused before anything starts."""
        try:
            for node in self._nodes.in_state(NOT_RUN):
                self._report.not_run(node.key)
            self._resolver.resolve_ready()
            if self._nodes.in_state(WANTED, WAITING):
                if self._read_only is not None:
                    raise not_served(self._read_only, self._nodes.in_state(WANTED, WAITING))
                self._refuse()
                self._resolver.strict = False
                self._loop()
        except KeyboardInterrupt:
            self._interrupted = True
        except GravelError:
            if not self._interrupted:  # a cluster that was interrupted while it started
                raise
        except Exception as error:
            if self._started is not None and not self._interrupted:
                # Whatever is asked of a cluster that is gone fails in its own way.
                refuse_without(self._started.cluster, self._nodes, self._report, error)
            raise
        finally:
            self._close()
        if self._interrupted and any(node.state not in ENDED for node in self._nodes):
            for node in self._nodes:
                if node.state not in ENDED:
                    self._report.interrupted(node)
            return "interrupted"
        return "failed" if self._report.record.count("failed") else "done"

    def data_sets(self, past: Past | None) -> list[dict[str, Json]]:
        """Sum up how each data set fared; `past` is what the last run had."""
        if not self._plan.workflow.datasets:
            return []
        from gravel.pipeline.scheduler.data_set_rows import data_set_rows

        rows = data_set_rows(self._plan, self._report.record.stages, self._nodes.by_key, past)
        return [row.to_json() for row in rows]

    @property
    def computed(self) -> int:
        """How many stage runs were computed."""
        return self._report.record.count("computed")

    def _refuse(self) -> None:
        """Refuse the whole run if one of its stages cannot fit; nothing has started yet."""
        found = plan_extents(self._plan, self._cache, self._environment.machine, self._nodes.ids())
        asked = {node.key for node in self._nodes.in_state(WANTED, WAITING)}
        for node in reversed(list(self._nodes)):
            if node.key in asked:
                asked |= {key for key in node.run.upstream if self._nodes[key].state == KNOWN}
        needs = {key: need for key, need in found.items() if key in asked}
        for key, need in needs.items():
            self._nodes[key].need = need
            self._report.record.stages[key].need = {"host": need.host_bytes, "device": need.device_bytes}
        resident = resident_inputs(self._plan, found)
        for key in [key for key in needs if self._nodes[key].run.is_of(self._plan.workflow.datasets)]:
            try:
                refuse_what_cannot_fit({key: needs[key]}, self._environment.capacity, resident)
            except RequestError as error:
                del needs[key]
                if self._nodes[key].state not in ENDED:
                    failure = Failure("stage", str(error), error.problems[0].hint)
                    self._resolver.fail(self._nodes[key], failure)
        refuse_what_cannot_fit(needs, self._environment.capacity, resident)

    def _loop(self) -> None:
        while not self._interrupted and any(node.state not in ENDED for node in self._nodes):
            before = [node.state for node in self._nodes]
            ended = self._digests.fetches.ended if self._digests.fetches is not None else 0
            self._resolver.resolve_ready()
            self._after_failures()
            self._admit()
            if self._started is not None and (self._nodes.in_state(*BUSY) or self._placement.waits):
                self._wait_for_event(self._started.cluster)
            elif not self._interrupted and self._waits_for_fetches(ended):
                self._report.tick()
            elif not self._interrupted and before == [node.state for node in self._nodes]:
                self._unblock()

    def _waits_for_fetches(self, ended: int) -> bool:
        """Wait a moment for what is fetched; say whether there is anything to wait for."""
        fetches = self._digests.fetches
        if fetches is None or not fetches.wait(ended, TICK):
            return False
        self._tell_of_fetches()
        return True

    def _tell_of_fetches(self) -> None:
        for message in self._digests.fetches.messages() if self._digests.fetches is not None else ():
            self._report.emit("note", message=message)

    def _unblock(self) -> None:
        """Nothing runs and nothing can start: drop results in memory that only others read."""
        stuck = self._nodes.ready()
        if any(self._make_room(node) for node in stuck):
            return
        for node in stuck:
            free = format_bytes(self._placement.admission.free)
            message = f"it needs {format_bytes(self._need(node).host_bytes)} of host memory; {free} is left"
            hint = "give the run more memory, or keep the results that it reads (keep: true)"
            self._resolver.fail(node, Failure("stage", f"{message} beside results that are not kept", hint))
        for node in self._nodes.in_state(WANTED, WAITING):
            self._resolver.fail(node, Failure("bug", "nothing is left that could make it run"))

    def _make_room(self, node: Node) -> bool:
        """Forget what is held for others, if the node then fits, and start the node."""
        admission = self._placement.admission
        others = [each for each in self._nodes if each.resident_at and each.key not in node.run.upstream]
        freed = sum(admission.of(f"resident {each.key}") for each in others)
        if not others or self._need(node).host_bytes > admission.free + freed:
            return False
        assert self._started is not None
        for other in others:
            self._started.cluster.release(other.resident_at or "", other.ids or ())
            self._mark_released(other)
            other.state = KNOWN
        return self._assign(node, 0)

    def _wait_for_event(self, cluster: Cluster) -> None:
        try:
            event = cluster.events.get(timeout=TICK)
        except queue.Empty:
            event = None
        self._handle(event)
        if not self._interrupted:
            refuse_without(cluster, self._nodes, self._report)
            self._stop_overdue(cluster)
        self._tell_of_fetches()
        self._report.tick()

    def _stop_overdue(self, cluster: Cluster) -> None:
        for node, worker_slots, failure in overdue_runs(self._nodes, cluster, self._report):
            for worker_slot in worker_slots:
                self._forget_slot(worker_slot)
            self._drop(node)
            self._placement.take_away(worker_slots)
            self._resolver.fail(node, failure)
            cluster.replace(sorted(worker_slots))

    def _after_failures(self) -> None:
        if self._stopping or not self._options.fail_fast or not self._report.failures:
            return
        self._stopping = True
        for node in self._nodes:
            if node.state not in ENDED:
                self._drop(node)
                node.state = SKIPPED
                self._report.skipped(node, "stopped")

    def _admit(self) -> None:
        ready = self._nodes.ready()
        if not ready:
            return
        if self._started is None:
            self._start()
        for index, node in enumerate(ready):
            if self._interrupted:
                return
            self._assign(node, len(ready) - index - 1)

    def _assign(self, node: Node, waiting: int) -> bool:
        """Start a node if there is room for it now; `waiting` counts the others that could run."""
        try:
            need = self._need(node)
        except (StageError, OSError) as error:
            hint = error.hint if isinstance(error, StageError) else None
            self._resolver.fail(node, Failure("stage", str(error), hint))
            return False
        problem = self._placement.problem(node, need)
        if problem is not None:
            self._resolver.fail(node, Failure("stage", problem, "use a cluster with more of it"))
            return False
        choice = self._placement.choose(node, need, waiting)
        if choice is None:
            return False
        node.need, node.threads = need, choice.threads
        node.worker_slot, node.rank_group = choice.worker_slot, choice.rank_group
        node.attempt += 1
        node.state = LOCKING
        self._placement.used(choice.worker_slot)
        self._placement.admission.take(node.key, self._placement.host_bytes(node, need))
        self._lock(node)
        return True

    def _need(self, node: Node) -> Need:
        """Return what a run needs, from the true size of its inputs."""
        extents = {
            slot: tuple(self._nodes[ref.run].extents[ref.output] for ref in refs)
            for slot, refs in node.run.inputs.items()
        }
        assert node.parameters is not None
        return stated_need(node.run, node.parameters, extents, self._environment.machine(node.run.stage))

    def _start(self) -> None:
        began = time.monotonic()
        ranks = max((ranks_of(node) for node in self._nodes.in_state(WANTED, WAITING)), default=0)
        self._started = start_cluster(
            self._environment,
            self._report.record.run,
            self._report.record.folder,
            self._cache.root,
            workers=self._options.workers,
            ranks=ranks,
            progress=self._report.progressed,
        )
        cluster = self._started.cluster
        self._placement.set_worker_slots(cluster.worker_slots)
        self._report.record.cluster = cluster.describe()
        self._report.emit("cluster_started", cluster=cluster.describe(), seconds=time.monotonic() - began)
        if cluster.warning is not None:
            self._report.emit("note", message=cluster.warning)

    def _lock(self, node: Node) -> None:
        assert self._started is not None
        assert node.recipe is not None
        self._locks[node.key] = RecipeLock(
            self._cache,
            node.recipe.digest,
            node.key,
            node.attempt,
            self._started.cluster.events,
            lambda: self._report.waits(node),
        )

    def _handle(self, event: object) -> None:
        match event:
            case Began():
                node = self._nodes[event.key]
                if node.state == RUNNING and node.attempt == event.attempt:
                    node.began = time.monotonic()
            case Progress():
                if self._nodes[event.key].state == RUNNING:
                    self._report.progressed(event)
            case Locked():
                node = self._nodes[event.key]
                if node.state == LOCKING and node.attempt == event.attempt:
                    self._submit(node, event)
            case Finished():
                node = self._nodes[event.key]
                if node.state == RUNNING and node.attempt == event.attempt:
                    self._finish(node, event.outcome)
            case Lost():
                self._lost(event.worker_slot)
            case Back():
                self._back(event)

    def _submit(self, node: Node, lock: Locked) -> None:
        assert self._started is not None
        assert node.recipe is not None
        assert node.parameters is not None
        assert node.worker_slot is not None
        if lock.problem is not None:
            self._drop(node)
            self._resolver.fail(node, Failure("disk", f"its recipe cannot be locked: {lock.problem}"))
            return
        if not self._nodes.are_inputs_there(node):
            # An input turned out damaged meanwhile and is computed again.
            self._drop(node)
            node.state = WAITING
            return
        if (
            node.run.keep
            and not node.forced
            and self._resolver.look_up(node, "made by another run meanwhile")
        ):
            self._drop(node)
            self._release_unneeded()
            return
        task = make_task(node, self._nodes, self._environment, self._cache, self._report.record)
        node.state, node.began = RUNNING, None
        self._report.started(node)
        self._inside = self._started.cluster.kind == "inline"
        try:
            self._started.cluster.submit(task, node.attempt, Assignment(node.worker_slot, node.rank_group))
        finally:
            self._inside = False

    def _finish(self, node: Node, outcome: StageOutcome) -> None:
        worker_slot = node.worker_slot
        match outcome.state:
            case "computed":
                problem = self._changed_files(node) or self._remember(node, outcome)
                self._drop(node)
                if problem is not None:
                    self._resolver.fail(node, problem)
                    return
                node.ids, node.extents = outcome.outputs, outcome.extents
                node.state, node.computed, node.forced = DONE, True, False
                if not node.run.keep:
                    node.resident_at = worker_slot
                    self._placement.admission.take(f"resident {node.key}", outcome.bytes)
                self._report.finished(node, outcome)
                self._release_unneeded()
            case "damaged":
                assert outcome.artifact is not None
                self._drop(node)
                reason = outcome.failure.message if outcome.failure else "it cannot be read"
                self._placement.admission.release(f"resident {node.key}")
                self._resolver.repair(outcome.artifact, reason, node, outcome.started)
            case "lost" | "out_of_memory":
                self._lose(node, outcome.failure or Failure("bug", "its worker died"))
            case _:
                self._drop(node)
                self._resolver.fail(node, outcome.failure or Failure("bug", "no reason was given"))

    def _changed_files(self, node: Node) -> Failure | None:
        if self._resolver.reads_what_was_digested(node):
            return None
        assert node.parameters is not None
        names = ", ".join(shown(file.location) for file in node.run.stage.files(node.parameters))
        return Failure("stage", f"{names} changed while it was read", "run again when nothing writes to it")

    def _remember(self, node: Node, outcome: StageOutcome) -> Failure | None:
        if not node.run.keep:
            return None
        assert node.recipe is not None
        made = provenance(
            node,
            outcome,
            run=self._report.record.run,
            workflow=self._plan.workflow.name,
            facts=self._facts,
            hardware=hardware(
                self._environment.backend_of(node.run.stage), devices=self._environment.devices
            ),
        )
        try:
            self._cache.remember(node.recipe, outcome.outputs, made)
        except (OSError, GravelError) as error:
            return Failure("disk", f"its result cannot be recorded: {error}")
        return None

    def _drop(self, node: Node) -> None:
        """Take back what a node that no longer runs has: its lock, worker slots and memory."""
        if node.state == RUNNING and self._started is not None:
            self._started.cluster.cancel(node.key)
        lock = self._locks.pop(node.key, None)
        if lock is not None:
            lock.release()
        self._placement.admission.release(node.key)
        node.worker_slot, node.rank_group = None, ()

    def _release_unneeded(self) -> None:
        for node in self._nodes:
            if node.resident_at is None or self._nodes.is_needed(node):
                continue
            assert self._started is not None
            self._started.cluster.release(node.resident_at, node.ids or ())
            self._mark_released(node)

    def _mark_released(self, node: Node) -> None:
        node.resident_at = None
        self._placement.admission.release(f"resident {node.key}")

    def _lost(self, worker_slot: str) -> None:
        """A worker died: what ran or was kept there is lost, and so is the rank group that it was part of."""
        assert self._started is not None
        self._forget_slot(worker_slot)
        hit = [
            node
            for node in self._nodes.in_state(LOCKING, RUNNING)
            if worker_slot in node.worker_slots or worker_slot in self._holders(node)
        ]
        for node in hit:
            if node.state == LOCKING:
                self._drop(node)
                node.state = WANTED
            else:
                self._lose(node, Failure("bug", "the worker that ran it died"), also={worker_slot})
        if not any(worker_slot in node.replaced for node in self._nodes.in_state(REPLACING)):
            self._placement.take_away([worker_slot])
            self._started.cluster.replace([worker_slot])

    def _holders(self, node: Node) -> set[str]:
        return {
            resident for key in node.run.upstream if (resident := self._nodes[key].resident_at) is not None
        }

    def _forget_slot(self, worker_slot: str) -> None:
        """What was held in a worker's memory is gone; it is made again when something asks for it."""
        for node in self._nodes:
            if node.resident_at == worker_slot:
                self._mark_released(node)
                node.state = KNOWN

    def _lose(self, node: Node, failure: Failure, also: set[str] | None = None) -> None:
        assert self._started is not None
        worker_slots = node.worker_slots | (also or set())
        for worker_slot in worker_slots:
            self._forget_slot(worker_slot)
        self._drop(node)
        node.losses += 1
        self._placement.take_away(worker_slots)
        if node.losses > self._options.retries:
            tail = log_tail(self._report.record.log_path(node.key))
            end = f"; the end of its log:\n{tail}" if tail else ""
            message = f"{failure.message} ({node.losses} attempts){end}"
            self._resolver.fail(node, Failure(failure.kind, message, failure.hint or DIED))
        else:
            node.state, node.replaced = REPLACING, frozenset(worker_slots)
            self._report.retried(node, failure.message)
        self._started.cluster.replace(sorted(worker_slots))

    def _back(self, event: Back) -> None:
        self._placement.give_back(event.worker_slots)
        if event.problem is not None:
            self._placement.drop(event.worker_slots)
            self._report.emit("note", message=f"{', '.join(event.worker_slots)}: {event.problem}")
        for node in self._nodes.in_state(REPLACING):
            node.replaced -= set(event.worker_slots)
            if not node.replaced:
                node.state = WANTED
        if self._placement.empty:
            for node in self._nodes.in_state(WANTED, WAITING):
                message = f"no worker is left: {event.problem}"
                self._resolver.fail(node, Failure("bug", message, "see logs/dask.log of the run"))

    def _close(self) -> None:
        if self._digests.fetches is not None:
            self._tell_of_fetches()
            self._digests.fetches.stop()
        hurry = self._interrupted or self._stopping or bool(self._nodes.in_state(*BUSY))
        for lock in self._locks.values():
            lock.release()
        if self._started is not None:
            for node in self._nodes:
                if node.resident_at is not None and not hurry:
                    self._started.cluster.release(node.resident_at, node.ids or ())
            self._started.close(hurry=hurry)
