"""Attempts at stage runs: from a worker slot and the recipe's lock to the result that is published."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.hardware import hardware
from gravel.pipeline.plan.sizes import stated_need
from gravel.pipeline.scheduler.committer import Committed, Committer, Result
from gravel.pipeline.scheduler.node import DONE, FAILED, LOCKING, RUNNING, WAITING, WANTED, Node
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.placement import Placement
from gravel.pipeline.scheduler.provenance import provenance
from gravel.pipeline.scheduler.reporting import RunReport
from gravel.pipeline.scheduler.resolving import Resolver
from gravel.pipeline.scheduler.short_runs import ShortRuns
from gravel.pipeline.scheduler.tasks import make_task
from gravel.pipeline.store.recipe_locks import RecipeLocks
from gravel.pipeline.store.records import RecipeRecord
from gravel.pipeline.workers.protocol import Assignment, Cluster
from gravel.pipeline.workers.stage_run import Failure, StageOutcome
from gravel.stages.addresses import shown
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment
    from gravel.pipeline.store.cache import Cache
    from gravel.stages.artifacts import Json
    from gravel.stages.stage import Need


class Attempts:
    """Starts and ends the attempts of one run, on the cluster that it has started."""

    def __init__(
        self,
        plan: Plan,
        nodes: Nodes,
        placement: Placement,
        resolver: Resolver,
        cache: Cache,
        environment: RunEnvironment,
        report: RunReport,
        facts: dict[str, Json],
    ) -> None:
        self._plan = plan
        self._nodes = nodes
        self._placement = placement
        self._resolver = resolver
        self._cache = cache
        self._environment = environment
        self._report = report
        self._facts = facts
        self._locks = RecipeLocks(cache.root, report.record.run)
        self.committer = Committer(cache, self._locks, self._committed)
        self.cluster: Cluster | None = None
        self._short = ShortRuns()
        self.inside = False
        """Whether a stage runs in this thread: only an exception stops it."""

    def _committed(self, committed: Committed) -> None:
        assert self.cluster is not None
        self.cluster.events.put(committed)

    def need(self, node: Node) -> Need:
        """Return what a run needs, from the true size of its inputs."""
        if node.stated is None:
            assert node.parameters is not None
            extents = {
                slot: tuple(self._nodes[ref.run].extents[ref.output] for ref in refs)
                for slot, refs in node.run.inputs.items()
            }
            machine = self._environment.machine(node.run.stage)
            node.stated = stated_need(node.run, node.parameters, extents, machine)
        return node.stated

    def begin(self, node: Node, others: int) -> bool:
        """Start a node if there is room for it now; `others` counts those that could run, too."""
        try:
            need = self.need(node)
        except (StageError, OSError) as error:
            hint = error.hint if isinstance(error, StageError) else None
            self._resolver.fail(node, Failure("stage", str(error), hint))
            return False
        problem = self._placement.problem(node, need)
        if problem is not None:
            self._resolver.fail(node, Failure("stage", problem, "use a cluster with more of it"))
            return False
        choice = self._placement.choose(node, need, others)
        if choice is None or not self._lock(node):
            return False
        together = [node]
        if not choice.rank_group and self._is_short(node, need):
            count = self._short.together(node.run.stage.name, others + 1, self._placement.count) - 1
            ready = self._nodes.ready.others_like(
                lambda other: other.run.stage is node.run.stage and self._is_short(other, need), count
            )
            together += [other for other in ready if self._lock(other)]
        for each in together:
            each.need, each.threads = self.need(each), choice.threads
            each.worker_slot, each.rank_group = choice.worker_slot, choice.rank_group
            each.attempt += 1
        self._placement.take(node, need)
        self._submit(together, Assignment(choice.worker_slot, choice.rank_group))
        return True

    def _is_short(self, node: Node, room: Need) -> bool:
        """Say whether a node may be sent with others for which there is room: one that has failed is not."""
        if node.losses or node.run.time_limit is not None or not node.run.keep:
            return False
        if self._placement.is_alone(node) or any(source.resident_at for source in node.sources):
            return False
        try:
            need = self.need(node)
        except (StageError, OSError):
            return False
        return need.host_bytes <= room.host_bytes and need.device_bytes <= room.device_bytes

    def _lock(self, node: Node) -> bool:
        """Take the lock of a node's recipe; say whether it has to be, and can be, computed now."""
        assert node.recipe is not None
        try:
            taken = self._locks.take(node.recipe.digest)
        except (OSError, GravelError) as error:
            self._resolver.fail(node, Failure("disk", f"its recipe cannot be locked: {error}"))
            return False
        if not taken:
            node.state = LOCKING
            if not self._locks.is_own(node.recipe.digest):
                self._report.waits(node)
            return False
        if not self._nodes.are_inputs_there(node):
            # An input turned out damaged meanwhile and is computed again.
            self._locks.release(node.recipe.digest)
            node.state = WAITING
            return False
        if (
            node.run.keep
            and not node.forced
            and self._resolver.look_up(node, "made by another run meanwhile")
        ):
            self._locks.release(node.recipe.digest)
            self.release_unneeded()
            return False
        return True

    def try_locks(self) -> None:
        """Let the nodes that waited for another run go on whose recipes are free, or known, by now."""
        for node in self._nodes.in_state(LOCKING):
            assert node.recipe is not None
            if self._locks.is_free(node.recipe.digest):
                node.state = WANTED

    def _submit(self, nodes: list[Node], where: Assignment) -> None:
        assert self.cluster is not None
        record = self._report.record
        tasks = []
        for node in nodes:
            tasks.append(make_task(node, self._nodes, self._environment, self._cache, record))
            node.state, node.began = RUNNING, None
            self._report.started(node)
        self.inside = self.cluster.kind == "inline"
        try:
            self.cluster.submit(tasks, where)
        finally:
            self.inside = False

    def began(self, node: Node, attempt: int) -> None:
        """Start the clock of an attempt."""
        if node.state == RUNNING and node.attempt == attempt:
            node.began = time.monotonic()

    def computed(self, node: Node, outcome: StageOutcome) -> None:
        """Take a result; whoever reads it goes on at once, and it is published behind them."""
        problem = self._changed_files(node)
        worker_slot = node.worker_slot
        if problem is not None:
            for output in outcome.prepared:
                output.drop()
            self.drop(node)
            self._resolver.fail(node, problem)
            return
        if node.run.keep:
            assert node.recipe is not None
            made = self._provenance(node, outcome)
            made_now = RecipeRecord(node.recipe.digest, outcome.outputs, made, node.recipe.parts, time.time())
            node.recipe = node.recipe.without_parts
            self.committer.add(Result(node.key, made_now, outcome.prepared))
        self.drop(node, keep_lock=node.run.keep)
        node.ids, node.extents = outcome.outputs, outcome.extents
        node.computed, node.forced = True, False
        if not node.run.keep:
            node.resident_at = worker_slot
            self._placement.keep_resident(node, outcome.bytes)
        node.state = DONE
        if self.cluster is not None and self.cluster.kind != "inline":
            self._short.note(node.run.stage.name, outcome.seconds)
        self._report.finished(node, outcome)
        self.release_unneeded()

    def damaged(self, node: Node, artifact_id: str, reason: str, began: float) -> None:
        """An input cannot be read: it is computed again, then the node."""
        self.drop(node)
        if artifact_id in self._cache.unpublished:
            self.committer.flush()  # what is set aside is a published artifact
        owner = self._nodes.owner(artifact_id, node)
        if owner is not None and owner.resident_at is not None:
            self.forget(owner)
        self._resolver.repair(artifact_id, reason, node, began)

    def _changed_files(self, node: Node) -> Failure | None:
        if self._resolver.reads_what_was_digested(node):
            return None
        assert node.parameters is not None
        names = ", ".join(shown(file.location) for file in node.run.stage.files(node.parameters))
        return Failure("stage", f"{names} changed while it was read", "run again when nothing writes to it")

    def _provenance(self, node: Node, outcome: StageOutcome) -> dict[str, Json]:
        backend = self._environment.backend_of(node.run.stage)
        return provenance(
            node,
            outcome,
            run=self._report.record.run,
            workflow=self._plan.workflow.name,
            facts=self._facts,
            hardware=hardware(backend, devices=self._environment.devices),
        )

    def published(self, node: Node, committed: Committed) -> None:
        """A result is in the cache, or cannot be brought there: then its stage run has failed."""
        if committed.problem is not None and node.state != FAILED:
            message, hint = committed.problem
            failure = Failure("disk", f"its result cannot be recorded: {message}", hint)
            self._resolver.fail(node, failure)

    def drop(self, node: Node, *, keep_lock: bool = False) -> None:
        """Take back what a node that no longer runs has: its lock, worker slots and memory."""
        if node.state == RUNNING and self.cluster is not None:
            self.cluster.cancel(node.key)
        if node.recipe is not None and not keep_lock:
            self._locks.release(node.recipe.digest)
        self._placement.release(node)
        node.worker_slot, node.rank_group = None, ()

    def release_unneeded(self) -> None:
        """Let go of results in memory that nothing in this run reads any more."""
        for node in self._nodes.unneeded():
            self.release(node)

    def release(self, node: Node) -> None:
        """Let go of a result in memory."""
        assert self.cluster is not None
        self.cluster.release(node.resident_at or "", node.ids or ())
        self.forget(node)

    def forget(self, node: Node) -> None:
        """A result is in memory no longer."""
        node.resident_at = None
        self._placement.release_resident(node)

    def close(self) -> None:
        """Publish what was computed and free all locks."""
        self.committer.close()
        self._locks.release_all()
