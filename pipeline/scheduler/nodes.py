"""The stage runs of a plan while it is carried out: their states, and who waits for whom.

Nothing here is found by going over all nodes. Each node counts what it waits for; `move`, `identify` and
`set_resident` change a node and the counts of its neighbours; a count of zero puts a node into a queue.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.plan.vertex_ids import NAMING
from gravel.pipeline.scheduler.node import BUSY, DONE, ENDED, KNOWN, WAITING, WANTED, Node
from gravel.pipeline.scheduler.ready_queue import ReadyQueue


class Nodes:
    """All nodes of a plan, in its order."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.by_key: dict[str, Node] = {}
        self.ids: Mapping[str, tuple[str, ...]] = _KnownIds(self.by_key)
        self.ready = ReadyQueue()
        self.unfinished = 0
        """How many nodes have not ended."""
        self.moves = 0
        """How often a node changed its state: as long as it stays the same, nothing has happened."""
        self.visits = 0
        """How often a node was looked at because of another one; grows with the edges of the plan."""
        self._states: dict[str, dict[int, Node]] = {}
        self._to_identify: list[int] = []
        self._order: list[Node] = []
        self._unneeded: dict[int, Node] = {}
        self._in_memory: dict[int, Node] = {}
        self._to_demand: deque[Node] = deque()
        self._asked_by: dict[int, list[Node]] = {}
        self._asks: dict[int, list[Node]] = {}
        for position, (key, run) in enumerate(plan.runs.items()):
            node = Node(run, position)
            self.by_key[key] = node
            self._order.append(node)
            self._states.setdefault(node.state, {})[position] = node
            self.unfinished += node.state not in ENDED
        for node in self._order:
            self._connect(node)
        for node in self._order:
            self.identify_again(node)

    def _connect(self, node: Node) -> None:
        node.sources = tuple(self.by_key[key] for key in node.run.upstream)
        node.depth = 1 + max((source.depth for source in node.sources), default=0)
        node.undone = sum(source.state != DONE for source in node.sources)
        watched = self._asked_for_recipe(node)
        node.unknown = sum(each.ids is None for each in watched)
        for source in node.sources:
            source.is_read_by(node)
            source.open += node.state not in ENDED
        for each in watched:
            each.is_watched_by(node)
            if each not in node.sources and not NAMING.isdisjoint(each.run.stage.outputs):
                self.ask(node, each)
        self.visits += len(node.sources)

    def rewire(self, node: Node, run: StageRun) -> None:
        """Let a node go on as another run, which reads less, from the beginning."""
        for source in node.sources:
            source.consumers.remove(node)
            source.open -= node.state not in ENDED
        for each in self._asked_for_recipe(node):
            each.watchers.remove(node)
        node.run, node.recipe, node.stated = run, None, None
        self.identify(node, None)
        self._connect(node)
        self.move(node, WAITING)
        self.identify_again(node)

    def _asked_for_recipe(self, node: Node) -> Iterable[Node]:
        """Return the nodes whose ids a node's recipe asks for.

        Given sources are resolved through the ids of vertices, far upstream.
        """
        stage, parameters = node.run.stage, node.run.parameters
        if stage.source_ids(parameters) or stage.ids_file(parameters):
            return [self.by_key[run.key] for run in self.plan.lineage(node.key)]
        return [self.by_key[key] for key in node.run.upstream]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._order)

    def __getitem__(self, key: str) -> Node:
        return self.by_key[key]

    def __len__(self) -> int:
        return len(self._order)

    def in_state(self, *states: str) -> list[Node]:
        """Return the nodes in these states, in the plan's order."""
        found = [node for state in states for node in self._states.get(state, {}).values()]
        return sorted(found, key=lambda node: node.position)

    def any_in(self, *states: str) -> bool:
        """Say whether a node is in one of these states."""
        return any(self._states.get(state) for state in states)

    @property
    def are_busy(self) -> bool:
        """Whether a node has worker slots."""
        return self.any_in(*BUSY)

    def move(self, node: Node, new: str) -> None:
        """Bring a node into another state; what it reads is then wanted, or what reads it is ready."""
        old = node.state
        if old == new:
            return
        node.state = new
        self.moves += 1
        del self._states[old][node.position]
        self._states.setdefault(new, {})[node.position] = node
        if (old in ENDED) != (new in ENDED):
            self._count_ended(node, 1 if new in ENDED else -1)
        if DONE in (old, new):
            self._count_done(node, 1 if new == DONE else -1)
        if old == WANTED:
            self.ready.discard(node)
        if old == WAITING:
            for giver in self._asks.get(node.position, ()):
                self.check_needed(giver)
        if new == WANTED:
            self._demand(node)
        elif new == WAITING:
            node.stated = None
            self.identify_again(node)
        elif new == KNOWN and any(consumer.state == WANTED for consumer in node.consumers):
            self.move(node, WANTED)

    def _count_ended(self, node: Node, ended: int) -> None:
        self.unfinished -= ended
        self.visits += len(node.sources)
        for source in node.sources:
            source.open -= ended
            if not source.open:
                self.check_needed(source)

    def _count_done(self, node: Node, done: int) -> None:
        self.visits += len(node.consumers)
        for consumer in node.consumers:
            consumer.undone -= done
            if consumer.state == WANTED and consumer.undone:
                self.ready.discard(consumer)
            elif consumer.state == WANTED:
                self.ready.add(consumer)
        if done > 0:
            self.answer(node)

    def _demand(self, node: Node) -> None:
        """Ask for what a wanted node reads and nobody has asked for, back along whole chains."""
        if not node.undone:
            self.ready.add(node)
        self._to_demand.append(node)
        if len(self._to_demand) > 1:
            return  # the loop below takes it: chains may be longer than calls may be nested
        while self._to_demand:
            for source in self._to_demand[0].sources:
                self.visits += 1
                if source.state == KNOWN:
                    self.move(source, WANTED)
            self._to_demand.popleft()

    def identify(self, node: Node, ids: tuple[str, ...] | None) -> None:
        """Set a node's output ids, or None where they are not known any more."""
        old, node.ids = node.ids, ids
        if (old is None) == (ids is None):
            return
        self.visits += len(node.watchers)
        for watcher in node.watchers:
            watcher.unknown += 1 if ids is None else -1
            self.identify_again(watcher)

    def set_resident(self, node: Node, worker_slot: str | None) -> None:
        """Note the worker slot whose memory has a node's result, or None where it is in memory no longer."""
        if node.resident_at == worker_slot:
            return
        node.resident_at = worker_slot
        if worker_slot is None:
            self._in_memory.pop(node.position, None)
        else:
            self._in_memory[node.position] = node
        for consumer in node.consumers:
            if consumer.state == WANTED and not consumer.undone:
                self.ready.add(consumer)
        self.check_needed(node)

    def in_memory(self) -> list[Node]:
        """Return the nodes whose results are in a worker's memory."""
        return list(self._in_memory.values())

    def ask(self, node: Node, giver: Node) -> None:
        """Note that a node's recipe cannot be made without reading another node's result."""
        asked = self._asks.setdefault(node.position, [])
        if giver not in asked:
            asked.append(giver)
            self._asked_by.setdefault(giver.position, []).append(node)

    def answer(self, giver: Node) -> None:
        """Have the recipes made that need to read a node's result, which can be read now."""
        for asking in self._asked_by.get(giver.position, ()):
            self.identify_again(asking)

    def identify_again(self, node: Node) -> None:
        """Have a node's recipe made, if it waits for that and all is known that the recipe asks for."""
        if node.state == WAITING and not node.unknown:
            heapq.heappush(self._to_identify, node.position)

    def to_identify(self) -> Iterator[Node]:
        """Take the nodes whose recipes can be made, in the plan's order; more may come meanwhile."""
        while self._to_identify:
            node = self._order[heapq.heappop(self._to_identify)]
            if node.state == WAITING and not node.unknown:
                yield node

    def check_needed(self, node: Node) -> None:
        """Note a node whose result in memory may not be needed any more, or what an unneeded one reads."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.resident_at is not None:
                self._unneeded[each.position] = each
            elif each.state == KNOWN:
                waiting += [source for source in each.sources if not source.run.keep]

    def unneeded(self) -> Iterator[Node]:
        """Take the nodes whose result is in a worker's memory for nobody any more."""
        noted, self._unneeded = self._unneeded, {}
        for node in noted.values():
            if node.resident_at is not None and not self._is_needed(node):
                yield node

    def _is_needed(self, node: Node) -> bool:
        """Say whether something in this run may still read a result that is kept in memory."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            asking = self._asked_by.get(each.position, ())
            if each.open or any(other.state == WAITING for other in asking):
                return True
            waiting += [consumer for consumer in each.consumers if consumer.state == KNOWN]
        return False

    def owner(self, artifact_id: str, reader: Node) -> Node | None:
        """Return a node whose result this id is and that counts as there, one that the reader rests on first.

        Equal results of several nodes are one artifact.
        """
        lineage = [self.by_key[run.key] for run in self.plan.lineage(reader.key)]
        for node in (*lineage, *self._order):
            if node.ids is not None and artifact_id in node.ids and node.state in (DONE, KNOWN):
                return node
        return None

    def are_inputs_there(self, node: Node) -> bool:
        """Say whether what a node's recipe names as inputs is still what its inputs are."""
        assert node.recipe is not None
        if node.undone:
            return False
        named = {slot: tuple(ids) for slot, ids in node.recipe.parts["inputs"].items()}
        return named == self.input_ids(node)

    def input_ids(self, node: Node) -> dict[str, tuple[str, ...]]:
        """Return the ids that fill each slot of a node; all of its inputs must be known."""
        return {
            slot: tuple(self.ids[ref.run][ref.output] for ref in refs)
            for slot, refs in node.run.inputs.items()
        }


class _KnownIds(Mapping[str, tuple[str, ...]]):
    """The output ids that are known, by key; always those of now."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes

    def __getitem__(self, key: str) -> tuple[str, ...]:
        ids = self._nodes[key].ids
        if ids is None:
            raise KeyError(key)
        return ids

    def __iter__(self) -> Iterator[str]:
        return (key for key, node in self._nodes.items() if node.ids is not None)

    def __len__(self) -> int:
        return sum(node.ids is not None for node in self._nodes.values())
