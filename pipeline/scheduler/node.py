"""One stage run while the plan is carried out, and an attempt at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.pipeline.plan.model import StageRun

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe
    from gravel.stages.stage import Extent, Need, Parameters

WAITING = "waiting"  # the ids of its inputs are not known
KNOWN = "known"  # its ids are known, its result is not stored, and nothing has asked for it yet
WANTED = "wanted"  # has to be computed
LOCKING = "locking"  # another run computes its recipe
RUNNING = "running"
REPLACING = "replacing"  # its workers are being replaced before it is tried again
DONE = "done"  # its result is there
FAILED = "failed"
SKIPPED = "skipped"
NOT_RUN = "not run"  # this machine has not what it asks for

ENDED = frozenset({DONE, FAILED, SKIPPED, NOT_RUN, KNOWN})
BUSY = (RUNNING, REPLACING)
"""States in which a node has worker slots."""


@dataclass(slots=True)
class Attempt:
    """One submission of a stage run: the `number`-th.

    `worker_slot` and `rank_group` are where it runs, until it has ended; `replaced` those of its worker slots
    whose workers are being replaced. `need` is what it may take, its result included where that stays in
    memory: with `in_memory` the result is written behind the attempt, and with `on_device` it stays on the
    GPU, too. `began` is when its stage began, on the monotonic clock.
    """

    number: int
    need: Need | None = None
    threads: int = 1
    worker_slot: str | None = None
    rank_group: tuple[str, ...] = ()
    in_memory: bool = False
    on_device: bool = False
    began: float | None = None
    replaced: frozenset[str] = frozenset()

    @property
    def worker_slots(self) -> frozenset[str]:
        """Every worker slot that it occupies."""
        if self.worker_slot is None:
            return frozenset(self.rank_group)
        return frozenset((self.worker_slot, *self.rank_group))


NONE_YET = Attempt(0)
"""The attempt of every node that has not been submitted."""

NOBODY: list[Node] = []
"""What most nodes have of consumers or watchers; it stays empty."""


class Node:
    """One stage run under way. Only `Nodes` sets `state`, `ids` and `resident_at`: others count on them.

    `ids` are its output ids, once known, and `extents` the sizes of its outputs. `stated` is what the stage
    states it needs, once its inputs are known. `resident_at` is the worker slot whose memory has the result.
    `losses` counts the attempts that ended with a lost worker, `damages` how often an input turned out
    damaged. `previous_ids` are those of a result that was lost.

    `sources` are the nodes that it reads and `consumers` those that read it; `watchers` need its ids for
    their recipes. `unknown` counts the nodes that it watches and whose ids are not known, `undone` the
    sources that are not done, `open` the consumers that have not ended. `depth` is the length of the longest
    chain that leads here.
    """

    __slots__ = (
        "attempt",
        "computed",
        "consumers",
        "damages",
        "depth",
        "extents",
        "ids",
        "losses",
        "open",
        "parameters",
        "position",
        "previous_ids",
        "recipe",
        "resident_at",
        "run",
        "sources",
        "state",
        "stated",
        "undone",
        "unknown",
        "watchers",
    )

    def __init__(self, run: StageRun, position: int) -> None:
        self.run = run
        self.position = position
        self.state = WAITING if run.not_run is None else NOT_RUN
        self.ids: tuple[str, ...] | None = None
        self.extents: tuple[Extent, ...] = ()
        self.recipe: Recipe | None = None
        self.parameters: Parameters | None = None
        self.stated: Need | None = None
        self.attempt = NONE_YET
        self.losses = self.damages = 0
        self.computed = False
        self.resident_at: str | None = None
        self.previous_ids: tuple[str, ...] | None = None
        self.sources: tuple[Node, ...] = ()
        self.consumers = self.watchers = NOBODY
        self.unknown = self.undone = self.open = self.depth = 0

    @property
    def key(self) -> str:
        """The run's key."""
        return self.run.key

    @property
    def forced(self) -> bool:
        """Whether it is computed though the cache may have its result."""
        return self.run.forced and not self.computed

    def is_running(self, attempt: int) -> bool:
        """Say whether this attempt is under way."""
        return self.state == RUNNING and self.attempt.number == attempt

    def is_read_by(self, consumer: Node) -> None:
        """Note a node that reads this one's outputs."""
        if self.consumers is NOBODY:
            self.consumers = []
        self.consumers.append(consumer)

    def is_watched_by(self, watcher: Node) -> None:
        """Note a node whose recipe needs this one's ids."""
        if self.watchers is NOBODY:
            self.watchers = []
        self.watchers.append(watcher)
