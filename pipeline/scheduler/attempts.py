"""Attempts at stage runs: from a worker slot and the recipe's lock to the task that is sent."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.plan.sizes import stated_need
from gravel.pipeline.scheduler.node import LOCKING, RUNNING, WAITING, WANTED, Node
from gravel.pipeline.scheduler.placement import Assignable, ranks_of
from gravel.pipeline.workers.failure import Failure
from gravel.pipeline.workers.protocol import Assignment
from gravel.pipeline.workers.stage_task import StageTask
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.pipeline.scheduler.run_state import RunState
    from gravel.stages.stage import Need


TOGETHER = 0.1
"""Seconds that stage runs which are sent together may take: nothing is heard of them meanwhile."""

MAX_TOGETHER = 16
"""Runs that are sent together at most; by then sending them takes less than the least of them."""

SEEN = 3
"""Runs of a stage that must have ended before others count as short."""


class Attempts:
    """Starts the attempts of one run, and takes back what they have when they end."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._nodes = state.nodes
        self._placement = state.placement
        self.short = ShortRuns()
        self.inside = False
        """Whether a stage runs in this thread: only an exception stops it."""

    def need(self, node: Node) -> Need:
        """Return what a run needs, from the true size of its inputs."""
        if node.stated is None:
            assert node.parameters is not None
            extents = {
                slot: tuple(self._nodes[ref.run].extents[ref.output] for ref in refs)
                for slot, refs in node.run.inputs.items()
            }
            machine = self._state.environment.machine(node.run.stage)
            node.stated = stated_need(node.run, node.parameters, extents, machine)
        return node.stated

    def begin(self, node: Node, others: int) -> bool:
        """Start a node if there is room for it now; `others` counts those that could run, too."""
        resolver = self._state.resolver
        try:
            need = self.need(node)
        except (StageError, OSError) as error:
            hint = error.hint if isinstance(error, StageError) else None
            resolver.fail(node, Failure("stage", str(error), hint))
            return False
        problem = self._placement.problem(node, need)
        if problem is not None:
            resolver.fail(node, Failure("stage", problem, "use a cluster with more of it"))
            return False
        room, kept = self._room(node, need, others)
        if room is None or not self._lock(node):
            return False
        together = [node]
        if not room.rank_group and not kept and self._is_short(node, need):
            count = self.short.together(node.run.stage.name, others + 1, self._placement.count) - 1
            ready = self._nodes.ready.others_like(
                lambda other: other.run.stage is node.run.stage and self._is_short(other, need), count
            )
            together += [other for other in ready if self._lock(other)]
        for each in together:
            each.need, each.threads = self.need(each), room.threads
            each.worker_slot, each.rank_group = room.worker_slot, room.rank_group
            each.in_memory = each.on_device = False
            each.attempt += 1
        if kept:
            node.need = need = self.with_result(node, need, kept)
        self._placement.take(node, need)
        self.submit(together, Assignment(room.worker_slot, room.rank_group))
        return True

    def _room(self, node: Node, need: Need, others: int) -> tuple[Assignable | None, int]:
        """Find a worker slot and memory for a node, and the bytes of its result that may stay in memory.

        Where memory is short, results that can be read back leave it, the oldest first.
        """
        kept = self._state.residency.bytes_to_keep(node, need)
        if kept:
            larger = replace(need, host_bytes=need.host_bytes + kept)
            while True:
                room = self._choose(node, larger, others)
                if room is None:
                    break
                if self._placement.resident_bytes(room.worker_slot) + kept <= self._state.residency.budget:
                    return room, kept
                if not self._evict(node):
                    break
        room = self._choose(node, need, others)
        note = None if kept or room is None else self._state.residency.why_written_first(node, need)
        if note is not None:
            self._state.report.emit("note", message=note)
        return room, 0

    def with_result(self, node: Node, need: Need, kept: int) -> Need:
        """Have the result of a node stay in memory, and on the GPU that makes it where there is room."""
        environment = self._state.environment
        node.in_memory = True
        node.on_device = (
            environment.backend_of(node.run.stage) == "cuda"
            and need.device_bytes + kept <= environment.capacity.device_bytes
        )
        device = need.device_bytes + kept if node.on_device else need.device_bytes
        return replace(need, host_bytes=need.host_bytes + kept, device_bytes=device)

    def _choose(self, node: Node, need: Need, others: int) -> Assignable | None:
        while (room := self._placement.choose(node, need, others)) is None:
            if not self._placement.lacks_memory(need) or not self._evict(node):
                return None
        if self._placement.is_alone(node) and self._state.residency.writes_beside(room.worker_slot):
            return None  # what others write would take cores from a measurement
        return room

    def _evict(self, reader: Node) -> bool:
        node = self._state.residency.first_to_leave(reader)
        if node is not None:
            self.release(node)
        return node is not None

    def _is_short(self, node: Node, room: Need) -> bool:
        """Say whether a node may be sent with others for which there is room.

        One that has failed is not, nor one that needs several workers.
        """
        if node.losses or node.run.time_limit is not None or not node.run.keep or ranks_of(node):
            return False
        if self._placement.is_alone(node) or any(source.resident_at for source in node.sources):
            return False
        try:
            need = self.need(node)
        except (StageError, OSError):
            return False
        if self._state.residency.bytes_to_keep(node, need):
            return False
        return need.host_bytes <= room.host_bytes and need.device_bytes <= room.device_bytes

    def _lock(self, node: Node) -> bool:
        """Take the lock of a node's recipe; say whether it has to be, and can be, computed now."""
        assert node.recipe is not None
        locks, resolver = self._state.locks, self._state.resolver
        try:
            taken = locks.take(node.recipe.digest)
        except (OSError, GravelError) as error:
            resolver.fail(node, Failure("disk", f"its recipe cannot be locked: {error}"))
            return False
        if not taken:
            node.state = LOCKING
            who = None if locks.is_own(node.recipe.digest) else locks.holder(node.recipe.digest)
            if who is not None:
                self._state.report.waits(node, who)
            return False
        if not self._nodes.are_inputs_there(node):
            # An input turned out damaged meanwhile and is computed again.
            locks.release(node.recipe.digest)
            node.state = WAITING
            return False
        if node.run.keep and not node.forced and resolver.look_up(node, "made by another run meanwhile"):
            locks.release(node.recipe.digest)
            self.release_unneeded()
            return False
        return True

    def try_locks(self) -> None:
        """Let the nodes that waited for another run go on whose recipes are free, or known, by now."""
        for node in self._nodes.in_state(LOCKING):
            assert node.recipe is not None
            if self._state.locks.is_free(node.recipe.digest):
                node.state = WANTED

    def submit(self, nodes: list[Node], where: Assignment) -> None:
        """Send stage runs."""
        state = self._state
        assert state.cluster is not None
        tasks = []
        for node in nodes:
            tasks.append(_task(node, state))
            node.state, node.began = RUNNING, None
            state.report.started(node)
        self.inside = state.cluster.kind == "inline"
        try:
            state.cluster.submit(tasks, where)
        finally:
            self.inside = False

    def began(self, node: Node, attempt: int) -> None:
        """Start the clock of an attempt."""
        if node.state == RUNNING and node.attempt == attempt:
            node.began = time.monotonic()

    def drop(self, node: Node, *, keep_lock: bool = False) -> None:
        """Take back what a node that no longer runs has: its lock, worker slots and memory."""
        if node.state == RUNNING and self._state.cluster is not None:
            self._state.cluster.cancel(node.key)
        if node.recipe is not None and not keep_lock:
            self._state.locks.release(node.recipe.digest)
        self._placement.release(node)
        node.worker_slot, node.rank_group = None, ()

    def release_unneeded(self) -> None:
        """Let go of results in memory that nothing in this run reads any more."""
        for node in self._nodes.unneeded():
            if not self._state.residency.is_unwritten(node):
                self.release(node)

    def release(self, node: Node) -> None:
        """Let go of a result in memory."""
        assert self._state.cluster is not None
        for worker_slot in {node.resident_at or "", *node.copies}:
            self._state.cluster.release(worker_slot, node.ids or ())
        self.forget(node)

    def forget(self, node: Node) -> bool:
        """A result is in memory no longer; says whether the cache lacks it, and was to have it."""
        node.resident_at, node.copies = None, frozenset()
        self._placement.release_resident(node)
        return self._state.residency.forget(node)


class ShortRuns:
    """How long the runs of each stage take, and so which are sent to a worker together.

    Sending a task to a worker of Dask's and hearing of its end takes 5 to 10 ms. Runs of a stage that take
    less are sent several at a time, one after the other in the same slot, as long as every slot gets some.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._longest: dict[str, float] = {}

    def note(self, stage: str, seconds: float) -> None:
        """Take note of a run that has ended; what was seen long ago counts less and less."""
        self._seen[stage] = self._seen.get(stage, 0) + 1
        self._longest[stage] = max(seconds, 0.9 * self._longest.get(stage, 0.0))

    def together(self, stage: str, ready: int, worker_slots: int) -> int:
        """Return how many runs of a stage to send at a time when so many are ready for so many slots."""
        if self._seen.get(stage, 0) < SEEN:
            return 1
        fitting = int(TOGETHER / max(self._longest[stage], 1e-6))
        return max(1, min(MAX_TOGETHER, fitting, ready // max(1, worker_slots)))


def _task(node: Node, state: RunState) -> StageTask:
    """Return the task of a node that has its recipe, its parameters and its worker slots."""
    nodes, cache, record = state.nodes, state.cache, state.report.record
    assert node.recipe is not None
    assert node.parameters is not None
    ids = {key: nodes.ids[key] for key in node.run.upstream}
    slots = {key: (slot, *sorted(nodes[key].copies)) for key in ids if (slot := nodes[key].resident_at)}
    recipe = node.recipe.digest
    inputs = {slot: tuple(ids[ref.run][ref.output] for ref in refs) for slot, refs in node.run.inputs.items()}
    return StageTask(
        key=node.key,
        attempt=node.attempt,
        run=record.run,
        stage=node.run.stage,
        parameters=node.parameters,
        inputs=inputs,
        records={
            name: found
            for ids in inputs.values()
            for name in ids
            if (found := cache.unpublished.get(name)) is not None
        },
        host=socket.gethostname(),
        recipe=recipe,
        cache=cache,
        machine=state.environment.machine(node.run.stage, node.threads),
        keep=node.run.keep,
        scratch=cache.root / "scratch" / record.run / f"{recipe[:16]}-{node.attempt}",
        log=record.log_path(node.key),
        resident={
            name: slots[ref.run]
            for slot, refs in node.run.inputs.items()
            for name, ref in zip(inputs[slot], refs, strict=True)
            if ref.run in slots
        },
        in_memory=node.in_memory,
        on_device=node.on_device,
        profile=state.profile,
        device_bytes=node.need.device_bytes if node.need is not None else 0,
        time_limit=node.run.time_limit,
        contents=_digests(node.recipe),
    )


def _digests(recipe: Recipe) -> dict[str, str]:
    return {name: content.split(" ")[0] for name, content in recipe.contents.items()}
