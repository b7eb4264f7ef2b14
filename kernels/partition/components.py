"""Connected components over a partition: FastSV (Zhang, Azad, Hu, SIAM PP 2020) with delegate reductions.

Every vertex holds a label, first itself, that only ever falls. In a round each vertex learns its label's
label, hooks itself and its label onto the smallest of its neighbours' label's labels, and shortcuts to its
own. Labels of delegates are kept equal on all ranks by a minimum over the ranks; values for a normal vertex
of another rank travel point to point. The labels that no longer change are each component's smallest vertex.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.exchange import Endpoint, Program, Ticket, Wire, drive, gather, run_in_lock_step, swap
from gravel.kernels.partition.components_rank import ComponentsRank, Pairs
from gravel.kernels.partition.layout import PartitionedGraph


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
            return labels[labels]
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
        told = yield from swap(end, message)
        state.hook(*parcels[end.rank])
        for _, pairs in told.values():
            state.hook(*pairs)
        return len(vertices) > 0 or any(fell for fell, _ in told.values())


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
    """Find components as one rank of a gang; every rank calls this with its own state."""
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
