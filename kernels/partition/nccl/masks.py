"""The OR of all ranks' masks over the delegates (section V-A), which NCCL has no operation for.

A rank knows from one small gather how many words of each mask changed; where none did, nothing is sent. Else
the cheapest way is taken, by bytes that a rank receives and steps that it takes:

=========  =============================================  ==========================  =====
way        what is done                                   bytes received              steps
=========  =============================================  ==========================  =====
changed    gather the words that changed, with places     8 (p - 1) x the most words  1
whole      gather all masks, and join them                4 (p - 1) W                 1
sliced     each rank joins its slice of all masks, and    8 W (p - 1) / p             2
           the slices are gathered
=========  =============================================  ==========================  =====

for p ranks and W words of 32 bits. An all-reduce (maximum) over bytes would take a byte for each bit: 64 W
(p - 1) / p, eight times what slices do, and kernels to unpack and pack. With groups masks go to the group's
first rank, from there to those of the other groups, and back, as in the paper.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Groups
from gravel.kernels.partition.nccl.communicator import Message, NcclCommunicator
from gravel.kernels.partition.nccl.launching import Kernels
from gravel.kernels.partition.nccl.layout import empty, pinned
from gravel.kernels.partition.options import SearchOptions

STEP_BYTES = 9e-6 * 306e9
"""What a rank could receive in the time of one step more (docs/tuning.md)."""


def choose_way(words: int, ranks: int, changed: int | None) -> str:
    """Choose how masks of so many words are joined; `changed` is the most words of a rank, if that is
    known.
    """
    costs = {
        "whole": 4.0 * (ranks - 1) * words,
        "sliced": 8.0 * (ranks - 1) / ranks * words + STEP_BYTES,
    }
    if changed is not None:
        costs["changed"] = 8.0 * (ranks - 1) * changed
    return min(costs, key=lambda way: (costs[way], way))


class MaskReduction:
    """Joins all ranks' `found` into `mask`, uint32 (words,), which is zero before.

    `mask` is longer than the words, so that its slices are equal. `begin` enqueues what tells the changes;
    `end` waits for that and enqueues the rest, so that other work may be enqueued in between.
    """

    def __init__(
        self,
        communicator: NcclCommunicator,
        kernels: Kernels,
        words: int,
        options: SearchOptions,
        stream: Any,
    ) -> None:
        self._communicator, self._kernels, self._stream = communicator, kernels, stream
        self._words = words
        rank, ranks = communicator.rank, communicator.size
        self._groups = Groups.of(rank, ranks, options.groups) if options.groups else None
        self._tells = options.changed_only
        self._slice = -(-words // ranks)
        self.mask = empty(max(1, ranks * self._slice), numpy.uint32)
        # Lists longer than the better of the other ways are never sent.
        self._room = -(-words // 2) if choose_way(words, ranks, None) == "whole" else self._slice
        self._room = max(1, self._room)
        rows = max(2 * ranks * self._room, ranks * self._slice)
        if self._groups is not None:
            rows = max(rows, max(self._groups.members, self._groups.count) * words)
        self._rows = empty(rows, numpy.uint32)
        self._pairs = empty(self._room, numpy.uint64)
        self.changed = empty(1, numpy.uint64)
        self._counts = empty(ranks, numpy.uint64)
        self._on_host = pinned(ranks)
        self.sent_bytes = 0

    def begin(self, found: Any, event: Any) -> None:
        """Count and list what changed; `changed` is zero before, and the event is recorded when all know."""
        if not self._tells or not self._words:
            return
        arguments = (found, self._pairs, self.changed, self._words, self._room)
        self._kernels.launch("list_changed", self._stream, *arguments, items=self._words)
        self._communicator.all_gather(self.changed, self._counts, self._stream)
        self._counts.get(stream=self._stream, out=self._on_host, blocking=False)
        event.record(self._stream)

    def end(self, found: Any, event: Any) -> Any:
        """Enqueue the rest; returns the array that will hold the OR, `mask` or `found`."""
        words, ranks = self._words, self._communicator.size
        if not words:
            return found
        changed: NDArray[Any] | None = None
        if self._tells:
            self._communicator.wait(event)
            changed = self._on_host.copy()
            if not changed.any():
                return found
        if self._groups is not None:
            self._in_two_phases(found, self._groups, changed)
            return self.mask
        most = self._room + 1 if changed is None else int(changed.max())
        way = choose_way(words, ranks, most if most <= self._room else None)
        if way == "changed":
            self._by_changes(most)
        elif way == "whole":
            rows = self._rows[: ranks * words]
            self._communicator.all_gather(found[:words], rows, self._stream)
            self._join(self.mask[:words], rows, ranks, words)
            self.sent_bytes += 4 * words * (ranks - 1)
        else:
            self._in_slices(found)
        return self.mask

    def _join(self, into: Any, rows: Any, count: int, stride: int, *, keep: bool = False) -> None:
        arguments = (into, rows, len(into), count, stride, int(keep))
        self._kernels.launch("join_words", self._stream, *arguments, items=max(1, len(into)))

    def _by_changes(self, most: int) -> None:
        ranks = self._communicator.size
        rows = self._rows.view(numpy.uint64)[: ranks * most]
        self._communicator.all_gather(self._pairs[:most], rows, self._stream)
        arguments = (self.mask, rows, self._counts, ranks, most)
        self._kernels.launch("join_changed", self._stream, *arguments, items=most)
        self.sent_bytes += 8 * most * (ranks - 1)

    def _bounds(self, rank: int) -> tuple[int, int]:
        return min(self._words, rank * self._slice), min(self._words, (rank + 1) * self._slice)

    def _in_slices(self, found: Any) -> None:
        rank, ranks = self._communicator.rank, self._communicator.size
        first, last = self._bounds(rank)
        width, own = self._slice, last - first
        others = [other for other in range(ranks) if other != rank]
        sends = [(to, found[slice(*self._bounds(to))]) for to in others if self._length(to)]
        receives = [(k, self._rows[i * width : i * width + own]) for i, k in enumerate(others) if own]
        self._communicator.exchange(sends, receives, self._stream)
        mine = self.mask[rank * width : (rank + 1) * width]
        if own:
            mine.data.copy_from_device_async(found[first:last].data, 4 * own, self._stream)
            self._join(mine[:own], self._rows, len(others), width, keep=True)
        self._communicator.all_gather(mine, self.mask, self._stream)
        self.sent_bytes += 4 * (self._words - own) + 4 * width * (ranks - 1)

    def _length(self, rank: int) -> int:
        first, last = self._bounds(rank)
        return last - first

    def _in_two_phases(self, found: Any, groups: Groups, changed: NDArray[Any] | None) -> None:
        """Whole masks of those ranks, and of those groups, in which anything changed."""
        words, rank = self._words, self._communicator.rank

        def some(ranks: tuple[int, ...] | list[int]) -> list[int]:
            return [other for other in ranks if changed is None or changed[other]]

        def group_changed(of: int) -> bool:
            return bool(some([groups.at(of // groups.members, member) for member in range(groups.members)]))

        if not groups.leads:
            if some([rank]):
                self._send([(groups.leader, found[:words])])
            self._communicator.exchange([], [(groups.leader, self.mask[:words])], self._stream)
            return
        self.mask[:words].data.copy_from_device_async(found.data, 4 * words, self._stream)
        self._collect(some(groups.mates), [])
        twins = [twin for twin in groups.twins if group_changed(twin)]
        self._collect(twins, list(groups.twins) if group_changed(rank) else [])
        self._send([(mate, self.mask[:words]) for mate in groups.mates])

    def _send(self, messages: list[Message]) -> None:
        if messages:
            self._communicator.exchange(messages, [], self._stream)
        self.sent_bytes += sum(4 * len(array) for _, array in messages)

    def _collect(self, senders: list[int], receivers: list[int]) -> None:
        """Join what comes into the mask, while what it was goes out."""
        words, width = self._words, self._words
        sends = [(to, self.mask[:words]) for to in receivers]
        receives = [(k, self._rows[i * width : i * width + words]) for i, k in enumerate(senders)]
        if sends or receives:
            self._communicator.exchange(sends, receives, self._stream)
        if senders:
            self._join(self.mask[:words], self._rows, len(senders), width, keep=True)
        self.sent_bytes += 4 * words * len(sends)
