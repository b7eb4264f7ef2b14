"""Which ready stage run goes where: memory, GPUs, gangs, and measurements that must be alone.

A gang's places are taken all at once before any of its ranks is sent, so that two gangs never hold half of
what the other waits for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gravel.pipeline.core.memory import Admission, format_bytes
from gravel.pipeline.scheduler.machine import Setting
from gravel.pipeline.scheduler.nodes import BUSY, Node, Nodes
from gravel.pipeline.workers.protocol import Place
from gravel.stages.stage import Need, Parameters


@dataclass(frozen=True)
class Choice:
    """A node that can start now: its own place, its gang's and how many threads its kernels may use."""

    place: str
    gang: tuple[str, ...]
    threads: int


def ranks_of(node: Node) -> int:
    """Return how many workers the node needs at the same time; 0 without a gang."""
    ranks = node.run.stage.ranks
    return 0 if ranks is None else ranks(_parameters(node))


def _parameters(node: Node) -> Parameters:
    """Return a node's parameters, as they are written until its sources are resolved."""
    return node.parameters if node.parameters is not None else node.run.parameters


class Placer:
    """Hands out places and memory."""

    def __init__(self, setting: Setting, nodes: Nodes) -> None:
        self.admission = Admission(setting.capacity.host_bytes)
        self._setting = setting
        self._nodes = nodes
        self._places: list[Place] = []
        self._away: set[str] = set()

    def set_places(self, places: Iterable[Place]) -> None:
        """Take the places of a cluster that has started."""
        self._places = list(places)

    def take_away(self, places: Iterable[str]) -> None:
        """Use these places no more, until `give_back`."""
        self._away |= set(places)

    def give_back(self, places: Iterable[str]) -> None:
        """Use these places again."""
        self._away -= set(places)

    def drop(self, places: Iterable[str]) -> None:
        """Forget places for good."""
        gone = set(places)
        self._places = [place for place in self._places if place.name not in gone]

    @property
    def waits(self) -> bool:
        """Whether places are away that will come back."""
        return bool(self._away)

    @property
    def empty(self) -> bool:
        """Whether no place is left."""
        return not self._places

    def used(self, place: str) -> None:
        """Let the place that was used last be the first to be used again: it has everything loaded."""
        for index, other in enumerate(self._places):
            if other.name == place:
                self._places.insert(0, self._places.pop(index))
                return

    def problem(self, node: Node, need: Need) -> str | None:
        """Say why a node can never be placed here, or None."""
        ranks = self._workers_for(node, need)
        if ranks > len(self._places):
            kind = "GPUs" if any(place.device for place in self._places) else "workers"
            return f"it needs {ranks} {kind} at the same time, and this cluster has {len(self._places)}"
        if self._setting.backend_of(node.run.stage) == "cuda":
            able = [place for place in self._places if self._holds(place, need)]
            if len(able) < ranks:
                largest = max((place.device_bytes for place in self._places), default=0)
                return (
                    f"it needs {format_bytes(need.device_bytes)} of memory on {ranks} GPU(s), and "
                    f"the largest here has {format_bytes(largest)}"
                )
        return None

    def _workers_for(self, node: Node, need: Need) -> int:
        """An inline cluster runs ranks as threads of the one process."""
        if self._setting.cluster == "inline":
            return 1
        return max(1, ranks_of(node), self._gang_of(node, need))

    def host_bytes(self, node: Node, need: Need) -> int:
        """Count what a node takes with all of its workers."""
        return need.host_bytes + need.each_host_bytes * (self._workers_for(node, need) - 1)

    def _gang_of(self, node: Node, need: Need) -> int:
        """Return how many workers the node takes though it could do without, 0 for none.

        These are all that it would use, or, where fewer are of use too, as many as there are and as memory
        has room for.
        """
        able = self._places
        if self._setting.backend_of(node.run.stage) == "cuda":
            able = [place for place in able if self._holds(place, need)]
        if not need.gang_least:
            return need.gang if 1 < need.gang <= len(able) else 0
        count = min(need.gang, len(able))
        if need.each_host_bytes:
            room = self._setting.capacity.host_bytes - need.host_bytes
            count = min(count, 1 + max(0, room) // need.each_host_bytes)
        return count if count >= max(2, need.gang_least) else 0

    def _holds(self, place: Place, need: Need) -> bool:
        if place.device is None:
            return False
        cap = self._setting.capacity.device_bytes or place.device_bytes
        return need.device_bytes <= min(cap, place.device_bytes)

    def choose(self, node: Node, need: Need, waiting: int) -> Choice | None:
        """Find room for a node now, or None; `waiting` counts the other nodes that could run."""
        busy = self._nodes.in_state(*BUSY)
        if any(self._alone(other) for other in busy) or (self._alone(node) and busy):
            return None
        if not self.admission.fits(self.host_bytes(node, need)):
            return None
        taken = {place for other in busy for place in other.places} | self._away
        free = [place for place in self._places if place.name not in taken]
        if self._setting.backend_of(node.run.stage) == "cuda":
            free = [place for place in free if self._holds(place, need)]
        own = self._own(node, free)
        ranks = self._workers_for(node, need)
        if own is None or len(free) < ranks:
            return None
        gang: tuple[str, ...] = ()
        if node.run.stage.ranks is not None or ranks > 1:
            others = [place.name for place in free if place is not own]
            gang = (own.name, *others[: ranks - 1])
        sharing = 1 if self._alone(node) else min(len(self._places), len(busy) + waiting + 1)
        cores = own.cores or self._setting.cores
        return Choice(own.name, gang, max(1, cores // max(sharing, ranks)))

    def _own(self, node: Node, free: list[Place]) -> Place | None:
        """Prefer the place whose memory holds an input; wait for it rather than copy what it holds."""
        holders = [
            (sum(extent.bytes for extent in source.extents), source.held_at)
            for key in node.run.upstream
            if (source := self._nodes[key]).held_at is not None
        ]
        if not holders:
            return free[0] if free else None
        best = max(holders, key=lambda holder: holder[0])[1]
        return next((place for place in free if place.name == best), None)

    def _alone(self, node: Node) -> bool:
        """A measurement on the CPU wants all cores; one on a GPU has that GPU by having its place."""
        stage = node.run.stage
        return stage.is_timed(_parameters(node)) and self._setting.backend_of(stage) == "cpu"
