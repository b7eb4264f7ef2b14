"""The state of every stage run of a plan while it is carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gravel.pipeline.plan.model import Plan, StageRun
from gravel.stages.stage import Extent, Need, Parameters

if TYPE_CHECKING:
    from gravel.pipeline.core.hashing import Recipe

WAITING = "waiting"  # the ids of its inputs are not known
KNOWN = "known"  # not kept: its ids follow from its recipe, and nothing has asked for it yet
WANTED = "wanted"  # has to be computed
LOCKING = "locking"  # has its worker slots and waits for the lock of its recipe
RUNNING = "running"
REPLACING = "replacing"  # its workers are being replaced before it is tried again
DONE = "done"  # its result is there
FAILED = "failed"
SKIPPED = "skipped"
NOT_RUN = "not run"  # this machine has not what it asks for

ENDED = frozenset({DONE, FAILED, SKIPPED, NOT_RUN, KNOWN})
BUSY = frozenset({LOCKING, RUNNING, REPLACING})


@dataclass
class Node:
    """One stage run under way.

    `ids` are its output ids, once known. `worker_slot` and `rank_group` are where it runs, `resident_at` the
    slot whose memory holds a result that is not kept. `attempt` counts submissions, `losses` those that ended
    with a lost worker, `damages` how often an input turned out damaged. `asked_by` names the runs whose
    recipe needs a look into this result. `began` is when the attempt under way began, on the monotonic clock.
    """

    run: StageRun
    state: str = WAITING
    ids: tuple[str, ...] | None = None
    recipe: Recipe | None = None
    parameters: Parameters | None = None
    extents: tuple[Extent, ...] = ()
    need: Need | None = None
    worker_slot: str | None = None
    rank_group: tuple[str, ...] = ()
    resident_at: str | None = None
    attempt: int = 0
    losses: int = 0
    damages: int = 0
    forced: bool = False
    computed: bool = False
    threads: int = 1
    began: float | None = None
    asked_by: set[str] = field(default_factory=set)
    replaced: frozenset[str] = field(default_factory=frozenset)

    @property
    def key(self) -> str:
        """The run's key."""
        return self.run.key

    @property
    def worker_slots(self) -> frozenset[str]:
        """Every worker slot that the run occupies."""
        return frozenset(self.rank_group) | (
            {self.worker_slot} if self.worker_slot is not None else frozenset()
        )


class Nodes:
    """All nodes of a plan, in its order, and who depends on whom."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.by_key = {
            key: Node(run, WAITING if run.not_run is None else NOT_RUN, forced=run.forced)
            for key, run in plan.runs.items()
        }
        self._consumers: dict[str, list[Node]] = {key: [] for key in self.by_key}
        self._depths: dict[str, int] = {}
        for node in self.by_key.values():
            self._depths[node.key] = 1 + max((self._depths[key] for key in node.run.upstream), default=0)
            for key in node.run.upstream:
                self._consumers[key].append(node)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.by_key.values())

    def __getitem__(self, key: str) -> Node:
        return self.by_key[key]

    def consumers(self, node: Node) -> list[Node]:
        """Return the nodes that read a node's outputs."""
        return self._consumers[node.key]

    def in_state(self, *states: str) -> list[Node]:
        """Return the nodes in these states, in the plan's order."""
        return [node for node in self.by_key.values() if node.state in states]

    def ids(self) -> dict[str, tuple[str, ...]]:
        """Return the output ids that are known, by key."""
        return {node.key: node.ids for node in self.by_key.values() if node.ids is not None}

    def owner(self, artifact_id: str, reader: Node) -> Node | None:
        """Return a node whose result this id is and that counts as there, one that the reader rests on first.

        Equal results of several nodes are one artifact.
        """
        lineage = [self.by_key[run.key] for run in self.plan.lineage(reader.key)]
        for node in (*lineage, *self.by_key.values()):
            if node.ids is not None and artifact_id in node.ids and node.state in (DONE, KNOWN):
                return node
        return None

    def asked_for_recipe(self, node: Node) -> list[str]:
        """Return the keys of the nodes whose ids a node's recipe asks for.

        Given sources are resolved through the ids of vertices, far upstream.
        """
        if node.run.stage.source_ids(node.run.parameters):
            return [run.key for run in self.plan.lineage(node.key)]
        return list(node.run.upstream)

    def are_inputs_there(self, node: Node) -> bool:
        """Say whether what a node's recipe names as inputs is still what its inputs are."""
        assert node.recipe is not None
        if any(self.by_key[key].state != DONE for key in node.run.upstream):
            return False
        named = {slot: tuple(ids) for slot, ids in node.recipe.parts["inputs"].items()}
        return named == self.input_ids(node)

    def input_ids(self, node: Node) -> dict[str, tuple[str, ...]]:
        """Return the ids that fill each slot of a node; all of its inputs must be known."""
        ids: Mapping[str, tuple[str, ...]] = self.ids()
        return {
            slot: tuple(ids[ref.run][ref.output] for ref in refs) for slot, refs in node.run.inputs.items()
        }

    def demand(self, node: Node) -> bool:
        """Ask for the inputs of a node that has to be computed; say whether all are there."""
        ready = True
        for key in node.run.upstream:
            source = self.by_key[key]
            if source.state == KNOWN:
                source.state = WANTED
            ready = ready and source.state == DONE
        return ready

    def ready(self) -> list[Node]:
        """Return the nodes that can run now, after asking for what the others miss.

        They come in the plan's order, but for those that read what a worker's memory holds: these come first,
        those at the end of a chain before others, so that little is kept at a time.
        """
        # The consumers first, so that a chain of results that are not kept is asked for in one go.
        backwards = reversed(self.by_key.values())
        found = [node for node in backwards if node.state == WANTED and self.demand(node)][::-1]
        return sorted(found, key=lambda node: -self._depths[node.key] if self._reads_resident(node) else 0)

    def _reads_resident(self, node: Node) -> bool:
        return any(self.by_key[key].resident_at is not None for key in node.run.upstream)

    def is_needed(self, node: Node) -> bool:
        """Say whether something in this run may still read a result that is kept in memory."""
        if any(self.by_key[key].state == WAITING for key in node.asked_by):
            return True
        return any(
            consumer.state not in ENDED or (consumer.state == KNOWN and self.is_needed(consumer))
            for consumer in self._consumers[node.key]
        )
