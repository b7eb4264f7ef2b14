"""Ways of normal vertices to their ranks, and of their predecessors at the end (sections V-B and VI-A3).

`Direct` sends point to point. `LocalAllToAll` goes first within the group, then between ranks of one place in
their groups: a rank gives each mate what goes to the mate's place in any group; the mate joins what all gave
it and sends that on, as one parcel a group. Parcels are fewer and larger, and uniquify finds more duplicates.
Predecessors come back on the same way.

What was sent in a level lies in order on both sides. When the search has ended, or much was sent, each
receiver asks with one bit for each vertex that came for the tails of those arcs that found a vertex without a
delegate for a predecessor, and gets these alone, as 32-bit ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Groups, Stopwatch, Ticket, post_arrays, swap, take_arrays
from gravel.kernels.partition.rank_search import NOBODY, Bins, RankSearch
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
        self.sent_bytes = self.answer_bytes = self.kept = 0

    def deliver(self, bins: Bins) -> Steps:
        """Send a level's vertices, and take in those that come."""
        end, state = self._end, self._state
        parcels = {}
        for to in end.others:
            ids, tails = bins.of(to)
            if state.options.uniquify and not state.options.culls:
                ids, tails = smallest_each(ids, tails)
            parcels[to] = ids
            self.sent_bytes += ids.nbytes
            self.local_bytes += ids.nbytes if to in self._mates else 0
            if self._tree and len(ids):
                # Bins go when the level has been sent.
                self._tails[to].append(tails.copy())
                self.kept += len(tails)
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
                self.kept += len(came[sender])

    def answer(self) -> Steps:
        """Exchange the predecessors of what was sent since the last time; all ranks do so at once."""
        end, state = self._end, self._state
        wanted = {rank: [state.wanted(ids, level) for level, ids in self._came[rank]] for rank in end.others}
        questions = yield from swap(end, {rank: as_bits(wanted[rank]) for rank in end.others})
        replies = {}
        for rank, bits in questions.items():
            tails = joined(self._tails[rank], numpy.uint32)
            replies[rank] = tails[from_bits(bits, len(tails))]
        self.answer_bytes += sum(reply.nbytes for reply in replies.values())
        for rank, tails in (yield from swap(end, replies)).items():
            first = 0
            for (level, ids), asked in zip(self._came[rank], wanted[rank], strict=True):
                count = int(asked.sum())
                of_level = tails[first : first + count]
                state.candidates(ids[asked], of_level, level=level, scale=end.size, shift=rank)
                first += count
        self._tails.clear()
        self._came.clear()
        self.kept = 0


Answers = Generator[Ticket, dict[int, Any], dict[int, Any]]


@dataclass
class _Joined:
    """What went on to one twin in a level: whose it was, and where each id went among those sent."""

    sizes: dict[int, int]  # by origin
    sent: int
    places: NDArray[Any] | None  # of each id among those sent, None for its own place


class LocalAllToAll:
    """As `Direct`, in two hops."""

    def __init__(self, end: Endpoint, state: RankSearch, groups: Groups, *, tree: bool) -> None:
        self._end, self._state, self._groups, self._tree = end, state, groups, tree
        self._origins = sorted((end.rank, *groups.mates))
        self._tails: dict[int, list[NDArray[Any]]] = defaultdict(list)
        self._here: list[tuple[int, dict[int, NDArray[Any]]]] = []
        self._joined: list[dict[int, _Joined]] = []
        self._came: dict[int, list[tuple[int, NDArray[Any]]]] = defaultdict(list)
        self.sent_bytes = self.answer_bytes = self.kept = 0
        self.local_milliseconds, self.local_bytes = 0.0, 0

    def deliver(self, bins: Bins) -> Steps:
        """Send a level's vertices, and take in those that come."""
        end, state, groups = self._end, self._state, self._groups
        watch = Stopwatch()
        given: dict[int, list[NDArray[Any]]] = {}
        for mate in self._origins:
            pairs = [bins.of(groups.at(group, mate % groups.members)) for group in range(groups.count)]
            given[mate] = [ids for ids, _ in pairs]
            if self._tree:
                self._tails[mate].append(joined([tails for _, tails in pairs], numpy.uint32))
            if mate != end.rank:
                given_bytes = sum(ids.nbytes for ids in given[mate])
                self.sent_bytes += given_bytes
                self.local_bytes += given_bytes
        gathered = yield end.post({mate: given[mate] for mate in groups.mates}, groups.mates)
        gathered[end.rank] = given[end.rank]
        here = {origin: gathered[origin][groups.group] for origin in self._origins}
        for ids in here.values():
            state.receive(ids)
        parcels, records = {}, {}
        for twin in groups.twins:
            parts = [gathered[origin][twin // groups.members] for origin in self._origins]
            parcels[twin], places = joined(parts, numpy.uint32), None
            if state.options.uniquify:
                parcels[twin], places = numpy.unique(parcels[twin], return_inverse=True)
            self.sent_bytes += parcels[twin].nbytes
            sizes = {origin: len(part) for origin, part in zip(self._origins, parts, strict=True)}
            records[twin] = _Joined(sizes, len(parcels[twin]), places)
        # What uniquify takes belongs to the local exchange, as in the paper's figure 8.
        self.local_milliseconds += watch.lap()
        most = state.options.message_bytes
        came = yield from take_arrays(post_arrays(end, parcels, groups.twins, most))
        for twin in groups.twins:
            state.receive(came[twin])
            if self._tree and len(came[twin]):
                self._came[twin].append((state.level, came[twin]))
        if self._tree:
            self._here.append((state.level, here))
            self._joined.append(records)

    def answer(self) -> Steps:
        """Exchange the predecessors that are asked for; every rank does so once, after the last level."""
        end, state, groups = self._end, self._state, self._groups
        asked_of = {
            twin: [state.wanted(ids, level) for level, ids in self._came[twin]] for twin in groups.twins
        }
        asked = yield end.post({twin: as_bits(asked_of[twin]) for twin in groups.twins}, groups.twins)
        by_twin = self._levels_of(asked)
        wanted = {origin: self._wanted(origin, by_twin) for origin in self._origins}
        bits = {mate: as_bits(wanted[mate]) for mate in groups.mates}
        questions = yield end.post(bits, groups.mates)
        questions[end.rank] = as_bits(wanted[end.rank])
        replies = {}
        for mate in self._origins:
            tails = joined(self._tails[mate], numpy.uint32)
            replies[mate] = tails[from_bits(questions[mate], len(tails))]
        self.answer_bytes += sum(replies[mate].nbytes for mate in groups.mates)
        tails_by = yield end.post({mate: replies[mate] for mate in groups.mates}, groups.mates)
        tails_by[end.rank] = replies[end.rank]
        onward = self._sort_back(tails_by, wanted, by_twin)
        self.answer_bytes += sum(vertices.nbytes for vertices in onward.values())
        final = yield end.post(onward, groups.twins)
        for twin in groups.twins:
            first = 0
            for (level, ids), chosen in zip(self._came[twin], asked_of[twin], strict=True):
                count = int(chosen.sum())
                state.candidates(ids[chosen], final[twin][first : first + count], level=level)
                first += count
        for kept in (self._tails, self._here, self._joined, self._came):
            kept.clear()

    def _levels_of(self, asked: dict[int, NDArray[Any]]) -> list[dict[int, NDArray[Any]]]:
        """Cut the twins' questions into levels."""
        levels: list[dict[int, NDArray[Any]]] = [{} for _ in self._joined]
        for twin in self._groups.twins:
            answers = from_bits(asked[twin], sum(records[twin].sent for records in self._joined))
            first = 0
            for level, records in zip(levels, self._joined, strict=True):
                level[twin] = answers[first : first + records[twin].sent]
                first += records[twin].sent
        return levels

    def _parts(self, record: _Joined, origin: int) -> tuple[slice, NDArray[Any] | None]:
        """Say where an origin's ids stood among those joined, and where they went among those sent."""
        first = sum(size for other, size in record.sizes.items() if other < origin)
        part = slice(first, first + record.sizes[origin])
        return part, None if record.places is None else record.places[part]

    def _wanted(self, origin: int, by_twin: list[dict[int, NDArray[Any]]]) -> list[NDArray[Any]]:
        """Tell which of an origin's ids are asked for, in the order in which it gave them."""
        answers = []
        for (level, here), records, asked in zip(self._here, self._joined, by_twin, strict=True):
            for group in range(self._groups.count):
                twin = self._groups.at(group, self._groups.member)
                if twin == self._end.rank:
                    answers.append(self._state.wanted(here[origin], level))
                    continue
                part, places = self._parts(records[twin], origin)
                answers.append(asked[twin][part if places is None else places])
        return answers

    def _sort_back(
        self,
        tails_by: dict[int, NDArray[Any]],
        wanted: dict[int, list[NDArray[Any]]],
        by_twin: list[dict[int, NDArray[Any]]],
    ) -> dict[int, NDArray[Any]]:
        """Use what comes for this rank, and join what goes on to each twin, smallest first come or not."""
        best = [
            {twin: numpy.full(record.sent, NOBODY) for twin, record in records.items()}
            for records in self._joined
        ]
        for origin in self._origins:
            vertices = tails_by[origin].astype(numpy.int64) * self._end.size + origin
            first = 0
            chosen = iter(wanted[origin])
            for (level, here), records, smallest in zip(self._here, self._joined, best, strict=True):
                for group in range(self._groups.count):
                    twin = self._groups.at(group, self._groups.member)
                    asked = next(chosen)
                    some = vertices[first : first + int(asked.sum())]
                    first += len(some)
                    if twin == self._end.rank:
                        self._state.candidates(here[origin][asked], some, level=level)
                        continue
                    part, places = self._parts(records[twin], origin)
                    where = numpy.arange(part.start, part.stop) if places is None else places
                    numpy.minimum.at(smallest[twin], where[asked], some)
        return {
            twin: joined(
                [smallest[twin][asked[twin]] for smallest, asked in zip(best, by_twin, strict=True)],
                numpy.int64,
            )
            for twin in self._groups.twins
        }
