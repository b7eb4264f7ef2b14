"""Texts in two arrays, as Arrow has them, and sets of texts that several threads add to."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.ids.distinct import distinct
from gravel.kernels.ids.text import common_prefix, fill_slots, hash_texts, insert_texts, sort_keys, take_texts

SHARDS = 16
"""Parts of a set, by hash: as many threads may add at once. A power of two."""

LEAST_SLOTS = 1 << 10

MAX_PER_SHARD = (1 << 32) - 2
"""Texts of one shard: a slot has 32 bits for the number."""


class Texts(NamedTuple):
    """Text i is `text[offsets[i]:offsets[i + 1]]`: uint8, and int64, one more than there are texts."""

    text: NDArray[Any]
    offsets: NDArray[Any]

    @property
    def size(self) -> int:
        """The number of texts."""
        return len(self.offsets) - 1

    @staticmethod
    def of(array: Any) -> Texts:
        """Return the texts of an array of Arrow's large strings or binaries without nulls, not copied."""
        _, ends, data = array.buffers()
        if not len(array):
            return Texts(numpy.empty(0, numpy.uint8), numpy.zeros(1, numpy.int64))
        offsets = numpy.frombuffer(ends, numpy.int64)[array.offset : array.offset + len(array) + 1]
        return Texts(numpy.frombuffer(data, numpy.uint8) if data else numpy.empty(0, numpy.uint8), offsets)

    def item(self, number: int) -> bytes:
        """Return one text."""
        return self.text[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def taken(self, which: NDArray[Any]) -> Texts:
        """Return the texts of these numbers."""
        size = int((self.offsets[which + 1] - self.offsets[which]).sum())
        taken = Texts(numpy.empty(size, numpy.uint8), numpy.empty(len(which) + 1, numpy.int64))
        take_texts(self.text, self.offsets, which, *taken)
        return taken

    def blocks(self, size: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield the bytes and the ends of some texts at a time."""
        for first in range(0, self.size, size):
            ends = self.offsets[first + 1 : first + size + 1]
            yield self.text[self.offsets[first] : ends[-1]], ends


def ascending(texts: Texts) -> NDArray[Any]:
    """Return the numbers of different texts in ascending order of their bytes.

    Of UTF-8 that is the order of code points. Takes 24 bytes a text beside the result: a sort by 8 bytes at a
    time, from the first byte in which texts differ, of those that are equal so far.
    """
    count = texts.size
    if not count:
        return numpy.empty(0, numpy.int64)
    depth = common_prefix(*texts)
    everything = numpy.arange(count)
    keys = numpy.empty(count, numpy.uint64)
    more = sort_keys(*texts, everything, depth, keys)
    order = numpy.argsort(keys)
    keys = keys[order]
    equal = numpy.flatnonzero(keys[1:] == keys[:-1])
    # Members of groups of equal keys, by their places in the order, and the group of each.
    places = distinct(numpy.concatenate([equal, equal + 1]))
    groups = numpy.cumsum(numpy.concatenate([[True], keys[places][1:] != keys[places][:-1]])[: len(places)])
    while len(places):
        members = order[places]
        depth += 8
        if not more:
            # All bytes are alike: what is left are zeros at the end, and the shorter text comes first.
            lengths = texts.offsets[members + 1] - texts.offsets[members]
            order[places] = members[numpy.lexsort((lengths, groups))]
            break
        keys = numpy.empty(len(members), numpy.uint64)
        more = sort_keys(*texts, members, depth, keys)
        sorted_ = numpy.lexsort((keys, groups))
        order[places] = members[sorted_]
        keys = keys[sorted_]
        same = numpy.flatnonzero((keys[1:] == keys[:-1]) & (groups[1:] == groups[:-1]))
        kept = distinct(numpy.concatenate([same, same + 1]))
        changed = (keys[kept][1:] != keys[kept][:-1]) | (groups[kept][1:] != groups[kept][:-1])
        places, groups = places[kept], numpy.cumsum(numpy.concatenate([[True], changed])[: len(kept)])
    return order


class _Shard:
    """A hash table of texts that grows."""

    def __init__(self, seed: int) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self._seed = seed
        self._slots = numpy.zeros(LEAST_SLOTS, numpy.uint64)
        self._text = numpy.empty(1 << 14, numpy.uint8)
        self._offsets = numpy.zeros(1 << 10, numpy.int64)

    def add(
        self, texts: Texts, hashes: NDArray[Any], order: NDArray[Any], size: int, shard: int, codes: Any
    ) -> None:
        self._grow(len(order), size)
        self.count = insert_texts(
            *texts, hashes, order, self._slots, self._text, self._offsets, self.count, SHARDS, shard, codes
        )

    def _grow(self, more: int, size: int) -> None:
        """Make room for so many texts of so many bytes, whether they are known or not."""
        wanted = self.count + more
        if wanted > MAX_PER_SHARD:
            raise OverflowError(f"more than {SHARDS * MAX_PER_SHARD:,} different texts")
        if wanted >= len(self._offsets):
            self._offsets = _larger(self._offsets, wanted + 1)
        bytes_ = int(self._offsets[self.count]) + size
        if bytes_ > len(self._text):
            self._text = _larger(self._text, bytes_)
        if 4 * wanted > 3 * len(self._slots):
            slots = len(self._slots)
            while 4 * wanted > 3 * slots:
                slots *= 2
            self._slots = numpy.zeros(slots, numpy.uint64)
            fill_slots(self._text, self._offsets, self.count, self._seed, self._slots)

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + self._text.nbytes + self._offsets.nbytes

    @property
    def texts(self) -> Texts:
        offsets = self._offsets[: self.count + 1]
        return Texts(self._text[: offsets[-1]], offsets)

    def drop(self) -> None:
        self._slots = self._slots[:0].copy()


class TextSet:
    """Different texts. Each gets a code when it first comes, and at the end a rank in ascending order.

    Codes depend on the order in which threads add texts; ranks depend on the texts alone. A text takes its
    bytes and some 40 beside, both up to 1.5 times while a table grows.
    """

    def __init__(self) -> None:
        # Whoever writes a file cannot know which texts collide.
        self._seed = secrets.randbits(63)
        self._shards = [_Shard(self._seed) for _ in range(SHARDS)]

    def add(self, texts: Texts) -> NDArray[Any]:
        """Add texts, and return the code of each; any threads may."""
        count = texts.size
        hashes, order = numpy.empty(count, numpy.uint64), numpy.empty(count, numpy.int64)
        starts, sizes = numpy.empty(SHARDS + 1, numpy.int64), numpy.empty(SHARDS, numpy.int64)
        hash_texts(*texts, self._seed, SHARDS, hashes, starts, sizes, order)
        codes = numpy.empty(count, numpy.int64)
        waiting = [shard for shard in range(SHARDS) if starts[shard] < starts[shard + 1]]
        while waiting:
            # Another thread may be at a shard: the next one meanwhile, if it is free.
            shard = waiting.pop(0)
            if not self._shards[shard].lock.acquire(blocking=not waiting):
                waiting.append(shard)
                shard = waiting.pop(0)
                self._shards[shard].lock.acquire()
            try:
                which = order[starts[shard] : starts[shard + 1]]
                self._shards[shard].add(texts, hashes, which, int(sizes[shard]), shard, codes)
            finally:
                self._shards[shard].lock.release()
        return codes

    @property
    def count(self) -> int:
        """The number of different texts."""
        return sum(shard.count for shard in self._shards)

    @property
    def nbytes(self) -> int:
        """Memory that is taken."""
        return sum(shard.nbytes for shard in self._shards)

    def ranked(self, dtype: Any = numpy.int64) -> tuple[Texts, NDArray[Any]]:
        """Return all texts, ascending, and the rank of each code; the set is used up.

        Takes as much memory again as the set, and 32 bytes a text beside.
        """
        parts = []
        for shard in self._shards:
            shard.drop()
            parts.append(shard.texts)
        whole = Texts(
            numpy.concatenate([part.text for part in parts]),
            numpy.concatenate([[0], numpy.cumsum(numpy.concatenate([numpy.diff(p.offsets) for p in parts]))]),
        )
        codes = numpy.concatenate([numpy.arange(p.size) * SHARDS + s for s, p in enumerate(parts)])
        self._shards = [_Shard(self._seed) for _ in range(SHARDS)]
        del parts
        order = ascending(whole)
        ranks = numpy.empty(int(codes.max()) + 1 if len(codes) else 0, dtype)
        ranks[codes[order]] = numpy.arange(len(order), dtype=dtype)
        return whole.taken(order), ranks


def _larger(array: NDArray[Any], least: int) -> NDArray[Any]:
    larger = numpy.empty(max(least, len(array) + len(array) // 2), array.dtype)
    larger[: len(array)] = array
    return larger
