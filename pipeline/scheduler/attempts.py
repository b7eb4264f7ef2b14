"""Attempts at stage runs: from a worker slot and the recipe's lock to the task that is sent."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.plan.status import stated_need
from gravel.pipeline.scheduler.node import KNOWN, LOCKING, RUNNING, WAITING, WANTED, Attempt, Node
from gravel.pipeline.scheduler.placement import ranks_of
from gravel.pipeline.store.folder import scratch_path
from gravel.pipeline.workers.protocol import Assignment, Failure, StageTask
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.pipeline.scheduler.run import Run
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.stage import Need

TOGETHER = 0.1
"""Seconds that stage runs which are sent together may take: nothing is heard of them meanwhile."""

MAX_TOGETHER = 16
"""Runs that are sent together at most; by then sending them takes less than the least of them."""

SEEN = 3
"""Runs of a stage that must have ended before others count as short."""


class Attempts:
    """Starts the attempts of one run, and takes back what they have when they end.

    `inside` says that a stage runs in this thread, where only an exception stops it.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nodes = run.nodes
        self._placement = run.placement
        self._ended: dict[str, tuple[int, float]] = {}
        self.inside = False

    def need(self, node: Node) -> Need:
        """Return what a run needs, from the true size of its inputs."""
        if node.stated is None:
            assert node.parameters is not None
            extents = {
                slot: tuple(self._nodes[ref.run].extents[ref.output] for ref in refs)
                for slot, refs in node.run.inputs.items()
            }
            machine = self._run.environment.machine(node.run.stage)
            node.stated = stated_need(node.run, node.parameters, extents, machine)
        return node.stated

    def begin(self, node: Node, others: int) -> bool:
        """Start a node if there is room for it now; `others` counts those that could run, too."""
        resolver = self._run.resolver
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
        attempt = self._room(node, need, others)
        if attempt is None or not self._lock(node):
            return False
        node.attempt = attempt
        together = [node]
        if not attempt.rank_group and not attempt.in_memory and self._is_short(node, need):
            count = self._count_together(node.run.stage.name, others + 1) - 1
            ready = self._nodes.ready.others_like(
                lambda other: other.run.stage is node.run.stage and self._is_short(other, need), count
            )
            for other in filter(self._lock, ready):
                number = other.attempt.number + 1
                other.attempt = replace(attempt, number=number, need=self.need(other))
                together.append(other)
        self._placement.take(node)
        self._submit(together)
        return True

    def _room(self, node: Node, need: Need, others: int) -> Attempt | None:
        """Find a worker slot and memory for a node, and, if it may, for its result to stay in memory.

        Where memory is short, results that can be read back leave it, the oldest first.
        """
        slots, residency, environment = self._slots(node, need), self._run.residency, self._run.environment
        if slots == frozenset():
            return None
        kept = residency.bytes_to_keep(node, need)
        if kept:
            larger = replace(need, host_bytes=need.host_bytes + kept)
            while (attempt := self._choose(node, larger, others, slots)) is not None:
                if self._placement.resident_bytes(attempt.worker_slot) + kept <= residency.budget:
                    device = need.device_bytes + kept
                    attempt.in_memory = True
                    if environment.backend_of(node.run.stage) == "cuda":
                        attempt.on_device = device <= environment.capacity.device_bytes
                    if attempt.on_device:
                        attempt.need = replace(larger, device_bytes=device)
                    return attempt
                if not self._evict(node):
                    break
        attempt = self._choose(node, need, others, slots)
        if not kept and attempt is not None and (note := residency.why_written_first(node, need)) is not None:
            self._run.events.emit("note", message=note)
        return attempt

    def _slots(self, node: Node, need: Need) -> frozenset[str] | None:
        """Return the worker slots whose processes can read all inputs of a node; None for every slot.

        Where that is none, inputs are on their way to files.
        """
        apart = [source for source in node.sources if not self._run.residency.is_readable(source)]
        if not apart:
            return None
        largest = max(apart, key=lambda source: source.bytes)
        own = None if self._placement.takes_several(node, need) else largest.resident_at
        elsewhere = [source for source in apart if source.resident_at != own]
        for source in elsewhere:
            self.write_out(source)
        return frozenset() if elsewhere or own is None else frozenset({own})

    def write_out(self, node: Node) -> None:
        """Have a result that only a worker's memory has written to files, for other processes to read."""
        run = self._run
        if node in run.residency.unwritten:
            return
        if (failure := run.residency.unrecorded.get(node)) is not None:
            run.resolver.fail(node, failure)
            return
        assert run.cluster is not None
        assert node.resident_at is not None
        run.residency.add(node)
        run.cluster.write_out(node.resident_at, _task(node, run), node.ids or ())

    def _choose(self, node: Node, need: Need, others: int, slots: frozenset[str] | None) -> Attempt | None:
        while (attempt := self._placement.choose(node, need, others, slots)) is None:
            if not self._placement.lacks_memory(need) or not self._evict(node):
                return None
        if self._placement.is_alone(node) and any(
            other.resident_at != attempt.worker_slot for other in self._run.residency.unwritten
        ):
            return None  # what others write would take cores from a measurement
        return attempt

    def _evict(self, reader: Node) -> bool:
        node = self._run.residency.first_to_leave(reader)
        if node is not None:
            self.release(node)
        return node is not None

    def note_end(self, stage: str, seconds: float) -> None:
        """Take note of how long a run of a stage took; what was seen long ago counts less and less."""
        count, longest = self._ended.get(stage, (0, 0.0))
        self._ended[stage] = (count + 1, max(seconds, 0.9 * longest))

    def _count_together(self, stage: str, ready: int) -> int:
        """Return how many runs of a stage to send at a time when so many are ready.

        Sending a task to a worker of Dask's and hearing of its end takes 5 to 10 ms. Runs of a stage that
        take less are sent several at a time, one after the other in the same slot, as long as every slot gets
        some.
        """
        count, longest = self._ended.get(stage, (0, 0.0))
        if count < SEEN:
            return 1
        fitting = int(TOGETHER / max(longest, 1e-6))
        return max(1, min(MAX_TOGETHER, fitting, ready // max(1, self._placement.count)))

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
        if self._run.residency.bytes_to_keep(node, need):
            return False
        return need.host_bytes <= room.host_bytes and need.device_bytes <= room.device_bytes

    def _lock(self, node: Node) -> bool:
        """Take the lock of a node's recipe; say whether it has to be, and can be, computed now."""
        assert node.recipe is not None
        locks, resolver, digest = self._run.locks, self._run.resolver, node.recipe.digest
        try:
            taken = locks.take(digest)
        except (OSError, GravelError) as error:
            resolver.fail(node, Failure("disk", f"its recipe cannot be locked: {error}"))
            return False
        if not taken:
            self._nodes.move(node, LOCKING)
            if not locks.is_own(digest) and (who := locks.holder(digest)) is not None:
                self._run.events.waits(node, who)
            return False
        if not self._nodes.are_inputs_there(node):
            # An input turned out damaged meanwhile and is computed again.
            locks.release(digest)
            self._nodes.move(node, WAITING)
            return False
        if node.run.keep and not node.forced and resolver.look_up(node, "made by another run meanwhile"):
            locks.release(digest)
            self.release_unneeded()
            return False
        return True

    def _submit(self, nodes: list[Node]) -> None:
        """Send stage runs, one after the other in the same worker slot."""
        run, attempt = self._run, nodes[0].attempt
        assert run.cluster is not None
        tasks = []
        for node in nodes:
            tasks.append(_task(node, run))
            self._nodes.move(node, RUNNING)
            run.events.started(node)
        self.inside = run.cluster.kind == "inline"
        try:
            run.cluster.submit(tasks, Assignment(attempt.worker_slot, attempt.rank_group))
        finally:
            self.inside = False

    def try_locks(self) -> None:
        """Let the nodes that waited for another run go on whose recipes are free, or known, by now."""
        for node in self._nodes.in_state(LOCKING):
            assert node.recipe is not None
            if self._run.locks.is_free(node.recipe.digest):
                self._nodes.move(node, WANTED)

    def unblock(self) -> None:
        """Nothing runs and nothing can start: drop results in memory that only others read."""
        stuck = self._nodes.ready.nodes()
        if any(self._make_room(node) for node in stuck):
            return
        resolver = self._run.resolver
        for node in stuck:
            free = format_bytes(self._placement.free_host_bytes())
            needed = format_bytes(self.need(node).host_bytes)
            message = f"it needs {needed} of host memory; {free} is left beside results that are not kept"
            hint = "give the run more memory, or keep the results that it reads (keep: true)"
            resolver.fail(node, Failure("stage", message, hint))
        for node in self._nodes.in_state(WANTED, WAITING):
            resolver.fail(node, Failure("bug", "nothing is left that could make it run"))

    def _make_room(self, node: Node) -> bool:
        """Forget what is in memory for others, if the node then fits, and start the node."""
        others = [each for each in self._nodes.in_memory() if not each.run.keep and each not in node.sources]
        if not others or not self._placement.would_fit_without(others, self.need(node)):
            return False
        for other in others:
            self.release(other)
            self._nodes.move(other, KNOWN)
        return self.begin(node, 0)

    def drop(self, node: Node, *, keep_lock: bool = False) -> None:
        """Take back what a node that no longer runs has: its lock, worker slots and memory."""
        if node.state == RUNNING and self._run.cluster is not None:
            self._run.cluster.cancel(node.key)
        if node.recipe is not None and not keep_lock:
            self._run.locks.release(node.recipe.digest)
        self._placement.release(node)
        node.attempt.worker_slot, node.attempt.rank_group = "", ()

    def release_unneeded(self) -> None:
        """Let go of results in memory that nothing in this run reads any more."""
        for node in self._nodes.unneeded():
            if node not in self._run.residency.unwritten:
                self.release(node)

    def release(self, node: Node) -> None:
        """Let go of a result in memory."""
        assert self._run.cluster is not None
        self._run.cluster.release(node.resident_at or "", node.ids or ())
        self.forget(node)

    def forget(self, node: Node) -> bool:
        """A result is in memory no longer; says whether the cache lacks it, and was to have it."""
        self._nodes.set_resident(node, None)
        self._placement.release_resident(node)
        return self._run.residency.forget(node)


def _task(node: Node, run: Run) -> StageTask:
    """Return the task of a node that has its recipe, its parameters and its worker slots."""
    cache, record, attempt = run.cache, run.events.record, node.attempt
    assert node.recipe is not None
    assert node.parameters is not None
    recipe, inputs = node.recipe.digest, run.nodes.input_ids(node)
    records: dict[str, ArtifactRecord] = {}
    for source in node.sources:
        records |= run.residency.records(source)
    return StageTask(
        key=node.key,
        attempt=attempt.number,
        run=record.run,
        stage=node.run.stage,
        parameters=node.parameters,
        inputs=inputs,
        records={
            name: found
            for ids in inputs.values()
            for name in ids
            if (found := records.get(name) or cache.unpublished.get(name)) is not None
        },
        host=socket.gethostname(),
        recipe=recipe,
        cache=cache,
        machine=run.environment.machine(node.run.stage, attempt.threads),
        keep=node.run.keep,
        scratch=cache.root / scratch_path(record.run, f"{recipe[:16]}-{attempt.number}"),
        log=record.log_path(node.key),
        in_memory=attempt.in_memory,
        on_device=attempt.on_device,
        profile=run.options.profile,
        device_bytes=attempt.need.device_bytes if attempt.need is not None else 0,
        store=run.cluster.store if run.cluster is not None else None,
        time_limit=node.run.time_limit,
        contents={name: content.split(" ")[0] for name, content in node.recipe.contents.items()},
    )
