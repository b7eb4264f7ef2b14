"""One run of a plan: what all of its parts work with, and what of it is cached or has to be computed."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import DamagedArtifact, GravelError, NeedsContent, RequestError
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.model import without
from gravel.pipeline.plan.recipes import NeedsResult, RecipeMaker
from gravel.pipeline.plan.sources import UnknownSource
from gravel.pipeline.scheduler.cluster_start import LoadingHere
from gravel.pipeline.scheduler.node import (
    BUSY,
    DONE,
    ENDED,
    FAILED,
    KNOWN,
    NOT_RUN,
    SKIPPED,
    WAITING,
    WANTED,
    Node,
)
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.scheduler.placement import Placement, Residency
from gravel.pipeline.scheduler.run_events import RunEvents
from gravel.pipeline.store.leases import RecipeLocks
from gravel.pipeline.workers.protocol import Failure
from gravel.pipeline.workers.results_in_memory import PREFIX
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.scheduler.machine import RunEnvironment, RunOptions
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.workers.protocol import Cluster
    from gravel.stages.artifact import Json

MAX_DAMAGES = 3
"""How often one stage run may meet a damaged input: a disk that damages what it just wrote is no use."""


class Run:
    """One run under way.

    `facts` are those of the machine. `cluster` is there once it has started. `interrupted` says that somebody
    wants the run to stop, and `wake` has whoever waits for something notice.
    """

    def __init__(
        self,
        plan: Plan,
        cache: Cache,
        environment: RunEnvironment,
        options: RunOptions,
        events: RunEvents,
        facts: dict[str, Json],
    ) -> None:
        self.plan, self.cache = plan, cache
        self.options, self.events, self.facts = options, events, facts
        self.digests = FileDigests(cache.root, fetch=True, on_new=lambda: self.loading.expect_work())
        self.nodes = Nodes(plan)
        self.use(environment)
        maker = RecipeMaker(plan, cache, self.digests, environment.hardware_of)
        self.resolver = Resolver(self.nodes, maker, cache, events)
        self.locks = RecipeLocks(cache.root, events.record.run)
        self.cluster: Cluster | None = None
        self.interrupted = False
        self.wake: Callable[[], None] = lambda: None

    def use(self, environment: RunEnvironment) -> None:
        """Be carried out in an environment; nothing has started yet."""
        self.environment = environment
        self.loading = LoadingHere(environment, self.plan, self.events.spans)
        self.placement = Placement(environment, self.nodes)
        self.residency = Residency(environment)

    def interrupt(self) -> None:
        """Stop as soon as possible; called from a signal handler."""
        self.interrupted = True
        self.wake()

    def put(self, event: object) -> None:
        """Have the driver handle an event in its turn; called from any thread, once the cluster is there."""
        assert self.cluster is not None
        self.cluster.events.put(event)


class Resolver:
    """Moves nodes from waiting to done, known or wanted. Starts nothing."""

    def __init__(self, nodes: Nodes, maker: RecipeMaker, cache: Cache, events: RunEvents) -> None:
        self.nodes = nodes
        self.maker = maker
        self._cache = cache
        self._events = events
        self.strict = True
        """While nothing has started, a faulty request is raised instead of failing its run only."""
        self._fetched = 0
        self._unfetched: list[Node] = []

    def resolve_ready(self, fetched: int = 0) -> None:
        """Identify every node whose inputs are known by now; `fetched` counts the fetches that have ended."""
        if fetched != self._fetched:
            self._fetched = fetched
            unfetched, self._unfetched = self._unfetched, []
            for node in unfetched:
                self.nodes.identify_again(node)
        for node in self.nodes.to_identify():
            self._identify(node)

    def _identify(self, node: Node) -> None:
        """Fix a node's recipe and look it up."""
        ids = self.nodes.ids
        try:
            node.parameters = self.maker.resolve(node.run, ids)
            node.recipe = self.maker.recipe(node.run, ids)
        except NeedsResult as need:
            # It is in a result that is not kept: have that made, and kept until then.
            giver = self.nodes[need.key]
            self.nodes.ask(node, giver)
            if giver.state == KNOWN or (giver.state == DONE and giver.resident_at is None):
                self._want(giver, [f"its ids resolve the sources of {node.key}"])
            return
        except NeedsContent:
            self._unfetched.append(node)
            return
        except DamagedArtifact as damage:
            self.repair(damage.artifact_id, damage.reason, node)
            return
        except (StageError, GravelError) as error:
            is_fault_of_request = isinstance(error, UnknownSource | RequestError)
            if is_fault_of_request and self.strict and not node.run.is_of(self.nodes.plan.workflow.datasets):
                if isinstance(error, UnknownSource):
                    location = node.run.location
                    raise RequestError(error.message, hint=error.hint, location=location) from None
                raise
            self.fail(node, _failure(error))
            return
        self._events.identified(node)
        forced = [node.run.because or "forced"]
        if not node.run.keep:
            digest = node.recipe.digest
            outputs = range(len(node.run.stage.outputs))
            self.nodes.identify(node, tuple(f"{PREFIX}{digest}:{output}" for output in outputs))
            self.nodes.move(node, KNOWN)
            if node.forced or not node.consumers:
                self._want(node, forced if node.forced else ["its result is not kept"])
        elif node.forced:
            self._want(node, forced)
        elif not self.look_up(node, "cached"):
            self.nodes.move(node, WANTED)

    def _want(self, node: Node, why: Sequence[str]) -> None:
        self.nodes.move(node, WANTED)
        self._events.wanted(node, why)

    def look_up(self, node: Node, why: str) -> bool:
        """Take a node's result from the cache if it is there as a whole; else say why not, once."""
        assert node.recipe is not None
        record = self._cache.look_up(node.recipe.digest)
        if record is None:
            if node.state == WAITING:
                self._events.wanted(node, self._cache.acceptance.why_refused(node.recipe.digest))
            return False
        for name in record.outputs:
            problem = self._cache.check(name)
            if problem is not None and node.state != WAITING:
                return False
            if problem is not None:
                self._events.damaged(node, name, f"artifact {name[:12]} is not whole: {problem}")
                self._cache.quarantine(name, problem)
                self._events.wanted(node, [f"its artifact was damaged: {problem}"])
                return False
        try:
            described = [self._cache.describe(name) for name in record.outputs]
        except DamagedArtifact as damage:
            self._events.damaged(node, damage.artifact_id, str(damage))
            return False
        self.nodes.identify(node, record.outputs)
        node.extents = tuple(artifact.extent for artifact in described)
        self.nodes.move(node, DONE)
        node.recipe = node.recipe.without_parts
        self._events.cached(node, record, described, why)
        return True

    def repair(self, artifact_id: str, reason: str, reader: Node, since: float | None = None) -> None:
        """Set a damaged result aside and have it computed again, then its reader.

        `since` is when the reader began, in seconds since the epoch. Of several readers at once the first
        has the result computed again, and the others wait for it.
        """
        message = f"artifact {artifact_id[:12]} is damaged: {reason}"
        reader.damages += 1
        if reader.damages > MAX_DAMAGES:
            self.fail(reader, Failure("disk", message))
            return
        if self._is_renewed(artifact_id, reader, since):
            self.nodes.move(reader, WAITING)
            return
        owner = self.nodes.owner(artifact_id, reader)
        if owner is None and self._cache.is_here(artifact_id):  # a part that the reader asked for itself
            self._cache.quarantine(artifact_id, reason)
            self.compute_again(reader, f"a part of it was damaged: {reason}")
            return
        if owner is None:
            self.fail(reader, Failure("disk", message))
            return
        if not owner.run.keep:
            self._events.damaged(owner, artifact_id, f"its result was lost: {reason}")
        else:
            self._events.damaged(owner, artifact_id, message)
            self._cache.quarantine(artifact_id, reason)
        self.compute_again(owner, f"its result was damaged: {reason}")
        self.nodes.move(reader, WAITING)
        if owner.run.keep:
            # The reader's recipe is made anew from what comes of it.
            self.nodes.identify(owner, None)

    def compute_again(self, owner: Node, why: str) -> None:
        """Have a result computed again that was there."""
        assert owner.recipe is not None
        try:
            recipe = self.maker.recipe(owner.run, self.nodes.ids)
        except (GravelError, StageError, NeedsContent, NeedsResult):
            recipe = None
        if recipe is None or recipe.digest != owner.recipe.digest:
            self.nodes.move(owner, WAITING)  # what it reads is not what it was
            return
        owner.recipe = recipe
        self._want(owner, [why])

    def _is_renewed(self, artifact_id: str, reader: Node, since: float | None) -> bool:
        """Say whether a damaged input is being computed again, or was since its reader began."""
        if since is None:
            return False
        if any(self.nodes[key].state not in ENDED for key in reader.run.upstream):
            return True
        # Once only: the clocks of two machines may differ, and then the damage has to be believed.
        if reader.damages > 1 or artifact_id.startswith(PREFIX):
            return False
        record = self._cache.find(artifact_id)
        return record is not None and record.created > since and self._cache.check(artifact_id) is None

    def changed_files(self, node: Node) -> list[str]:
        """Return the files of a run that are no longer those that its recipe names."""
        assert node.recipe is not None
        assert node.parameters is not None
        files = [file.location for file in node.run.stage.files(node.parameters)]
        if not files:
            return []
        try:
            recipe = self.maker.recipe(node.run, self.nodes.ids)
        except (GravelError, StageError):
            return files
        if recipe.digest == node.recipe.digest:
            return []
        before = node.recipe.contents
        return [file for file in files if recipe.contents.get(file) != before.get(file)] or files

    def fail(self, node: Node, failure: Failure) -> None:
        """Fail a node and skip everything that rests on it, but for what gathers other data sets too.

        What runs already, on a result that cannot be published, goes on: it has what it reads. If it fails in
        turn it counts as skipped: one cause is reported once.
        """
        cause = next((source for source in node.sources if source.state in (FAILED, SKIPPED)), None)
        if cause is None:
            self.nodes.move(node, FAILED)
            self._events.failed(node, failure, self.nodes.ids)
        else:
            self.nodes.move(node, SKIPPED)
            self._events.skipped(node, cause.key)
        data_sets = self.nodes.plan.workflow.datasets
        axes = [axis for axis in data_sets if axis in node.run.coordinates]
        lost = {node.key}
        reached = {consumer.position: consumer for consumer in node.consumers}
        waiting = list(reached)
        heapq.heapify(waiting)
        while waiting:
            # In the plan's order, so that all that is lost of what a node reads is known.
            other = reached[heapq.heappop(waiting)]
            if other.state in (FAILED, SKIPPED, NOT_RUN, DONE, *BUSY):
                continue
            rest = without(other.run, lost) if axes and not other.run.is_of(axes) else None
            if rest is not None:
                names = ", ".join(f"{axis}={node.run.coordinates[axis]}" for axis in axes)
                self.nodes.rewire(other, rest)
                self._events.left_out(other, names)
                continue
            lost.add(other.key)
            self.nodes.move(other, SKIPPED)
            self._events.skipped(other, node.key)
            for consumer in other.consumers:
                if consumer.position not in reached:
                    reached[consumer.position] = consumer
                    heapq.heappush(waiting, consumer.position)


def _failure(error: StageError | GravelError) -> Failure:
    if isinstance(error, StageError):
        return Failure("stage", error.message, error.hint, error.file, error.line, error.vertices)
    problem = error.problems[0]
    place = problem.location if isinstance(error, RequestError) else None
    file, line = (place.file, place.line) if place is not None else (None, None)
    return Failure("stage", str(error), problem.hint, file, line)
