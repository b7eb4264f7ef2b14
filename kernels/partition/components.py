"""Connected components over a partition: FastSV (Zhang, Azad, Hu, SIAM PP 2020) with delegate reductions.

Every vertex holds a label, first itself, that only ever falls. In a round each vertex learns its label's
label, hooks itself and its label onto the smallest of its neighbours' label's labels, and shortcuts to its
own. Labels of delegates are kept equal on all ranks by a minimum over the ranks; values for a normal vertex
of another rank travel point to point. The labels that no longer change are each component's smallest vertex.

Labels are int64 vertices. `labels` are those of the rank's own vertices, a delegate's at its owner; `grand`
the labels of those labels. Of the delegates every rank holds `delegate_grand`.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult
from gravel.kernels.exchange import Endpoint, Program, Ticket, Wire, drive, gather, run_in_lock_step, swap
from gravel.kernels.jit import serial
from gravel.kernels.partition.buffers import components_on_cpu
from gravel.kernels.partition.layout import PartitionedGraph, RankPart, row_lengths
from gravel.kernels.partition.visits import smallest_each

UNSENT = numpy.iinfo(numpy.int64).max
"""Larger than any label."""


class Pairs(NamedTuple):
    """Labels for some places of a rank, or of the delegates: the smaller ones stay."""

    places: NDArray[Any]  # uint32
    values: NDArray[Any]  # in the type of a vertex

    @property
    def nbytes(self) -> int:
        """Count what they take on their way."""
        return int(self.places.nbytes + self.values.nbytes)


@serial
def _best_neighbours(rows, offsets, columns, row_labels, column_labels, best_rows, best_columns):  # type: ignore[no-untyped-def]
    """Give both ends of every arc the smaller of what they know and the other end's label."""
    for row in range(rows):
        own = row_labels[row]
        best = best_rows[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            best = min(best, column_labels[column])
            best_columns[column] = min(best_columns[column], own)
        best_rows[row] = best


@serial
def keep_smaller(places, values, labels):  # type: ignore[no-untyped-def]
    """Lower `labels[places]` to `values` where these are smaller."""
    for position in range(len(places)):
        place = numpy.int64(places[position])
        value = numpy.int64(values[position])
        labels[place] = min(labels[place], value)


class ComponentsRank:
    """One rank's state; `start` makes every vertex its own component again.

    Parameters
    ----------
    symmetric : whether every arc has its reverse. Without it a rank also asks for the labels of the other
        ends of its nn arcs; `wanted(r)` are those of rank r.

    """

    def __init__(self, whole: RankPart, *, symmetric: bool) -> None:
        part, delegates, ranks = whole.graph, whole.delegates, whole.ranks
        self.part, self.rank, self.ranks, self.symmetric = part, part.rank, ranks, symmetric
        self.vertex_dtype = delegates.dtype
        self.own = numpy.flatnonzero(delegates % ranks == part.rank)
        columns = part.nn.column_indices
        self._local = whole.local
        kept = make(components_on_cpu(self._local, len(delegates), len(columns)), numpy)
        self.labels: NDArray[Any] = kept["labels"]
        self._sent = kept["sent"]
        self.delegates, self.delegate_grand = kept["delegates"], kept["delegate_grand"]
        self._tails, self._heads = kept["tails"], kept["heads"]
        self.delegates[:] = delegates
        self.own_places = self.delegates[self.own] // ranks
        owners = (columns % columns.dtype.type(ranks)).astype(numpy.uint16)
        order = numpy.argsort(owners, kind="stable")
        self._starts = numpy.searchsorted(owners[order], numpy.arange(ranks + 1))
        rows = numpy.repeat(numpy.arange(self._local, dtype=numpy.uint32), row_lengths(part.nn))
        # Without a mode, NumPy makes a copy of what it takes.
        numpy.take(rows, order, out=self._tails, mode="clip")
        heads = (columns // columns.dtype.type(ranks)).astype(numpy.uint32)
        numpy.take(heads, order, out=self._heads, mode="clip")
        self._distinct: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
        if not symmetric:
            for other in range(ranks):
                self._distinct[other] = numpy.unique(self._heads[self._arcs_to(other)], return_inverse=True)
        self.start()

    def _arcs_to(self, rank: int) -> slice:
        return slice(int(self._starts[rank]), int(self._starts[rank + 1]))

    def start(self) -> None:
        """Forget all that was found."""
        self.labels[:] = numpy.arange(self.rank, self.rank + self._local * self.ranks, self.ranks)
        self.grand = self._best = self.labels
        self.delegate_grand[:] = self.delegates
        self._sent.fill(UNSENT)

    def wanted(self, rank: int) -> NDArray[Any]:
        """Give the places at a rank to which nn arcs lead from here, uint32, each once."""
        return self._distinct[rank][0]

    def visit_delegates(self) -> Pairs:
        """Follow nd, dn and dd arcs; returns what delegates can be lowered to."""
        part, best = self.part, self.grand.copy()
        best_delegates = self.delegate_grand.copy()
        here, there = self.grand, self.delegate_grand
        _best_neighbours(len(best), *part.nd, here, there, best, best_delegates)
        _best_neighbours(len(best_delegates), *part.dn, there, here, best_delegates, best)
        _best_neighbours(len(best_delegates), *part.dd, there, there, best_delegates, best_delegates)
        self._best = best
        falls = numpy.flatnonzero(best_delegates < self.delegate_grand)
        return Pairs(falls.astype(numpy.uint32), best_delegates[falls].astype(self.vertex_dtype))

    def visit_normals(self) -> list[Pairs]:
        """Give what the heads of nn arcs can be lowered to, by rank; only tails that fell since last time.

        A head was lowered to what it was sent before, so that sending it again would change nothing.
        """
        fell = self.grand < self._sent
        self._sent[:] = self.grand
        found = []
        for rank in range(self.ranks):
            arcs = self._arcs_to(rank)
            tails = self._tails[arcs]
            live = fell[tails]
            values = self.grand[tails[live]]
            heads, values = smallest_each(self._heads[arcs][live], values)
            found.append(Pairs(heads, values.astype(self.vertex_dtype)))
        return found

    def lower(self, pairs: Pairs) -> None:
        """Take in what arcs of any rank bring to own vertices."""
        keep_smaller(*pairs, self._best)

    def lower_tails(self, rank: int, answers: NDArray[Any]) -> None:
        """Take in, at the tails of nn arcs to a rank, the labels of `wanted(rank)` there."""
        _, places = self._distinct[rank]
        keep_smaller(self._tails[self._arcs_to(rank)], answers[places], self._best)

    def lower_delegates(self, pairs: Pairs) -> None:
        """Take in what a rank found for delegates, at those that are owned here."""
        at = numpy.searchsorted(self.own, pairs.places)
        known = at < len(self.own)
        known[known] = self.own[at[known]] == pairs.places[known]
        keep_smaller(self.own_places[at[known]], pairs.values[known], self._best)

    def shortcut(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Lower the labels; returns the labels that fell, each once, and the smallest that they fell to."""
        falls = self._best < self.labels
        before, after = self.labels[falls], self._best[falls]
        numpy.minimum(self.labels, self._best, out=self.labels)
        return smallest_each(before, after)

    def hook(self, places: NDArray[Any], values: NDArray[Any]) -> None:
        """Lower own vertices that were the label of what fell."""
        keep_smaller(places, values, self.labels)


@dataclass(frozen=True)
class RankComponents:
    """What one rank knows at the end; vertex v of the graph is entry v // p of rank v mod p."""

    component: NDArray[Any]  # in the type of a vertex
    milliseconds: float
    rounds: int
    delegate_bytes: int  # sent for delegates
    vertex_bytes: int  # sent for other vertices


class _Exchange:
    """What the ranks tell each other in a round, and the bytes of it that this rank sends."""

    def __init__(self, end: Endpoint, state: ComponentsRank) -> None:
        self._end, self._state = end, state
        self._wanted_there: dict[int, NDArray[Any]] = {}
        self.delegate_bytes = self.vertex_bytes = 0

    def ask(self) -> Generator[Ticket, dict[int, Any], None]:
        """Learn which labels other ranks want every round, where the graph is not symmetric."""
        state, others = self._state, self._end.others
        if not state.symmetric:
            self._wanted_there = yield from swap(self._end, {rank: state.wanted(rank) for rank in others})

    def look_up(self) -> Generator[Ticket, dict[int, Any], NDArray[Any]]:
        """Give the labels of the own vertices' labels: a request, and a reply."""
        end, labels, p = self._end, self._state.labels, self._end.size
        if p == 1:
            own: NDArray[Any] = labels[labels]
            return own
        distinct, places = numpy.unique(labels, return_inverse=True)
        owner = distinct % p
        requests = {rank: (distinct[owner == rank] // p).astype(numpy.uint32) for rank in range(p)}
        asked = yield from swap(end, {rank: requests[rank] for rank in end.others})
        kind = self._state.vertex_dtype
        replies = {rank: labels[wanted].astype(kind) for rank, wanted in asked.items()}
        self.vertex_bytes += sum(requests[rank].nbytes + replies[rank].nbytes for rank in end.others)
        answers = yield from swap(end, replies)
        answers[end.rank] = labels[requests[end.rank]]
        found = numpy.empty(len(distinct), numpy.int64)
        for rank, answer in answers.items():
            found[owner == rank] = answer
        return found[places]

    def delegates(self) -> Generator[Ticket, dict[int, Any], None]:
        """Give every rank the labels of the delegates' labels, which their owners know."""
        state, end = self._state, self._end
        known = state.grand[state.own_places].astype(state.vertex_dtype)
        self.delegate_bytes += known.nbytes * len(end.others)
        for rank, values in enumerate((yield from gather(end, known))):
            state.delegate_grand[state.delegates % end.size == rank] = values

    def tails(self) -> Generator[Ticket, dict[int, Any], None]:
        """Bring the labels of the heads of nn arcs to their tails, where the graph is not symmetric."""
        state, end = self._state, self._end
        if state.symmetric:
            return
        replies = {
            rank: state.grand[there].astype(state.vertex_dtype) for rank, there in self._wanted_there.items()
        }
        self.vertex_bytes += sum(reply.nbytes for reply in replies.values())
        answers = yield from swap(end, replies)
        answers[end.rank] = state.grand[state.wanted(end.rank)]
        for rank, labels in answers.items():
            state.lower_tails(rank, labels)

    def visit(self) -> Generator[Ticket, dict[int, Any], None]:
        """Follow all arcs; the reduction of the delegates is under way while nn arcs are visited."""
        state, end = self._state, self._end
        delegates = state.visit_delegates()
        self.delegate_bytes += delegates.nbytes * len(end.others)
        begun = end.post(dict.fromkeys(end.others, delegates), end.others)
        normals = state.visit_normals()
        self.vertex_bytes += sum(normals[rank].nbytes for rank in end.others)
        arrived = yield from swap(end, {rank: normals[rank] for rank in end.others})
        for pairs in (*arrived.values(), normals[end.rank]):
            state.lower(pairs)
        yield from self.tails()
        for pairs in (*(yield begun).values(), delegates):
            state.lower_delegates(pairs)

    def hooks(self) -> Generator[Ticket, dict[int, Any], bool]:
        """Lower what was the label of a vertex that fell, wherever it lives; say whether any label fell."""
        state, end, p = self._state, self._end, self._end.size
        vertices, values = state.shortcut()
        owner = vertices % p
        parcels = {}
        for rank in range(p):
            mine = owner == rank
            places = (vertices[mine] // p).astype(numpy.uint32)
            parcels[rank] = Pairs(places, values[mine].astype(state.vertex_dtype))
        self.vertex_bytes += sum(parcels[rank].nbytes for rank in end.others)
        message = {rank: (len(vertices) > 0, parcels[rank]) for rank in end.others}
        gathered = yield from swap(end, message)
        state.hook(*parcels[end.rank])
        for _, pairs in gathered.values():
            state.hook(*pairs)
        return len(vertices) > 0 or any(fell for fell, _ in gathered.values())


def components_program(end: Endpoint, state: ComponentsRank) -> Program[RankComponents]:
    """Find components as one rank; every rank runs this with its own state."""
    started = time.perf_counter()
    state.start()
    exchange = _Exchange(end, state)
    yield from exchange.ask()
    rounds, falling = 0, True
    while falling:
        state.grand = yield from exchange.look_up()
        yield from exchange.delegates()
        yield from exchange.visit()
        falling = yield from exchange.hooks()
        rounds += 1
    return RankComponents(
        state.labels.astype(state.vertex_dtype),
        (time.perf_counter() - started) * 1e3,
        rounds,
        exchange.delegate_bytes,
        exchange.vertex_bytes,
    )


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
    symmetric : whether every arc has its reverse; without it arcs between normal vertices are followed
        both ways at the cost of a further exchange.

    Returns labels in the dtype of the delegate list, with the time of all rounds.

    """
    p = graph.ranks
    ranks = [ComponentsRank(graph.of_rank(rank), symmetric=symmetric) for rank in range(p)]
    started = time.perf_counter()
    found = run_in_lock_step(lambda end: components_program(end, ranks[end.rank]), p)
    return joined(found, (time.perf_counter() - started) * 1e3)
