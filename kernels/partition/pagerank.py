"""PageRank over a partition: scores of delegates are reduced, those of normal vertices sent.

What is exchanged for each kind of vertex is from Pan, Pearce, Owens, IPDPS 2018, section VI-D. The start,
dangling vertices and the rule to stop are those of `gravel.kernels.pagerank`. In an iteration each rank
pushes what its rows pass on. What reaches a normal vertex of another rank goes there as one sum for each
vertex. What reaches delegates is added up over the ranks, each of which finishes an equal share of them. Sums
are added in the order of ranks, so that equal calls have equal results to the last bit.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.exchange import Endpoint, Program, Ticket, Wire, drive, gather, swap
from gravel.kernels.jit import serial
from gravel.kernels.partition.buffers import scores_on_cpu
from gravel.kernels.partition.heads import Heads
from gravel.kernels.partition.layout import RankPart, row_lengths


@dataclass(frozen=True)
class Surfer:
    """A random surfer over `vertices`, who stops where scores change by less than `bound` in all.

    `chosen` are the vertices that the surfer jumps to, ascending, in the numbering of the partition; None for
    all.
    """

    damping: float
    bound: float
    chosen: NDArray[Any] | None = None


@serial
def _push(offsets, columns, shares, sums):  # type: ignore[no-untyped-def]
    """Add the share of each row at the columns of its arcs."""
    for row in range(len(shares)):
        share = shares[row]
        if share != 0.0:
            for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
                sums[numpy.int64(columns[arc])] += share


class ScoresRank:
    """The scores of one rank's vertices and of all delegates, after `done` iterations."""

    def __init__(self, whole: RankPart, surfer: Surfer) -> None:
        part, p = whole.graph, whole.ranks
        self.part, self.rank, self.ranks, self.surfer = part, part.rank, p, surfer
        self.own = numpy.flatnonzero(whole.delegates % p == part.rank)
        self.own_places = whole.delegates[self.own] // p
        self._heads = Heads(part.nn.column_indices, p)
        kept = make(scores_on_cpu(whole.local, len(whole.delegates), len(self._heads.ids)), numpy)
        self._sums = kept["sums"]
        self._arrivals: dict[int, NDArray[Any]] = {}
        self._shares, self._inverse = kept["shares"], kept["inverse"]
        self._delegate_shares, self._delegate_inverse = kept["delegate_shares"], kept["delegate_inverse"]
        self._incoming, self._delegate_sums = kept["incoming"], kept["delegate_sums"]
        self.scores, self.delegate_scores = kept["scores"], kept["delegate_scores"]
        vertices = whole.vertex_count
        self.scores[:], self.delegate_scores[:] = 1.0 / vertices, 1.0 / vertices
        self.scores[self.own_places] = 0.0
        lengths = row_lengths(part.nn) + row_lengths(part.nd)
        numpy.divide(1.0, lengths, out=self._inverse, where=lengths > 0)
        self._dangling = lengths == 0
        self._dangling[self.own_places] = False
        self._jumps, self._delegate_jumps = self._jumps_of(whole)
        self._bounds = [len(whole.delegates) * rank // p for rank in range(p + 1)]
        self.done, self.residual, self._lost = 0, numpy.inf, 0.0

    def _jumps_of(self, whole: RankPart) -> tuple[Any, Any]:
        """Return the probabilities of a jump, to each own vertex and to each delegate."""
        chosen, p = self.surfer.chosen, self.ranks
        if chosen is None:
            return 1.0 / whole.vertex_count, 1.0 / whole.vertex_count
        jumps, delegate_jumps = numpy.zeros(whole.local), numpy.zeros(len(whole.delegates))
        jumps[chosen[chosen % p == self.rank] // p] = 1.0 / len(chosen)
        delegate_jumps[numpy.isin(whole.delegates, chosen)] = 1.0 / len(chosen)
        return jumps, delegate_jumps

    def share_of_delegates(self, rank: int) -> slice:
        """Give the delegates whose scores a rank finishes."""
        return slice(self._bounds[rank], self._bounds[rank + 1])

    def begin(self, end: Endpoint) -> Generator[Ticket, dict[int, Any], None]:
        """Learn to which own vertices others send, how many arcs leave each delegate, and what dangles."""
        part = self.part
        lengths = row_lengths(part.dn) + row_lengths(part.dd)
        dangling = float(self.scores[self._dangling].sum())
        heads = {rank: self._heads.ids[self._heads.at(rank)] for rank in range(self.ranks)}
        came = yield from swap(end, {rank: (heads[rank], dangling, lengths) for rank in end.others})
        came[self.rank] = heads[self.rank], dangling, lengths
        self._arrivals = {rank: came[rank][0] for rank in range(self.ranks)}
        self._lost = sum(came[rank][1] for rank in range(self.ranks))
        leaving = numpy.sum([came[rank][2] for rank in range(self.ranks)], axis=0)
        numpy.divide(1.0, leaving, out=self._delegate_inverse, where=leaving > 0)

    def iterate(self, end: Endpoint) -> Generator[Ticket, dict[int, Any], None]:
        """Make one iteration together with all other ranks."""
        part, p = self.part, self.ranks
        numpy.multiply(self.scores, self._inverse, out=self._shares)
        numpy.multiply(self.delegate_scores, self._delegate_inverse, out=self._delegate_shares)
        for sums in (self._sums, self._delegate_sums, self._incoming):
            sums.fill(0.0)
        _push(part.nn.row_offsets, self._heads.compact_ids, self._shares, self._sums)
        _push(*part.nd, self._shares, self._delegate_sums)
        _push(*part.dd, self._delegate_shares, self._delegate_sums)
        ticket = end.post({rank: self._parcel(rank) for rank in end.others}, end.others)
        _push(*part.dn, self._delegate_shares, self._incoming)
        came = yield ticket
        came[self.rank] = self._parcel(self.rank)
        for rank in range(p):
            self._incoming[self._arrivals[rank]] += came[rank][0]
        finished: Any = sum(came[rank][1] for rank in range(p))
        own = self.share_of_delegates(self.rank)
        at = self._delegate_jumps if isinstance(self._delegate_jumps, float) else self._delegate_jumps[own]
        finished = self._stepped(finished, at)
        residual = float(numpy.abs(finished - self.delegate_scores[own]).sum())
        stepped: Any = self._stepped(self._incoming, self._jumps)
        stepped[self.own_places] = 0.0
        residual += float(numpy.abs(stepped - self.scores).sum())
        self.scores[:] = stepped
        found = yield from gather(end, (finished, residual, float(stepped[self._dangling].sum())))
        for rank in range(p):
            self.delegate_scores[self.share_of_delegates(rank)] = found[rank][0]
        self.residual, self._lost = sum(each[1] for each in found), sum(each[2] for each in found)
        self.done += 1

    def _parcel(self, rank: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give what passes to normal vertices of a rank, and to the delegates that it finishes."""
        # Copies: threads and ranks in one process send no bytes.
        return (
            self._sums[self._heads.at(rank)].copy(),
            self._delegate_sums[self.share_of_delegates(rank)].copy(),
        )

    def _stepped(self, passed: NDArray[Any], jumps: Any) -> NDArray[Any]:
        damping = self.surfer.damping
        found: NDArray[Any] = damping * (passed + self._lost * jumps) + (1.0 - damping) * jumps
        return found

    def all_scores(self) -> NDArray[Any]:
        """Return the scores of the own vertices, delegates included."""
        found: NDArray[Any] = self.scores.copy()
        found[self.own_places] = self.delegate_scores[self.own]
        return found


def scores_program(end: Endpoint, state: ScoresRank, until: int) -> Program[None]:
    """Go on to iteration `until`, or until the scores hardly change, as one rank; all ranks run this."""
    if not state.done:
        yield from state.begin(end)
    while state.done < until and not state.residual < state.surfer.bound:
        yield from state.iterate(end)


def scores_of_rank(wire: Wire, state: ScoresRank, until: int) -> None:
    """Run `scores_program` as one rank of a rank group."""
    drive(scores_program(Endpoint(wire), state, until), wire)


def joined(ranks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put the scores of all ranks together, in the numbering of the partition."""
    scores = numpy.empty(sum(map(len, ranks)))
    for place, found in enumerate(ranks):
        scores[place :: len(ranks)] = found
    return scores
