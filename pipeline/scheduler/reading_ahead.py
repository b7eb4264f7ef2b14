"""A stage run that begins when its input's arrays exist, before the input's ids are known.

It runs without a recipe, in the worker slot that made the input, while the input is digested there. Once the
ids are known the recipe is made, and looked up; a result is only ever recorded under that. If the cache has
it, that one is used; if the input has failed, or was lost, what was made of it is dropped.

A stage run that this workflow has computed before waits: its input may come out as it did then, and then
nothing has to run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.scheduler.early_starts import may_begin_early
from gravel.pipeline.scheduler.node import DONE, FAILED, SKIPPED, WAITING, Attempt
from gravel.pipeline.workers.failure import Failure
from gravel.pipeline.workers.protocol import Assignment
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.attempts import Attempts
    from gravel.pipeline.scheduler.node import Node
    from gravel.pipeline.scheduler.run import Run
    from gravel.pipeline.workers.protocol import Finished, Made
    from gravel.pipeline.workers.stage_task import StageOutcome

GOES_ON = "goes on"  # it has a recipe, which is not in the cache
FOUND = "found"  # the cache has its result
IN_VAIN = "in vain"  # what it reads is not what its recipe would name


@dataclass
class _Ahead:
    """An attempt that began early, what it reads, what became of that, and its end if that came first."""

    node: Node
    attempt: int
    source: Node
    made: Made
    verdict: str | None = None
    finished: Finished | None = None


class ReadingAhead:
    """Starts such stage runs, and decides what comes of them when the ids are known."""

    def __init__(self, run: Run, attempts: Attempts) -> None:
        self._run = run
        self._attempts = attempts
        self._ahead: dict[str, _Ahead] = {}

    def made(self, made: Made) -> None:
        """A result can be read: start what reads it, if nothing else is missing and there is room."""
        source = self._run.nodes[made.key]
        if source.is_running(made.attempt):
            for node in source.consumers:
                # No other input is missing, neither its ids nor its arrays.
                is_last = node.unknown == node.undone == 1 and not self._run.nodes.asks(node)
                if may_begin_early(node) and is_last and self._begin(node, source, made):
                    return
        self._let_go(made)

    def _begin(self, node: Node, source: Node, made: Made) -> bool:
        attempts, placement = self._attempts, self._run.placement
        if self._run.events.ran_before(node) or not placement.is_alone_in(source):
            return False
        axes = self._run.plan.workflow.datasets
        if axes and not node.run.is_of(axes):
            return False  # it goes on without data sets that fail, its input's maybe
        source.extents, node.parameters, node.stated = made.extents, node.run.parameters, None
        try:
            need = attempts.need(node)
        except (StageError, OSError):
            return False  # it is reported when it is the node's turn
        kept = self._run.residency.bytes_to_keep(node, need)
        before = node.attempt
        node.attempt = attempt = Attempt(before.number + 1, need, source.attempt.threads, made.worker_slot)
        if kept:
            attempts.keep_result(node, kept)
        in_memory = (
            placement.resident_bytes(made.worker_slot) + sum(each.bytes for each in made.extents) + kept
        )
        if (
            need.gang
            or (kept and in_memory > self._run.residency.budget)
            or not placement.fits_beside(made.worker_slot, attempt.need or need)
        ):
            node.attempt = before
            return False
        node.recipe = None
        source.attempt.read_ahead = True
        placement.take(node)
        self._ahead[node.key] = _Ahead(node, attempt.number, source, made)
        attempts.submit([node], Assignment(made.worker_slot), made)
        return True

    def takes(self, finished: Finished) -> bool:
        """Keep the end of a stage run that it is too early for, or that is not what it seems."""
        ahead = self._ahead.get(finished.key)
        if ahead is None or ahead.attempt != finished.attempt:
            return False
        if ahead.verdict == GOES_ON:
            if finished.outcome.artifact not in ahead.made.names:
                return False
            ahead.verdict = IN_VAIN  # nobody else knows what it reads by that name
        ahead.finished = finished
        return True

    def resolve(self, finish: Callable[[Node, StageOutcome], None]) -> None:
        """Decide what can be decided by now; `finish` handles the ends of stage runs that count."""
        for ahead in list(self._ahead.values()):
            node, finished = ahead.node, ahead.finished
            if not node.is_running(ahead.attempt):
                self._forget(ahead)
                continue
            ahead.verdict = ahead.verdict or self._now(ahead)
            if finished is None or ahead.verdict is None:
                continue
            if ahead.verdict == GOES_ON:
                finish(node, finished.outcome)
            else:
                self._drop(ahead, finished)
            self._forget(ahead)

    def _now(self, ahead: _Ahead) -> str | None:
        source, node = ahead.source, ahead.node
        if source.is_running(ahead.made.attempt):
            return None
        is_current = source.attempt.number == ahead.made.attempt
        is_the_same = is_current and source.state == DONE and source.computed
        if not is_the_same or node.undone or not self._run.resolver.identify_late(node):
            return IN_VAIN
        return self._looked_up(node)

    def _looked_up(self, node: Node) -> str:
        """Take the recipe's lock, as before any other stage run, and look it up."""
        assert node.recipe is not None
        locks, recipe = self._run.locks, node.recipe
        taken = False
        with suppress(OSError, GravelError):
            taken = locks.take(recipe.digest)
        if self._run.cache.look_up(recipe.digest) is not None:
            if taken:
                locks.release(recipe.digest)
            node.recipe = None
            self._run.events.emit("note", message=f"{node.key}: its result was found while it ran")
            return FOUND
        if not taken:
            node.recipe = None
            return IN_VAIN  # another run computes it, or another stage run of this one
        self._run.events.identified_late(node)
        return GOES_ON

    def _drop(self, ahead: _Ahead, finished: Finished) -> None:
        """Give up what came of an attempt. The node is resolved anew; it fails with what it reads."""
        node, outcome = ahead.node, finished.outcome
        for output in outcome.prepared:
            output.drop()
        worker_slot = node.attempt.worker_slot
        self._attempts.drop(node)
        if outcome.behind and self._run.cluster is not None:
            self._run.cluster.release(worker_slot or "", outcome.outputs)
        if any(source.state in (FAILED, SKIPPED) for source in node.sources):
            self._run.resolver.fail(node, Failure("stage", "what it reads has failed"))
        else:
            self._run.nodes.move(node, WAITING)

    def _forget(self, ahead: _Ahead) -> None:
        del self._ahead[ahead.node.key]
        self._let_go(ahead.made)

    def _let_go(self, made: Made) -> None:
        assert self._run.cluster is not None
        self._run.cluster.release(made.worker_slot, made.names)
