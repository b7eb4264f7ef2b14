"""Which stage run goes where, and which results stay in memory: worker slots and bytes.

A rank group's worker slots are taken all at once before any of its ranks is sent, so that two rank groups
never hold half of what the other waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import HOST_MEMORY, Admission, available_bytes, format_bytes
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.scheduler.node import BUSY, RUNNING, Attempt, Node
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.workers.protocol import WorkerSlot, is_elsewhere
from gravel.stages.stage import Need, Parameters

if TYPE_CHECKING:
    from gravel.pipeline.store.folder import Prepared
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.pipeline.workers.protocol import Failure

MIN_BYTES = 8 << 20
"""Results below this are written before their stage ends, which takes some milliseconds; several go to the
disk at once, and a page cache gives them back as fast as another worker's memory would."""


def ranks_of(node: Node) -> int:
    """Return how many workers the node needs at the same time; 0 without a rank group."""
    ranks = node.run.stage.ranks
    return 0 if ranks is None else ranks(_parameters(node))


def _parameters(node: Node) -> Parameters:
    """Return a node's parameters, as they are written until its sources are resolved."""
    return node.parameters if node.parameters is not None else node.run.parameters


class Placement:
    """Hands out worker slots and memory; slots that are `away` will come back."""

    def __init__(self, environment: RunEnvironment, nodes: Nodes) -> None:
        self._environment = environment
        self._nodes = nodes
        self._worker_slots: list[WorkerSlot] = []
        self._hosts: dict[str, str] = {}
        self._admissions: dict[str, Admission] = {}
        self.away: set[str] = set()

    def set_worker_slots(self, worker_slots: Iterable[WorkerSlot]) -> None:
        """Take the worker slots of a cluster that has started."""
        self._worker_slots = list(worker_slots)
        self._hosts = {slot.name: slot.host for slot in self._worker_slots}
        capacity = self._environment.capacity
        for slot in self._worker_slots:
            asked = capacity.source == HOST_MEMORY or not slot.host_bytes
            size = capacity.host_bytes if asked else slot.host_bytes
            self._admissions.setdefault(slot.host, Admission(size))

    def take_away(self, worker_slots: Iterable[str]) -> set[str]:
        """Use these worker slots no more, until `give_back`; returns those that were in use."""
        taken = set(worker_slots) - self.away
        self.away |= taken
        return taken

    def give_back(self, worker_slots: Iterable[str], *, gone: bool) -> None:
        """Use these worker slots again, or forget those that are gone for good."""
        self.away -= set(worker_slots)
        if gone:
            self._worker_slots = [slot for slot in self._worker_slots if slot.name not in worker_slots]

    @property
    def count(self) -> int:
        """How many worker slots there are."""
        return len(self._worker_slots)

    @property
    def has_free(self) -> bool:
        """Whether a worker slot is free."""
        return len(self._taken()) < self.count

    def _taken(self) -> set[str]:
        busy = self._nodes.in_state(*BUSY)
        return {name for node in busy for name in node.attempt.worker_slots} | self.away

    def problem(self, node: Node, need: Need) -> str | None:
        """Say why a node can never be placed here, or None."""
        ranks = self._workers_for(node, need)
        if ranks > self.count:
            kind = "GPUs" if any(slot.device for slot in self._worker_slots) else "workers"
            return f"it needs {ranks} {kind} at the same time, and this cluster has {self.count}"
        if len(self._able(node, need, self._worker_slots)) < ranks:
            largest = max((slot.device_bytes for slot in self._worker_slots), default=0)
            return (
                f"it needs {format_bytes(need.device_bytes)} of memory on {ranks} GPU(s), and "
                f"the largest here has {format_bytes(largest)}"
            )
        return None

    def _able(self, node: Node, need: Need, slots: list[WorkerSlot]) -> list[WorkerSlot]:
        """Return those of the slots whose GPUs can hold a run; all of them for one on the CPU."""
        if self._environment.backend_of(node.run.stage) != "cuda":
            return slots
        most = self._environment.capacity.device_bytes
        return [
            slot
            for slot in slots
            if slot.device is not None
            and need.device_bytes <= min(most or slot.device_bytes, slot.device_bytes)
        ]

    def _workers_for(self, node: Node, need: Need) -> int:
        """An inline cluster runs ranks as threads of the one process."""
        if self._environment.cluster == "inline":
            return 1
        return max(1, ranks_of(node), self._group_size(node, need))

    def _group_size(self, node: Node, need: Need) -> int:
        """Return how many workers the node takes though it could do without, 0 for none.

        These are all that it would use, or, where fewer are of use too, as many as there are and as memory
        has room for.
        """
        least = max(2, need.least_workers or need.workers)
        count = min(need.workers, len(self._able(node, need, self._worker_slots)))
        if need.each_host_bytes:
            room = self._environment.capacity.host_bytes - need.host_bytes
            count = min(count, 1 + max(0, room) // need.each_host_bytes)
        return count if count >= least else 0

    def takes_several(self, node: Node, need: Need) -> bool:
        """Say whether other processes than the stage's own read its inputs, too."""
        group = ranks_of(node) or self._workers_for(node, need) > 1
        return bool(group) and self._environment.cluster != "inline"

    def is_alone(self, node: Node) -> bool:
        """A measurement on the CPU wants all cores; one on a GPU has that GPU by having its slot."""
        stage = node.run.stage
        return stage.is_timed(_parameters(node)) and self._environment.backend_of(stage) == "cpu"

    def choose(
        self, node: Node, need: Need, waiting: int, slots: frozenset[str] | None = None
    ) -> Attempt | None:
        """Return the attempt at a node for which there is room now, or None.

        `waiting` counts the other nodes that could run. `slots` are the worker slots that can read its
        inputs; None for all.
        """
        busy = self._nodes.in_state(*BUSY)
        if any(self.is_alone(other) for other in busy) or (self.is_alone(node) and busy):
            return None
        taken = self._taken()
        free = [
            slot
            for slot in self._able(node, need, self._worker_slots)
            if slot.name not in taken
            and (slots is None or slot.name in slots)
            and self._admissions[slot.host].fits(need.host_bytes)
        ]
        # The slot whose memory has the largest input comes first.
        inputs = {source.resident_at: source.bytes for source in sorted(node.sources, key=lambda e: e.bytes)}
        own = max(free, key=lambda slot: inputs.get(slot.name, -1), default=None)
        ranks = self._workers_for(node, need)
        if own is None or len(free) < ranks:
            return None
        rank_group: tuple[str, ...] = ()
        if ranks_of(node) or ranks > 1:
            others = [slot.name for slot in free if slot is not own]
            rank_group = (own.name, *others[: ranks - 1])
        for host, size in self._bytes_by_host(need, rank_group or (own.name,)).items():
            if not self._admissions[host].fits(size):
                return None
        sharing = 1 if self.is_alone(node) else min(self.count, len(busy) + waiting + 1)
        threads = max(1, (own.cores or self._environment.cores) // max(sharing, ranks))
        return Attempt(node.attempt.number + 1, need, threads, own.name, rank_group)

    def _bytes_by_host(self, need: Need, worker_slots: Sequence[str]) -> dict[str, int]:
        """Count what a run takes of each host's memory; its first slot is its own."""
        found = {self._hosts[worker_slots[0]]: need.host_bytes}
        for name in worker_slots[1:]:
            found[self._hosts[name]] = found.get(self._hosts[name], 0) + need.each_host_bytes
        return found

    def take(self, node: Node) -> None:
        """Hand a node the worker slots and the memory that its attempt names."""
        attempt = node.attempt
        assert attempt.need is not None
        # The slot that was used last is the first to be used again: it has everything loaded.
        self._worker_slots.sort(key=lambda slot: slot.name != attempt.worker_slot)
        slots = attempt.rank_group or (attempt.worker_slot,)
        for host, size in self._bytes_by_host(attempt.need, slots).items():
            self._admissions[host].take(node.key, size)

    def release(self, node: Node) -> None:
        """Take back the memory that a node has while it runs."""
        for admission in self._admissions.values():
            admission.release(node.key)

    def keep_resident(self, node: Node, size: int, worker_slot: str) -> None:
        """Count a result in the memory of a worker slot's host."""
        self._admissions[self._hosts[worker_slot]].keep_resident(node.key, size)

    def release_resident(self, node: Node) -> None:
        """A result is in memory no longer."""
        for admission in self._admissions.values():
            admission.release_resident(node.key)

    def resident_bytes(self, worker_slot: str) -> int:
        """Return the bytes of results in memory on the host of a worker slot."""
        return self._admissions[self._hosts[worker_slot]].resident

    def free_host_bytes(self) -> int:
        """Return the most that is free on one host."""
        return max((each.free for each in self._admissions.values()), default=0)

    def lacks_memory(self, need: Need) -> bool:
        """Say whether a worker slot is free, and memory is what a run waits for."""
        taken = self._taken()
        hosts = {slot.host for slot in self._worker_slots if slot.name not in taken}
        return bool(hosts) and not any(self._admissions[host].fits(need.host_bytes) for host in hosts)

    def would_fit_without(self, others: Iterable[Node], need: Need) -> bool:
        """Say whether a host has room once the results of these nodes are not in its memory."""
        keys = [other.key for other in others]
        return any(
            need.host_bytes <= admission.free + sum(map(admission.resident_of, keys))
            for admission in self._admissions.values()
        )


class Residency:
    """Results in workers' memory; those that are kept on disk, too, the oldest first.

    The worker that made a result has its arrays; every other process reads its files, once they are written.
    `budget` is how many bytes of results one host may have. `unwritten` are those that are being written, and
    the numbers of the attempts that made them; `unrecorded` those that the cache could not take, and why.
    """

    def __init__(self, environment: RunEnvironment) -> None:
        self.budget = environment.resident_bytes
        self.unwritten: dict[Node, int] = {}
        self.unrecorded: dict[Node, Failure] = {}
        self._capacity = environment.capacity.host_bytes
        self._is_local = not is_elsewhere(environment.cluster)
        self._reported = False
        self._kept: dict[Node, None] = {}
        self._files: dict[Node, tuple[Prepared, ...]] = {}
        self._names: dict[str, str] = {}

    def bytes_to_keep(self, node: Node, need: Need) -> int:
        """Return the bytes of a result that is to stay in memory, 0 for one that is written as it is made.

        Ranks write theirs, each its part, so that no worker has it whole.
        """
        size = sum(extent.bytes for extent in need.outputs)
        if not node.run.keep or need.workers > 1 or not MIN_BYTES <= size <= self.budget:
            return 0
        if node.losses or need.host_bytes + size > self._capacity:
            return 0  # if its worker was lost, it may be memory that it lacked
        # Another run, or another program, may have taken what this run counts on.
        return 0 if self._is_local and need.host_bytes + size > available_bytes() else size

    def why_written_first(self, node: Node, need: Need) -> str | None:
        """Say once that a result is larger than the budget, which somebody may have meant otherwise."""
        size = sum(extent.bytes for extent in need.outputs)
        if not node.run.keep or size <= max(self.budget, MIN_BYTES) or not self.budget or self._reported:
            return None
        self._reported = True
        return (
            f"the result of {node.key} ({format_bytes(size)}) is larger than what results may take of memory "
            f"({format_bytes(self.budget)}): it is written as it is made, and read back (--resident-memory)"
        )

    def add(self, node: Node) -> None:
        """Take note of a result that is in memory, and is being written."""
        if node.run.keep:
            self._kept.pop(node, None)
            self._kept[node] = None
        self.unwritten[node] = node.attempt.number

    def readable(self, node: Node, attempt: int, prepared: tuple[Prepared, ...]) -> None:
        """Take note that a result that is being written can be read from its files."""
        if self.unwritten.get(node) == attempt:
            self._files[node] = prepared
            self._names.update(zip((each.record.id for each in prepared), node.ids or (), strict=True))

    def written(self, node: Node, attempt: int) -> bool:
        """Take note that a result was written, or cannot be; says whether it is one that is waited for."""
        if self.unwritten.get(node) != attempt:
            return False
        del self.unwritten[node]
        if node.run.keep:
            self._files.pop(node, None)  # its records are the cache's from now on
        return True

    def forget(self, node: Node) -> bool:
        """A result is in memory no longer; says whether that was the only copy.

        The files of one that is not kept are removed.
        """
        self._kept.pop(node, None)
        for output in self._files.pop(node, ()):
            if not node.run.keep:
                output.drop()
        return self.unwritten.pop(node, None) is not None

    def records(self, node: Node) -> dict[str, ArtifactRecord]:
        """Return the records of a result that lies in files but not in the cache, by its names in the run."""
        files = self._files.get(node, ())
        return {name: each.record for name, each in zip(node.ids or (), files, strict=bool(files))}

    def name_of(self, artifact_id: str) -> str:
        """Return the name in the run of what lies in files under an id: what is not kept has both."""
        return self._names.get(artifact_id, artifact_id)

    def is_readable(self, node: Node) -> bool:
        """Say whether every process can read a result, and not only the worker that has it in memory."""
        if node.resident_at is None or node in self._files:
            return True
        return node.run.keep and node not in self.unwritten and node not in self.unrecorded

    def on_their_way(self) -> list[Node]:
        """Return the results that are being written for the cache."""
        return [node for node in self.unwritten if node.run.keep]

    def first_to_leave(self, reader: Node) -> Node | None:
        """Return the oldest result that can be read back, and that nobody reads now.

        What `reader` reads leaves last.
        """
        able = [
            node
            for node in self._kept
            if node not in self.unwritten and all(each.state != RUNNING for each in node.consumers)
        ]
        others = [node for node in able if node not in reader.sources]
        return next(iter(others or able), None)
