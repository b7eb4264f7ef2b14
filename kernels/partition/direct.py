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

from gravel.kernels.exchange import Endpoint, Groups, Stopwatch, Ticket, post_arrays, swap, take_arrays
from gravel.kernels.partition.rank_search import Bins, RankSearch
from gravel.kernels.partition.visits import smallest_each

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
    """Every rank sends to every other; with groups what mates send is waited for first.

    `local_milliseconds` and `local_bytes` are of the exchange with the mates, in `sent_bytes` too.
    """

    def __init__(self, end: Endpoint, state: RankSearch, *, tree: bool, groups: Groups | None = None) -> None:
        self._end, self._state, self._tree = end, state, tree
        self._mates = groups.mates if groups is not None else ()
        self._far = tuple(rank for rank in end.others if rank not in self._mates)
        self.local_milliseconds, self.local_bytes = 0.0, 0
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
                ids, tails = smallest_each(ids, tails)
            parcels[to] = ids
            self.sent_bytes += ids.nbytes
            self.local_bytes += ids.nbytes if to in self._mates else 0
            if self._tree and len(ids):
                self._tails[to].append(tails)
        most, watch = state.options.message_bytes, Stopwatch()
        near = end.post({mate: parcels[mate] for mate in self._mates}, self._mates) if self._mates else None
        far = post_arrays(end, {to: parcels[to] for to in self._far}, self._far, most)
        came = {} if near is None else (yield near)
        if near is not None:
            self.local_milliseconds += watch.lap()
        ids, tails = bins.of(end.rank)
        state.receive(ids)
        if self._tree:
            state.candidates(ids, tails, level=state.level, scale=end.size, shift=end.rank)
        came |= yield from take_arrays(far)
        for sender in end.others:
            state.receive(came[sender])
            if self._tree and len(came[sender]):
                self._came[sender].append((state.level, came[sender]))

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
