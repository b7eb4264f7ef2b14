"""Which ready stage run goes where: memory, GPUs, rank groups, and measurements that must be alone.

A rank group's worker slots are taken all at once before any of its ranks is sent, so that two rank groups
never hold half of what the other waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gravel.pipeline.core.memory import HOST_MEMORY, Admission, format_bytes
from gravel.pipeline.scheduler.machine import RunEnvironment
from gravel.pipeline.scheduler.node import BUSY, Node
from gravel.pipeline.scheduler.nodes import Nodes
from gravel.pipeline.workers.protocol import WorkerSlot
from gravel.stages.stage import Need, Parameters


@dataclass(frozen=True)
class Assignable:
    """A node that can start now: its own slot, its rank group's, and the threads of its kernels."""

    worker_slot: str
    rank_group: tuple[str, ...]
    threads: int


def ranks_of(node: Node) -> int:
    """Return how many workers the node needs at the same time; 0 without a rank group."""
    ranks = node.run.stage.ranks
    return 0 if ranks is None else ranks(_parameters(node))


def _parameters(node: Node) -> Parameters:
    """Return a node's parameters, as they are written until its sources are resolved."""
    return node.parameters if node.parameters is not None else node.run.parameters


class Placement:
    """Hands out worker slots and memory."""

    def __init__(self, environment: RunEnvironment, nodes: Nodes) -> None:
        self._environment = environment
        self._nodes = nodes
        self._worker_slots: list[WorkerSlot] = []
        self._hosts: dict[str, str] = {}
        self._admissions: dict[str, Admission] = {}
        self._away: set[str] = set()

    def set_worker_slots(self, worker_slots: Iterable[WorkerSlot]) -> None:
        """Take the worker slots of a cluster that has started."""
        self._worker_slots = list(worker_slots)
        self._hosts = {worker_slot.name: worker_slot.host for worker_slot in self._worker_slots}
        for worker_slot in self._worker_slots:
            capacity = self._environment.capacity
            asked = capacity.source == HOST_MEMORY or not worker_slot.host_bytes
            size = capacity.host_bytes if asked else worker_slot.host_bytes
            self._admissions.setdefault(worker_slot.host, Admission(size))

    def take_away(self, worker_slots: Iterable[str]) -> set[str]:
        """Use these worker slots no more, until `give_back`; returns those that were in use."""
        taken = set(worker_slots) - self._away
        self._away |= taken
        return taken

    def give_back(self, worker_slots: Iterable[str]) -> None:
        """Use these worker slots again."""
        self._away -= set(worker_slots)

    def drop(self, worker_slots: Iterable[str]) -> None:
        """Forget worker slots for good."""
        gone = set(worker_slots)
        self._worker_slots = [
            worker_slot for worker_slot in self._worker_slots if worker_slot.name not in gone
        ]

    @property
    def count(self) -> int:
        """How many worker slots there are."""
        return len(self._worker_slots)

    @property
    def waits(self) -> bool:
        """Whether worker slots are away that will come back."""
        return bool(self._away)

    @property
    def has_free(self) -> bool:
        """Whether a worker slot is free."""
        return len(self._taken()) < len(self._worker_slots)

    def _taken(self) -> set[str]:
        busy = self._nodes.in_state(*BUSY)
        return {name for node in busy for name in node.attempt.worker_slots} | self._away

    @property
    def empty(self) -> bool:
        """Whether no worker slot is left."""
        return not self._worker_slots

    def _used(self, worker_slot: str) -> None:
        """Let the slot that was used last be the first to be used again: it has everything loaded."""
        for index, other in enumerate(self._worker_slots):
            if other.name == worker_slot:
                self._worker_slots.insert(0, self._worker_slots.pop(index))
                return

    def problem(self, node: Node, need: Need) -> str | None:
        """Say why a node can never be placed here, or None."""
        ranks = self._workers_for(node, need)
        if ranks > len(self._worker_slots):
            kind = "GPUs" if any(worker_slot.device for worker_slot in self._worker_slots) else "workers"
            return f"it needs {ranks} {kind} at the same time, and this cluster has {len(self._worker_slots)}"
        if self._environment.backend_of(node.run.stage) == "cuda":
            able = [worker_slot for worker_slot in self._worker_slots if self._holds(worker_slot, need)]
            if len(able) < ranks:
                largest = max((worker_slot.device_bytes for worker_slot in self._worker_slots), default=0)
                return (
                    f"it needs {format_bytes(need.device_bytes)} of memory on {ranks} GPU(s), and "
                    f"the largest here has {format_bytes(largest)}"
                )
        return None

    def _workers_for(self, node: Node, need: Need) -> int:
        """An inline cluster runs ranks as threads of the one process."""
        if self._environment.cluster == "inline":
            return 1
        return max(1, ranks_of(node), self._group_size(node, need))

    def takes_several(self, node: Node, need: Need) -> bool:
        """Say whether other processes than the stage's own read its inputs, too."""
        group = ranks_of(node) or self._workers_for(node, need) > 1
        return bool(group) and self._environment.cluster != "inline"

    def _bytes_by_host(self, need: Need, worker_slots: Sequence[str]) -> dict[str, int]:
        """Count what a run takes of each host's memory; its first slot is its own."""
        found = {self._hosts[worker_slots[0]]: need.host_bytes}
        for name in worker_slots[1:]:
            found[self._hosts[name]] = found.get(self._hosts[name], 0) + need.each_host_bytes
        return found

    def free_host_bytes(self) -> int:
        """Return the most that is free on one host."""
        return max((each.free for each in self._admissions.values()), default=0)

    def take(self, node: Node) -> None:
        """Hand a node the worker slots and the memory that its attempt names."""
        attempt = node.attempt
        assert attempt.worker_slot is not None
        assert attempt.need is not None
        self._used(attempt.worker_slot)
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

    def lacks_memory(self, need: Need) -> bool:
        """Say whether a worker slot is free, and memory is what a run waits for."""
        taken = self._taken()
        hosts = {slot.host for slot in self._worker_slots if slot.name not in taken}
        return bool(hosts) and not any(self._admissions[host].fits(need.host_bytes) for host in hosts)

    def resident_bytes(self, worker_slot: str) -> int:
        """Return the bytes of results in memory on the host of a worker slot."""
        return self._admissions[self._hosts[worker_slot]].resident

    def would_fit_without(self, others: Iterable[Node], need: Need) -> bool:
        """Say whether a host has room once the results of these nodes are not in its memory."""
        freed = dict.fromkeys(self._admissions, 0)
        for other in others:
            for host, admission in self._admissions.items():
                freed[host] += admission.resident_of(other.key)
        return any(
            need.host_bytes <= admission.free + freed[host] for host, admission in self._admissions.items()
        )

    def _group_size(self, node: Node, need: Need) -> int:
        """Return how many workers the node takes though it could do without, 0 for none.

        These are all that it would use, or, where fewer are of use too, as many as there are and as memory
        has room for.
        """
        able = self._worker_slots
        if self._environment.backend_of(node.run.stage) == "cuda":
            able = [worker_slot for worker_slot in able if self._holds(worker_slot, need)]
        least = max(2, need.gang_least or need.gang)
        count = min(need.gang, len(able))
        if need.each_host_bytes:
            room = self._environment.capacity.host_bytes - need.host_bytes
            count = min(count, 1 + max(0, room) // need.each_host_bytes)
        return count if count >= least else 0

    def _holds(self, worker_slot: WorkerSlot, need: Need) -> bool:
        if worker_slot.device is None:
            return False
        cap = self._environment.capacity.device_bytes or worker_slot.device_bytes
        return need.device_bytes <= min(cap, worker_slot.device_bytes)

    def choose(
        self, node: Node, need: Need, waiting: int, slots: frozenset[str] | None = None
    ) -> Assignable | None:
        """Find room for a node now, or None; `waiting` counts the other nodes that could run.

        `slots` are the worker slots that can read its inputs; None for all.
        """
        busy = self._nodes.in_state(*BUSY)
        if any(self.is_alone(other) for other in busy) or (self.is_alone(node) and busy):
            return None
        taken = self._taken()
        free = [
            worker_slot
            for worker_slot in self._worker_slots
            if worker_slot.name not in taken
            and (slots is None or worker_slot.name in slots)
            and self._admissions[worker_slot.host].fits(need.host_bytes)
        ]
        if self._environment.backend_of(node.run.stage) == "cuda":
            free = [worker_slot for worker_slot in free if self._holds(worker_slot, need)]
        own = self._own(node, free)
        ranks = self._workers_for(node, need)
        if own is None or len(free) < ranks:
            return None
        rank_group: tuple[str, ...] = ()
        if ranks_of(node) or ranks > 1:
            others = [worker_slot.name for worker_slot in free if worker_slot is not own]
            rank_group = (own.name, *others[: ranks - 1])
        for host, size in self._bytes_by_host(need, rank_group or (own.name,)).items():
            if not self._admissions[host].fits(size):
                return None
        sharing = 1 if self.is_alone(node) else min(len(self._worker_slots), len(busy) + waiting + 1)
        cores = own.cores or self._environment.cores
        return Assignable(own.name, rank_group, max(1, cores // max(sharing, ranks)))

    def _own(self, node: Node, free: list[WorkerSlot]) -> WorkerSlot | None:
        """Prefer the worker slot whose memory has the largest input."""
        holders = {
            source.resident_at: sum(extent.bytes for extent in source.extents)
            for source in sorted(node.sources, key=lambda each: sum(extent.bytes for extent in each.extents))
        }
        return max(free, key=lambda slot: holders.get(slot.name, -1), default=None)

    def is_alone(self, node: Node) -> bool:
        """A measurement on the CPU wants all cores; one on a GPU has that GPU by having its slot."""
        stage = node.run.stage
        return stage.is_timed(_parameters(node)) and self._environment.backend_of(stage) == "cpu"
