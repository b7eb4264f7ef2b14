"""What is cached and what has to be computed: recipes as soon as they are fixed, results as they come."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import DamagedArtifact, GravelError, NeedsContent, RequestError
from gravel.pipeline.plan.model import without
from gravel.pipeline.plan.recipes import NeedsResult
from gravel.pipeline.plan.sources import UnknownSource
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
from gravel.pipeline.scheduler.run_events import RunEvents
from gravel.pipeline.workers.protocol import Failure
from gravel.pipeline.workers.results_in_memory import PREFIX
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.pipeline.plan.recipes import RecipeMaker
    from gravel.pipeline.store.cache import Cache

MAX_DAMAGES = 3
"""How often one stage run may meet a damaged input: a disk that damages what it just wrote is no use."""


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
            self._ask_for(self.nodes[need.key], node)
            return
        except NeedsContent:
            self._unfetched.append(node)
            return
        except DamagedArtifact as damage:
            self.repair(damage.artifact_id, damage.reason, node)
            return
        except StageError as error:
            known_before = self.strict and not node.run.is_of(self.nodes.plan.workflow.datasets)
            if isinstance(error, UnknownSource) and known_before:
                location = node.run.location
                raise RequestError(error.message, hint=error.hint, location=location) from None
            failure = Failure("stage", error.message, error.hint, error.file, error.line, error.vertices)
            self.fail(node, failure)
            return
        except RequestError as error:
            if self.strict and not node.run.is_of(self.nodes.plan.workflow.datasets):
                raise
            problem = error.problems[0]
            file, line = (problem.location.file, problem.location.line) if problem.location else (None, None)
            self.fail(node, Failure("stage", str(error), problem.hint, file, line))
            return
        except GravelError as error:
            self.fail(node, Failure("stage", str(error), error.problems[0].hint))
            return
        self._events.identified(node)
        if not node.run.keep:
            digest = node.recipe.digest
            outputs = range(len(node.run.stage.outputs))
            self.nodes.identify(node, tuple(f"{PREFIX}{digest}:{output}" for output in outputs))
            self.nodes.move(node, KNOWN)
            if node.forced or not node.consumers:
                self.nodes.move(node, WANTED)
                self._events.wanted(node, [_forced(node) if node.forced else "its result is not kept"])
        elif node.forced:
            self.nodes.move(node, WANTED)
            self._events.wanted(node, [_forced(node)])
        elif not self.look_up(node, "cached"):
            self.nodes.move(node, WANTED)

    def _ask_for(self, giver: Node, node: Node) -> None:
        """A recipe needs a look into a result that is not kept: have it made, and kept until then."""
        self.nodes.ask(node, giver)
        if giver.state == KNOWN or (giver.state == DONE and giver.resident_at is None):
            self.nodes.move(giver, WANTED)
            self._events.wanted(giver, [f"its ids resolve the sources of {node.key}"])

    def look_up(self, node: Node, why: str) -> bool:
        """Take a node's result from the cache if it is there as a whole; else say why not, once."""
        assert node.recipe is not None
        record = self._cache.look_up(node.recipe.digest)
        if record is None:
            if node.state == WAITING:
                refused = self._cache.acceptance.why_refused(node.recipe.digest)
                self._events.wanted(node, refused or self._events.explain(node))
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
        reader.damages += 1
        if reader.damages > MAX_DAMAGES:
            self.fail(reader, Failure("disk", f"artifact {artifact_id[:12]} is damaged: {reason}"))
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
            self.fail(reader, Failure("disk", f"artifact {artifact_id[:12]} is damaged: {reason}"))
            return
        if not owner.run.keep:
            self._events.damaged(owner, artifact_id, f"its result was lost: {reason}")
        else:
            self._events.damaged(owner, artifact_id, f"artifact {artifact_id[:12]} is damaged: {reason}")
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
        self.nodes.move(owner, WANTED)
        self._events.wanted(owner, [why])

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


def _forced(node: Node) -> str:
    return node.run.because or "forced"
