"""One stage run while the plan is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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


class Neighbours(Protocol):
    """Who takes note of what happens to a node."""

    def moved(self, node: Node, old: str, new: str) -> None:
        """Its state is another."""
        ...

    def identified(self, node: Node, *, known: bool) -> None:
        """Its ids are known now, or are not any more."""
        ...

    def moved_in_memory(self, node: Node) -> None:
        """Its result came into a worker's memory, or is there no longer."""
        ...


class Node:
    """One stage run under way. Setting `state`, `ids` or `resident_at` tells the nodes around it.

    `ids` are its output ids, once known. `worker_slot` and `rank_group` are where it runs, `resident_at` the
    slot whose memory has its result, and `copies` other slots that have it, too. `attempt` counts
    submissions, `losses` those that ended with a lost worker, `damages` how often an input turned out
    damaged. `began` is when the attempt under way began, on the monotonic clock. `stated` is what the stage
    states it needs, once its inputs are known. With `in_memory` the result of the attempt is written behind
    it, and with `on_device` it stays on the GPU, too. `previous_ids` are those of a result that was lost.

    `sources` are the nodes that it reads and `consumers` those that read it; `watchers` need its ids for
    their recipes; `asked_by` are nodes whose recipes need a look into its result, and `asks` those into whose
    results its own recipe needs one. `unknown` counts the nodes that it watches and whose ids are not known,
    `undone` the sources that are not done, `open` the consumers that have not ended. `depth` is the length of
    the longest chain that leads here.
    """

    __slots__ = (
        "_ids",
        "_neighbours",
        "_resident_at",
        "_state",
        "asked_by",
        "asks",
        "attempt",
        "began",
        "computed",
        "consumers",
        "copies",
        "damages",
        "depth",
        "extents",
        "forced",
        "in_memory",
        "losses",
        "need",
        "on_device",
        "open",
        "parameters",
        "position",
        "previous_ids",
        "rank_group",
        "recipe",
        "replaced",
        "run",
        "sources",
        "stated",
        "threads",
        "undone",
        "unknown",
        "watchers",
        "worker_slot",
    )

    def __init__(self, neighbours: Neighbours, run: StageRun, position: int) -> None:
        self._neighbours = neighbours
        self._state = WAITING if run.not_run is None else NOT_RUN
        self._ids: tuple[str, ...] | None = None
        self._resident_at: str | None = None
        self.run = run
        self.position = position
        self.recipe: Recipe | None = None
        self.parameters: Parameters | None = None
        self.extents: tuple[Extent, ...] = ()
        self.need: Need | None = None
        self.stated: Need | None = None
        self.worker_slot: str | None = None
        self.rank_group: tuple[str, ...] = ()
        self.attempt = self.losses = self.damages = 0
        self.forced = run.forced
        self.computed = self.in_memory = self.on_device = False
        self.copies: frozenset[str] = frozenset()
        self.previous_ids: tuple[str, ...] | None = None
        self.threads = 1
        self.began: float | None = None
        self.asked_by: tuple[Node, ...] = ()
        self.asks: tuple[Node, ...] = ()
        self.replaced: frozenset[str] = frozenset()
        self.sources: tuple[Node, ...] = ()
        self.consumers: list[Node] = NOBODY
        self.watchers: list[Node] = NOBODY
        self.unknown = self.undone = self.open = self.depth = 0

    @property
    def key(self) -> str:
        """The run's key."""
        return self.run.key

    @property
    def state(self) -> str:
        """Where it stands."""
        return self._state

    @state.setter
    def state(self, new: str) -> None:
        old, self._state = self._state, new
        if old != new:
            self._neighbours.moved(self, old, new)

    @property
    def ids(self) -> tuple[str, ...] | None:
        """Its output ids, once known."""
        return self._ids

    @ids.setter
    def ids(self, new: tuple[str, ...] | None) -> None:
        old, self._ids = self._ids, new
        if (old is None) != (new is None):
            self._neighbours.identified(self, known=new is not None)

    @property
    def resident_at(self) -> str | None:
        """The slot whose memory holds its result."""
        return self._resident_at

    @resident_at.setter
    def resident_at(self, new: str | None) -> None:
        old, self._resident_at = self._resident_at, new
        if old != new:
            self._neighbours.moved_in_memory(self)

    @property
    def worker_slots(self) -> frozenset[str]:
        """Every worker slot that the run occupies."""
        if self.worker_slot is None:
            return frozenset(self.rank_group)
        return frozenset((self.worker_slot, *self.rank_group))

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


NOBODY: list[Node] = []
"""What most nodes have of consumers or watchers; it stays empty."""
