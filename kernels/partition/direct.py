"""Normal vertices point to point, and their predecessors at the end (sections V-B and VI-A3).

What was sent in a level lies in order on both sides. When the search has ended, each receiver asks with one
bit for each vertex that came for the tails of those arcs that found a vertex without a delegate for a
predecessor, and gets these alone, as 32-bit ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.exchange import Endpoint, Ticket, swap
from kernels.partition.rank_search import Bins, RankSearch, unique_smallest

Steps = Generator[Ticket, dict[int, Any], None]


def joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Join arrays, of which there may be none."""
    return numpy.concatenate(parts) if parts else numpy.empty(0, dtype)


def as_bits(answers: Sequence[NDArray[Any]]) -> NDArray[numpy.uint8]:
    """Pack yes and no of all levels."""
    return numpy.packbits(joined(answers, numpy.bool_))


def from_bits(bits: NDArray[Any], count: int) -> NDArray[numpy.bool_]:
    """Read what `as_bits` packed."""
    return numpy.unpackbits(bits, count=count).view(numpy.bool_)


class Direct:
    """Every rank sends to every other."""

    def __init__(self, end: Endpoint, state: RankSearch, *, tree: bool) -> None:
        self._end, self._state, self._tree = end, state, tree
        self._tails: dict[int, list[NDArray[Any]]] = defaultdict(list)
        self._came: dict[int, list[tuple[int, NDArray[Any]]]] = defaultdict(list)
        self.sent_bytes = 0

    def deliver(self, bins: Bins) -> Steps:
        """Send a level's vertices, and take in those that come."""
        end, state = self._end, self._state
        parcels = {}
        for to in end.others:
            ids, tails = bins.of(to)
            if state.options.uniquify:
                ids, tails = unique_smallest(ids, tails)
            parcels[to] = ids
            self.sent_bytes += ids.nbytes
            if self._tree and len(ids):
                self._tails[to].append(tails)
        ids, tails = bins.of(end.rank)
        state.receive(ids)
        if self._tree:
            state.candidates(ids, tails, level=state.level, scale=end.size, shift=end.rank)
        for sender, came in (yield from swap(end, parcels)).items():
            state.receive(came)
            if self._tree and len(came):
                self._came[sender].append((state.level, came))

    def answer(self) -> Steps:
        """Exchange the predecessors that are asked for; every rank does so once, after the last level."""
        end, state = self._end, self._state
        wanted = {rank: [state.wanted(ids, level) for level, ids in self._came[rank]] for rank in end.others}
        questions = yield from swap(end, {rank: as_bits(wanted[rank]) for rank in end.others})
        replies = {}
        for rank, bits in questions.items():
            tails = joined(self._tails[rank], numpy.uint32)
            replies[rank] = tails[from_bits(bits, len(tails))]
        self.sent_bytes += sum(reply.nbytes for reply in replies.values())
        for rank, tails in (yield from swap(end, replies)).items():
            first = 0
            for (level, ids), asked in zip(self._came[rank], wanted[rank], strict=True):
                count = int(asked.sum())
                of_level = tails[first : first + count]
                state.candidates(ids[asked], of_level, level=level, scale=end.size, shift=rank)
                first += count
