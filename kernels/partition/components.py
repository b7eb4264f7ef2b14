"""Connected components over a partition: each rank joins what its arcs join, and sends what is left to unite.

First every rank makes a forest of its own arcs, the delegates included, as on GPUs (`trees.cuh`).
What is left are unions of two vertices: of a tree with each of its delegates, and of the ends of nn arcs to
other ranks. A union goes to the rank of the larger vertex, walks down its labels, and goes on from there or
ends (Rem's algorithm, over messages: Patwary, Blair, Manne, SEA 2010). Where unions have far to go, all ranks
replace labels by their labels' labels (pointer jumping).

Where arcs go both ways, few arcs are sent first; most of the largest component is one then, and the arcs of
its vertices are left out (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018). No more than `MESSAGES` unions, or
questions for labels, are on their way at a time, so memory does not follow the arcs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.cpu.forest import compress
from gravel.kernels.exchange import Endpoint, Program, Ticket, Wire, drive, gather, run_in_lock_step, swap
from gravel.kernels.partition import label_forest
from gravel.kernels.partition.buffers import components_on_cpu, messages_of, trees_on_cpu
from gravel.kernels.partition.layout import PartitionedGraph, RankPart, Subgraph

SAMPLES = 1024
"""Labels by which all ranks know the largest component."""

GIANT_SHARE = 1 / 4
"""Of the samples, that a component has at least whose arcs are left out."""

HOPS = 4
"""Times at most that unions go on before labels are replaced."""

Steps = Generator[Ticket, dict[int, Any], Any]


class Pairs(NamedTuple):
    """Vertices of a rank, and others that they are to be united with."""

    places: NDArray[Any]  # uint32
    values: NDArray[Any]  # in the type of a vertex

    @property
    def nbytes(self) -> int:
        """Count what they take on their way."""
        return int(self.places.nbytes + self.values.nbytes)


class ComponentsRank:
    """One rank's labels, and what it still has to tell other ranks.

    Parameters
    ----------
    symmetric : whether every arc has its reverse.
    messages : unions, or questions for labels, that it sends at once at most.

    """

    def __init__(self, whole: RankPart, *, symmetric: bool, messages: int = 0) -> None:
        part, self.delegates, self.ranks = whole.graph, whole.delegates, whole.ranks
        self.part, self.rank, self.symmetric = part, part.rank, symmetric
        self.vertex_dtype = self.delegates.dtype
        self.local = whole.local
        count, vertex = len(self.delegates), self.vertex_dtype.str[1:]
        self.messages = messages or min(messages_of(self.ranks), self.local + count + 1)
        self._here = (self.rank, self.ranks)
        kept = make(components_on_cpu(self.local, count, vertex, self.messages), numpy)
        self._smallest, self._skipped, self._asked = kept["smallest"], kept["skipped"], kept["asked"]
        self._new = kept["new_at"], kept["new_to"]
        self._askers, self._wanted, self._answers = kept["askers"], kept["wanted"], kept["answers"]
        self.labels: NDArray[Any] = numpy.empty(0, self.vertex_dtype)

    def start(self) -> None:
        """Forget what was found, and join what own arcs join."""
        own, count, (rank, ranks) = self.local, len(self.delegates), self._here
        # The labels are what is found, and others may have those of the last run.
        made = make(trees_on_cpu(own, count, self.vertex_dtype.str[1:]), numpy)
        self.labels, parents = made["labels"], made.pop("parents")
        self._skipped.fill(0)
        label_forest.separate(self.delegates, rank, ranks, parents)
        label_forest.join_rows(*self.part.nd, count, 0, parents)
        label_forest.join_rows(*self.part.dd, 0, 0, parents)
        if not self.symmetric:
            label_forest.join_rows(*self.part.dn, 0, count, parents)
        label_forest.join_own(*self.part.nn, rank, ranks, self.symmetric, count, parents)
        compress(parents, 0, len(parents))
        trees = parents, self.delegates, rank, ranks, made["has_own"]
        label_forest.label_trees(*trees, self._smallest, self.labels)

    def delegates_left(self) -> Callable[[int], tuple[bool, Any, Any]]:
        """Give unions of delegates with their trees, at most so many a call, and whether more follow."""
        at = 0

        def some(budget: int) -> tuple[bool, Any, Any]:
            nonlocal at
            new = [each[:budget] for each in self._new]
            given = self.delegates, self._smallest, self.labels, *self._here, *new
            at, count = label_forest.unite_delegates(at, *given)
            return at < len(self.delegates), new[0][:count], new[1][:count]

        return some

    def arcs_left(self, which: int) -> Callable[[int], tuple[bool, Any, Any]]:
        """Give unions of the ends of nn arcs to other ranks, as `delegates_left` does."""
        row = arc = 0

        def some(budget: int) -> tuple[bool, Any, Any]:
            nonlocal row, arc
            new = [each[:budget] for each in self._new]
            given = *self.part.nn, which, self._skipped, self.labels, *self._here, *new
            row, arc, count = label_forest.arcs_to_others(row, arc, *given)
            return row < self.local, new[0][:count], new[1][:count]

        return some

    def unite(self, pairs: Pairs) -> tuple[NDArray[Any], NDArray[Any]]:
        """Take in unions of own vertices; returns those that go on elsewhere."""
        at, to = (numpy.empty(len(pairs.places), self.vertex_dtype) for _ in range(2))
        count = label_forest.unite(*pairs, self.labels, *self._here, at, to)
        return at[:count], to[:count]

    def by_owner(self, at: NDArray[Any], to: NDArray[Any]) -> list[Pairs]:
        """Sort unions by the rank of the first vertex."""
        order, starts = self._sorted(at)
        places = (at[order] // self.vertex_dtype.type(self.ranks)).astype(numpy.uint32)
        values = to[order]
        cuts = [slice(starts[rank], starts[rank + 1]) for rank in range(self.ranks)]
        return [Pairs(places[cut], values[cut]) for cut in cuts]

    def _sorted(self, vertices: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
        owners = (vertices % self.vertex_dtype.type(self.ranks)).astype(numpy.uint16)
        order = numpy.argsort(owners, kind="stable")
        ends = numpy.cumsum(numpy.bincount(owners, minlength=self.ranks))
        return order, [0, *ends.tolist()]

    def ask(self, first: int) -> tuple[int, list[NDArray[Any]], Callable[[list[Any]], bool]]:
        """Ask for the labels of labels, from a place on; returns the next place, and what to ask each rank.

        The last that is returned takes the answers in, and tells whether any label fell.
        """
        where = self._asked, self._askers, self._wanted, self._answers
        upto, count, distinct = label_forest.ask(first, self.labels, *self._here, *where)
        wanted = self._wanted[:distinct]
        order, starts = self._sorted(wanted)
        places = (wanted[order] // self.vertex_dtype.type(self.ranks)).astype(numpy.uint32)

        def take(answers: list[Any]) -> bool:
            found = numpy.empty(distinct, self.vertex_dtype)
            found[order] = numpy.concatenate(answers)
            fell: bool = label_forest.replace(self._askers[:count], self._answers[:count], found, self.labels)
            return fell

        return upto, [places[starts[rank] : starts[rank + 1]] for rank in range(self.ranks)], take

    def tops(self, places: NDArray[Any]) -> NDArray[Any]:
        """Find where the labels of own vertices lead on this rank."""
        tops = numpy.empty(len(places), self.vertex_dtype)
        label_forest.tops_of(places, self.labels, *self._here, tops)
        return tops

    def flatten(self, giant: int) -> None:
        """Leave out vertices of the component with root `giant`, or with -1 end with roots for labels."""
        label_forest.flatten(self.labels, *self._here, giant, self._skipped)


@dataclass(frozen=True)
class RankComponents:
    """What one rank knows at the end; vertex v of the graph is entry v // p of rank v mod p."""

    component: NDArray[Any]  # in the type of a vertex
    milliseconds: float
    rounds: int  # in which unions were sent
    delegate_bytes: int  # sent for delegates
    vertex_bytes: int  # sent for other vertices


class _Exchange:
    """What the ranks tell each other, and the bytes of it that this rank sends."""

    def __init__(self, end: Endpoint, state: ComponentsRank) -> None:
        self._end, self._state = end, state
        self.rounds = self.sent_bytes = 0
        self._questions = 0  # of all ranks, when labels were replaced last

    def unite(self, left: Callable[[int], tuple[bool, Any, Any]]) -> Steps:
        """Send unions until none is left on any rank."""
        end, state = self._end, self._state
        none = numpy.empty(0, state.vertex_dtype)
        on: Sequence[NDArray[Any]] = (none, none)
        walked = hops = under_way = 0
        more = True
        while True:
            # What is under way anywhere may come to one rank.
            budget = max(0, state.messages - under_way // end.size) if more else 0
            more_follow, at, to = left(budget)
            more = more and more_follow
            going = len(on[0])
            parcels = state.by_owner(*(numpy.concatenate(both) for both in zip(on, (at, to), strict=True)))
            self.sent_bytes += sum(parcels[rank].nbytes for rank in end.others)
            message = {rank: (going, more or len(at) > 0, parcels[rank]) for rank in end.others}
            arrived = yield from swap(end, message)
            arrived[end.rank] = (going, more or len(at) > 0, parcels[end.rank])
            del message, parcels
            under_way = sum(count for count, _, _ in arrived.values())
            if not under_way and not any(follow for _, follow, _ in arrived.values()):
                return
            self.rounds += 1
            passed = [state.unite(arrived.pop(rank)[2]) for rank in range(end.size)]
            on = [numpy.concatenate(each) for each in zip(*passed, strict=True)]
            walked, hops = walked + under_way, hops + (under_way > 0)
            if hops and (walked >= self._questions or hops >= HOPS):
                yield from self.replace()
                walked = hops = 0

    def replace(self) -> Steps:
        """Replace labels of other ranks' vertices by those vertices' labels; returns whether any fell."""
        end, state = self._end, self._state
        first, fell, self._questions = 0, False, 0
        while True:
            first, questions, take = state.ask(first)
            follows = first < state.local
            self.sent_bytes += sum(questions[rank].nbytes for rank in end.others)
            asked = yield from swap(end, {rank: (follows, questions[rank]) for rank in end.others})
            answers = {rank: state.tops(places) for rank, (_, places) in asked.items()}
            self.sent_bytes += sum(each.nbytes for each in answers.values())
            self._questions += sum(map(len, questions)) * end.size
            found = yield from swap(end, answers)
            found[end.rank] = state.tops(questions[end.rank])
            fell |= take([found[rank] for rank in range(end.size)])
            if not follows and not any(follow for follow, _ in asked.values()):
                break
        counted = yield from gather(end, (fell, self._questions))
        self._questions = sum(count for _, count in counted) // end.size
        return any(each for each, _ in counted)

    def replace_all(self) -> Steps:
        """Replace labels until all are roots."""
        while (yield from self.replace()):
            pass

    def giant(self) -> Steps:
        """Find the root of the component that most sampled vertices are of; -1 where they are too few."""
        state, count = self._state, min(self._state.local, -(-SAMPLES // self._end.size))
        places = numpy.linspace(0, state.local, count, endpoint=False).astype(numpy.uint32)
        sampled = numpy.concatenate((yield from gather(self._end, state.tops(places))))
        roots, counts = numpy.unique(sampled, return_counts=True)
        enough = len(sampled) > 0 and counts.max() >= GIANT_SHARE * len(sampled)
        return int(roots[numpy.argmax(counts)]) if enough else -1


def components_program(end: Endpoint, state: ComponentsRank) -> Program[RankComponents]:
    """Find components as one rank; every rank runs this with its own state."""
    started = time.perf_counter()
    state.start()
    exchange = _Exchange(end, state)
    yield from exchange.unite(state.delegates_left())
    delegate_bytes, which = exchange.sent_bytes, label_forest.ALL
    if state.symmetric:
        yield from exchange.unite(state.arcs_left(label_forest.SAMPLED))
        yield from exchange.replace_all()
        giant = yield from exchange.giant()
        if giant >= 0:
            state.flatten(giant)
        else:
            which = label_forest.DESCENDING
    yield from exchange.unite(state.arcs_left(which))
    yield from exchange.replace_all()
    state.flatten(-1)
    return RankComponents(
        state.labels,
        (time.perf_counter() - started) * 1e3,
        exchange.rounds,
        delegate_bytes,
        exchange.sent_bytes - delegate_bytes,
    )


def compile_for(part: RankPart, *, symmetric: bool) -> None:
    """Compile what `components_program` takes for such arrays, on a graph without vertices."""
    none: dict[str, Any] = {
        name: Subgraph(rows.row_offsets[:1], rows.column_indices[:0])
        for name in ("nn", "nd", "dn", "dd")
        if (rows := part.graph.subgraph(name))
    }
    empty = RankPart(replace(part.graph, rank=0, **none), part.delegates[:0], 0, 1)
    state = ComponentsRank(empty, symmetric=symmetric, messages=1)
    run_in_lock_step(lambda end: components_program(end, state), 1)


def components_of_rank(wire: Wire, state: ComponentsRank) -> RankComponents:
    """Find components as one rank of a rank group; every rank calls this with its own state."""
    return drive(components_program(Endpoint(wire), state), wire)


def joined(ranks: Sequence[RankComponents], milliseconds: float) -> ComponentsResult:
    """Put the ranks' labels together to those of the graph."""
    component = numpy.empty(sum(len(rank.component) for rank in ranks), ranks[0].component.dtype)
    for place, rank in enumerate(ranks):
        component[place :: len(ranks)] = rank.component
    return ComponentsResult(component, milliseconds, "partition")


def components(graph: PartitionedGraph, *, symmetric: bool) -> ComponentsResult:
    """Label every vertex with the smallest vertex of its component, in the numbering that was partitioned.

    Parameters
    ----------
    symmetric : whether every arc has its reverse; without it all arcs between normal vertices are followed.

    Returns labels in the dtype of the delegate list, with the time of all rounds.

    """
    p = graph.ranks
    ranks = [ComponentsRank(graph.of_rank(rank), symmetric=symmetric) for rank in range(p)]
    started = time.perf_counter()
    found = run_in_lock_step(lambda end: components_program(end, ranks[end.rank]), p)
    return joined(found, (time.perf_counter() - started) * 1e3)
