"""The stage runs of a plan while it is carried out: their states, and who waits for whom.

Nothing here is found by going over all nodes. Each node counts what it waits for; `move`, `identify` and
`set_resident` change a node and the counts of its neighbours; a count of zero puts a node into a queue.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from gravel.pipeline.plan.model import Plan, StageRun
from gravel.pipeline.plan.vertex_ids import NAMING
from gravel.pipeline.scheduler.node import DONE, ENDED, KNOWN, NOT_RUN, WAITING, WANTED, Node, ReadyQueue


class Nodes:
    """All nodes of a plan, in its order.

    `ids` are the output ids that are known, by key. `unfinished` counts the nodes that have not ended, and
    `moves` how often a node changed its state: as long as it stays the same, nothing has happened.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ids: dict[str, tuple[str, ...]] = {}
        self.ready = ReadyQueue()
        self.unfinished = self.moves = 0
        self._by_key: dict[str, Node] = {}
        self._states: dict[str, dict[int, Node]] = {}
        self._to_identify: list[int] = []
        self._to_demand: deque[Node] = deque()
        self._in_memory: dict[int, Node] = {}
        self._unneeded: dict[int, Node] = {}
        self._asked_by: dict[int, list[Node]] = {}
        self._asks: dict[int, list[Node]] = {}
        for position, (key, run) in enumerate(plan.runs.items()):
            node = self._by_key[key] = Node(run, position, WAITING if run.not_run is None else NOT_RUN)
            self._states.setdefault(node.state, {})[position] = node
            self.unfinished += node.state not in ENDED
        self._order = list(self._by_key.values())
        for node in self._order:
            self._connect(node)
        for node in self._order:
            self.identify_again(node)

    def _connect(self, node: Node) -> None:
        node.sources = tuple(self[key] for key in node.run.upstream)
        node.depth = 1 + max((source.depth for source in node.sources), default=0)
        node.undone = sum(source.state != DONE for source in node.sources)
        watched = self._watched_by(node)
        node.unknown = sum(each.ids is None for each in watched)
        for source in node.sources:
            source.consumers.append(node)
            source.open += node.state not in ENDED
        for each in watched:
            each.watchers.append(node)
            if each not in node.sources and not NAMING.isdisjoint(each.run.stage.outputs):
                self.ask(node, each)

    def rewire(self, node: Node, run: StageRun) -> None:
        """Let a node go on as another run, which reads less, from the beginning."""
        for source in node.sources:
            source.consumers.remove(node)
            source.open -= node.state not in ENDED
        for each in self._watched_by(node):
            each.watchers.remove(node)
        node.run, node.recipe, node.stated = run, None, None
        self.identify(node, None)
        self._connect(node)
        self.move(node, WAITING)
        self.identify_again(node)

    def _watched_by(self, node: Node) -> list[Node]:
        """Return the nodes whose ids a node's recipe asks for.

        Given sources are resolved through the ids of vertices, far upstream.
        """
        stage, parameters = node.run.stage, node.run.parameters
        if stage.source_ids(parameters) or stage.ids_file(parameters):
            return [self[run.key] for run in self.plan.lineage(node.key)]
        return [self[key] for key in node.run.upstream]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._order)

    def __getitem__(self, key: str) -> Node:
        return self._by_key[key]

    def __len__(self) -> int:
        return len(self._order)

    def in_state(self, *states: str) -> list[Node]:
        """Return the nodes in these states, in the plan's order."""
        found = [node for state in states for node in self._states.get(state, {}).values()]
        return sorted(found, key=lambda node: node.position)

    def to_compute(self) -> set[str]:
        """Return the keys of what is to be made, with results that are not kept and that it reads."""
        keys = {node.key for node in self.in_state(WANTED, WAITING)}
        for node in reversed(self._order):
            if node.key in keys:
                keys |= {source.key for source in node.sources if source.state == KNOWN}
        return keys

    def any_in(self, *states: str) -> bool:
        """Say whether a node is in one of these states."""
        return any(self._states.get(state) for state in states)

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
            ended = 1 if new in ENDED else -1
            self.unfinished -= ended
            for source in node.sources:
                source.open -= ended
                if not source.open:
                    self.check_needed(source)
        if DONE in (old, new):
            for consumer in node.consumers:
                consumer.undone += 1 if old == DONE else -1
                self._queue(consumer)
        self._queue(node)
        if old == WAITING:
            for giver in self._asks.get(node.position, ()):
                self.check_needed(giver)
        if new == DONE:
            self.answer(node)
        elif new == WANTED:
            self._demand(node)
        elif new == WAITING:
            node.stated = None
            self.identify_again(node)
        elif new == KNOWN and any(consumer.state == WANTED for consumer in node.consumers):
            self.move(node, WANTED)

    def _queue(self, node: Node) -> None:
        """Have a node in the queue while it is wanted and all that it reads is done."""
        if node.state == WANTED and not node.undone:
            self.ready.add(node)
        else:
            self.ready.discard(node)

    def _demand(self, node: Node) -> None:
        """Ask for what a wanted node reads and nobody has asked for, back along whole chains."""
        self._to_demand.append(node)
        if len(self._to_demand) > 1:
            return  # the loop below takes it: chains may be longer than calls may be nested
        while self._to_demand:
            for source in self._to_demand[0].sources:
                if source.state == KNOWN:
                    self.move(source, WANTED)
            self._to_demand.popleft()

    def identify(self, node: Node, ids: tuple[str, ...] | None) -> None:
        """Set a node's output ids, or None where they are not known any more."""
        old, node.ids = node.ids, ids
        if ids is None:
            self.ids.pop(node.key, None)
        else:
            self.ids[node.key] = ids
        if (old is None) != (ids is None):
            for watcher in node.watchers:
                watcher.unknown += 1 if ids is None else -1
                self.identify_again(watcher)

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
            self._queue(consumer)
        self.check_needed(node)

    def in_memory(self) -> list[Node]:
        """Return the nodes whose results are in a worker's memory."""
        return list(self._in_memory.values())

    def check_needed(self, node: Node) -> None:
        """Note a node whose result in memory may not be needed any more, or what an unneeded one reads."""
        waiting = [node]
        while waiting and self._in_memory:
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
        lineage = [self[run.key] for run in self.plan.lineage(reader.key)]
        for node in (*lineage, *self._order):
            if node.ids is not None and artifact_id in node.ids and node.state in (DONE, KNOWN):
                return node
        return None

    def are_inputs_there(self, node: Node) -> bool:
        """Say whether what a node's recipe names as inputs is still what its inputs are."""
        assert node.recipe is not None
        named = {slot: tuple(ids) for slot, ids in node.recipe.parts["inputs"].items()}
        return not node.undone and named == self.input_ids(node)

    def input_ids(self, node: Node) -> dict[str, tuple[str, ...]]:
        """Return the ids that fill each slot of a node; all of its inputs must be known."""
        return {
            slot: tuple(self.ids[ref.run][ref.output] for ref in refs)
            for slot, refs in node.run.inputs.items()
        }
