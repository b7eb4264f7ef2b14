"""Predecessors over ranks from final distances, as `gravel.kernels.sssp` defines them.

The predecessor of a vertex is the smallest that is strictly nearer, of all ranks. Where there is none, arcs
of length zero are followed breadth-first from those that have theirs, by all ranks together.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Ticket, gather, swap
from gravel.kernels.jit import serial
from gravel.kernels.partition.masks import Joining, Reduction
from gravel.kernels.partition.path_rank import PathRank
from gravel.kernels.sssp.cpu.words import lengthened

NONE = numpy.uint32(0xFFFFFFFF)
"""No tail of an arc: local ids are smaller."""

Steps = Generator[Ticket, dict[int, Any], Any]


@serial
def _offer(  # type: ignore[no-untyped-def]
    rows, scale, shift, names, words, offsets, columns, weights, there, equal, best
):
    """Keep the smallest of the rows as predecessor of what their arcs lead to.

    Arcs count that make a vertex just as far as it is, of a row that is nearer, or equally near if `equal`.
    Row r is vertex names[r] or, without names, r * scale + shift.
    """
    for i in range(len(rows)):
        row = numpy.int64(rows[i])
        word = words[row]
        name = best.dtype.type(names[row]) if len(names) else best.dtype.type(row * scale + shift)
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            to = columns[arc]
            at = there[to]
            if (word == at if equal else word < at) and lengthened(word, weights[arc]) == at:
                best[to] = min(best[to], name)


@serial
def _take(ids, came, tails, scale, shift, words, best):  # type: ignore[no-untyped-def]
    """Take in offers for own vertices, of those that reach them by what was sent."""
    for i in range(len(ids)):
        v = numpy.int64(ids[i])
        if came[i] == words[v]:
            name = best.dtype.type(numpy.int64(tails[i]) * scale + shift)
            best[v] = min(best[v], name)


class _Offers:
    """Exchanges what rows of all ranks offer: the smallest predecessors of own vertices and delegates."""

    def __init__(self, end: Endpoint, state: PathRank) -> None:
        assert state.tree_dtype is not None
        self._end, self._state, self._dtype = end, state, state.tree_dtype
        self.none = self._dtype.type(numpy.iinfo(self._dtype).max)
        joining = Joining(numpy.minimum, self.none)
        self._reduction = Reduction(end, changed_only=True, joining=joining)
        self.sent_bytes = 0

    def exchange(
        self, normal: NDArray[Any], delegates: NDArray[Any], *, equal: bool, going: int = 0
    ) -> Steps:
        """Let these own vertices and delegates offer; returns what own vertices and delegates get.

        The last that is returned is the sum of what all ranks say is `going` on.
        """
        end, state, own = self._end, self._state, self._state.normal.words
        part, weights, of = state.part, state.weights, state.of_delegates.words
        unnamed = state.delegates[:0]
        best = numpy.full(state.local, self.none)
        best_of = numpy.full(len(state.delegates), self.none)
        here = normal, state.ranks, state.rank, unnamed, own
        there = delegates, 0, 0, state.delegates, of
        _offer(*here, *part.nd, weights["nd"], of, equal, best_of)
        _offer(*there, *part.dd, weights["dd"], of, equal, best_of)
        begun = self._reduction.begin(best_of) if len(best_of) else None
        _offer(*there, *part.dn, weights["dn"], own, equal, best)
        tails = state.trees[2]
        assert tails is not None
        tails.fill(NONE)
        local = normal, 1, 0, unnamed, own
        nn = part.nn.row_offsets, state.heads.compact_ids, weights["nn"]
        _offer(*local, *nn, state.sent, equal, tails)
        parcels = {rank: self._parcel(tails, rank) for rank in range(end.size)}
        self.sent_bytes += sum(each.nbytes for rank in end.others for each in parcels[rank])
        came = yield from swap(end, {rank: (going, *parcels[rank]) for rank in end.others})
        came[end.rank] = going, *parcels[end.rank]
        for rank in range(end.size):
            _, ids, words, of_ids = came[rank]
            _take(ids, words, of_ids, end.size, rank, own, best)
        if begun is not None:
            best_of = yield from self._reduction.end(best_of, begun)
        return best, best_of, sum(each[0] for each in came.values())

    def _parcel(self, tails: NDArray[Any], rank: int) -> tuple[NDArray[Any], ...]:
        at = self._state.heads.at(rank)
        some = numpy.flatnonzero(tails[at] != NONE)
        return self._state.heads.ids[at][some], self._state.sent[at][some], tails[at][some]


def tree_program(end: Endpoint, state: PathRank) -> Steps:
    """Find predecessors as one rank, when distances are final; returns the bytes that it sends."""
    offers = _Offers(end, state)
    own, of, none = state.normal.words, state.of_delegates.words, offers.none
    tree, tree_of, _ = state.trees
    assert tree is not None
    assert tree_of is not None
    reached, reached_of = (numpy.flatnonzero(words != state.unreached) for words in (own, of))
    tree[:], tree_of[:], _ = yield from offers.exchange(reached, reached_of, equal=False)
    lacking, lacking_of = reached[tree[reached] == none], reached_of[tree_of[reached_of] == none]
    sources = int(state.source_local >= 0)
    lack = len(lacking) - sources + len(lacking_of) - (state.source_place is not None)
    if not sum((yield from gather(end, lack))):
        return offers.sent_bytes
    normal, delegates = (
        each[(found[each] != none) | (each == source)]
        for each, found, source in (
            (reached, tree, state.source_local),
            (reached_of, tree_of, -1 if state.source_place is None else state.source_place),
        )
    )
    while True:
        found, found_of, going = yield from offers.exchange(normal, delegates, equal=True, going=len(normal))
        if not going and not len(delegates):
            return offers.sent_bytes
        if state.source_local >= 0:
            found[state.source_local] = none
        if state.source_place is not None:
            found_of[state.source_place] = none
        normal = numpy.flatnonzero((tree == none) & (found != none))
        delegates = numpy.flatnonzero((tree_of == none) & (found_of != none))
        tree[normal], tree_of[delegates] = found[normal], found_of[delegates]
