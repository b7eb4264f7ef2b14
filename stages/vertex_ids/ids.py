"""The set of ids that occur in a file, and each id's rank in it.

Ids near each other are bits of one bitmap, which costs 1/8 byte each and knows ranks by counting; what lies
outside is kept sorted. So the usual file needs one bit per id, and no file needs more than the budget.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.ids import buffers
from gravel.kernels.ids.bitmap import count_before, mark, members, rank
from gravel.kernels.ids.buffers import BLOCK
from gravel.kernels.ids.distinct import distinct
from gravel.stages.scratch_file import ScratchFile

Ids = NDArray[numpy.int64]

_STRETCH = 1 << 14
"""Words of a bitmap looked at in one go."""

MAX_RUNS = 64
"""Open files at once; more runs are merged into one."""


class IdSet:
    """Set of ids: `add` them, from any threads, then `finish`; after that it has a size, an order and ranks.

    Of `memory` the bitmap takes half at most, its counts 1/8 of that, and the ids outside it the rest.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        self._bitmap: NDArray[Any] = buffers.words(buffers.words_within(memory)).make(numpy)
        self._span = 64 * len(self._bitmap)
        self._base: int | None = None
        self._last_bit = -1
        self._memory = memory // 3
        self._sparse = SparseIds(folder, self._memory)
        self._lock = threading.Lock()
        self._before = numpy.zeros(1, numpy.int64)
        self._table: Ids | None = None
        self.bitmap_count = 0
        self.below = 0
        self.count = 0
        self.first = 0
        self.last = -1

    def add(self, ids: Ids) -> int:
        """Add some ids 0..2^63-1, at least one, in any order; returns the largest of them."""
        with self._lock:
            if self._base is None:
                low, high = int(ids.min()), int(ids.max())
                # The bitmap lies where the first chunk is; 0 where that is within reach.
                self._base = 0 if high < self._span else max(0, low - self._span // 4) // 64 * 64
        outside = buffers.outside(len(ids)).make(numpy)
        left_out, highest = mark(self._bitmap, self._base, ids, outside)
        high = int(highest)
        with self._lock:
            if left_out:
                self._sparse.add(outside[:left_out])
            self._last_bit = max(self._last_bit, min(high - self._base, self._span - 1))
        return high

    def finish(self) -> None:
        """Count everything; no id may be added after this."""
        self._base = self._base or 0
        used = (self._last_bit // 64 + 1 + BLOCK - 1) // BLOCK * BLOCK
        self._bitmap = self._bitmap[:used]
        self._before = buffers.counts(used).make(numpy)
        count_before(self._bitmap, self._before)
        self.bitmap_count = int(self._before[-1])
        self._sparse.finish()
        self.below = self._sparse.position(self._base)
        self.count = self.bitmap_count + self._sparse.count
        if self.count:
            self.first = int(next(self.blocks(64 * _STRETCH))[0])
            self.last = self._last()

    @property
    def consecutive(self) -> bool:
        """Whether the ids are `first`, `first + 1`, ... without a gap."""
        return self.last - self.first + 1 == self.count

    @property
    def fits(self) -> bool:
        """Whether all ids that the bitmap does not cover may be in memory at once."""
        return 8 * self._sparse.count <= self._memory

    @property
    def block_size(self) -> int:
        """The number of sparse ids that may be in memory at once."""
        return max(1024, self._memory // 8)

    def covered_ranks(self, ids: Ids, ranks: Ids) -> None:
        """Write the ranks of the ids that the bitmap covers; the others' entries stay."""
        assert self._base is not None
        rank(self._bitmap, self._before, self._base, ids, ranks)
        if self.below:
            ranks[self._covered(ids)] += self.below

    def sparse_ranks(self, table: Ids, first: int, ids: Ids, ranks: Ids) -> None:
        """Write the ranks of ids that occur in `table`, a stretch of sparse ids from position `first` on."""
        wanted = numpy.flatnonzero((ids >= table[0]) & (ids <= table[-1]) & ~self._covered(ids))
        positions = first + numpy.searchsorted(table, ids[wanted])
        positions[positions >= self.below] += self.bitmap_count
        ranks[wanted] = positions

    def ranks(self, ids: NDArray[Any], dtype: Any) -> NDArray[Any]:
        """Return the ranks of ids that are all in the set and are used up; only where `fits`.

        Several threads may ask.
        """
        if self.consecutive and not self.first:
            return ids.astype(dtype, copy=False)
        out = ids if ids.dtype == dtype else numpy.empty(len(ids), dtype)
        if self.consecutive:
            numpy.subtract(ids, self.first, out=out, casting="unsafe")
            return out
        if not self._sparse.count:
            assert self._base is not None
            rank(self._bitmap, self._before, self._base, ids, out)
            return out
        return self._ranks(ids.astype(numpy.int64, copy=False)).astype(dtype)

    def _ranks(self, ids: Ids) -> Ids:
        found = numpy.empty(len(ids), numpy.int64)
        self.covered_ranks(ids, found)
        with self._lock:
            if self._table is None:
                self._table = self._sparse.read(0, self._sparse.count)
        self.sparse_ranks(self._table, 0, ids, found)
        return found

    def sparse_blocks(self) -> Iterator[tuple[int, Ids]]:
        """Yield the sparse ids in stretches that fit in memory, each with its first position."""
        for first in range(0, self._sparse.count, self.block_size):
            yield first, self._sparse.read(first, min(self.block_size, self._sparse.count - first))

    def blocks(self, size: int) -> Iterator[Ids]:
        """Yield all ids, ascending, some `size` at a time."""
        assert self._base is not None
        yield from self._sparse.blocks(0, self.below, size)
        words = max(1, size // 64)
        ids = numpy.empty(64 * words, numpy.int64)
        for word in range(0, len(self._bitmap), words):
            found = members(self._bitmap[word : word + words], self._base + 64 * word, ids)
            if found:
                yield ids[:found].copy()
        yield from self._sparse.blocks(self.below, self._sparse.count, size)

    def close(self) -> None:
        """Give up memory and disk."""
        self._bitmap = self._bitmap[:0].copy()
        self._sparse.close()

    def _covered(self, ids: Ids) -> NDArray[Any]:
        assert self._base is not None
        offsets = ids - self._base
        covered: NDArray[Any] = (offsets >= 0) & (offsets < len(self._bitmap) * 64)
        return covered

    def _last(self) -> int:
        assert self._base is not None
        if self._sparse.count == self.below and self.bitmap_count:
            # The end of the bitmap may lie far beyond its last id: look for it a stretch at a time.
            for end in range(len(self._bitmap), 0, -_STRETCH):
                begin = max(0, end - _STRETCH)
                words = numpy.flatnonzero(self._bitmap[begin:end])
                if len(words):
                    word = begin + int(words[-1])
                    return self._base + 64 * word + int(self._bitmap[word]).bit_length() - 1
        return int(self._sparse.read(self._sparse.count - 1, 1)[0])


class SparseIds:
    """Ids by the million without order; `memory` bounds what is held, the rest is sorted runs on disk."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder = folder
        # Sorting takes a copy, and so does joining: a third of the budget may be held, in ids of 8 bytes.
        self._limit = max(1024, memory // 24)
        self._parts: list[Ids] = []
        self._ids_in_memory = 0
        self._runs: list[_Run] = []
        self._table: _Run | None = None
        self.count = 0

    def add(self, ids: Ids) -> None:
        """Add ids in any order, duplicates allowed."""
        part = distinct(ids)
        self._parts.append(part)
        self._ids_in_memory += len(part)
        if self._ids_in_memory > self._limit:
            merged = self._join()
            if len(merged) > self._limit // 2:
                self._runs.append(_Run(self._folder, merged))
                self._parts, self._ids_in_memory = [], 0
                if len(self._runs) == MAX_RUNS:
                    self._runs = [self._merge()]

    def _join(self) -> Ids:
        merged = distinct(numpy.concatenate(self._parts)) if self._parts else numpy.empty(0, numpy.int64)
        self._parts, self._ids_in_memory = [merged], len(merged)
        return merged

    def finish(self) -> None:
        """Sort everything into one table; no id may be added after this."""
        merged = self._join()
        if not self._runs:
            self.count = len(merged)
            return
        self._runs.append(_Run(self._folder, merged))
        self._parts, self._ids_in_memory = [], 0
        self._table = self._merge()
        self._runs = []
        self.count = self._table.count

    def _merge(self) -> _Run:
        table = _Run(self._folder)
        for block in _merged(self._runs, max(1024, self._limit // (2 * len(self._runs)))):
            table.append(block)
        for run in self._runs:
            run.close()
        return table

    def read(self, first: int, count: int) -> Ids:
        """Return `count` ids of the table from position `first` on."""
        if self._table is None:
            return self._parts[0][first : first + count]
        return self._table.read(first, count)

    def blocks(self, first: int, last: int, size: int) -> Iterator[Ids]:
        """Yield positions `first` to `last` of the table, ascending, `size` ids at a time."""
        for begin in range(first, last, size):
            yield self.read(begin, min(size, last - begin))

    def position(self, bound: int) -> int:
        """Count the ids below a bound."""
        return bisect_left(range(self.count), bound, key=lambda place: int(self.read(place, 1)[0]))

    def close(self) -> None:
        """Give up memory and disk."""
        self._parts = []
        for run in (*self._runs, *([self._table] if self._table else [])):
            run.close()


class _Run:
    """Ascending ids in a file."""

    def __init__(self, folder: Path, ids: Ids | None = None) -> None:
        self._file = ScratchFile(folder)
        self.count = 0
        if ids is not None:
            self.append(ids)

    def append(self, ids: Ids) -> None:
        self._file.append(ids)
        self.count += len(ids)

    def read(self, first: int, count: int) -> Ids:
        return self._file.read(8 * first, min(count, self.count - first), numpy.int64)

    def close(self) -> None:
        self._file.close()


def _merged(runs: list[_Run], size: int) -> Iterator[Ids]:
    """Merge sorted runs: everything up to the smallest last id of the blocks in hand is complete."""
    taken = [0] * len(runs)
    blocks: list[Ids] = [numpy.empty(0, numpy.int64)] * len(runs)
    while True:
        for index, run in enumerate(runs):
            if not len(blocks[index]) and taken[index] < run.count:
                blocks[index] = run.read(taken[index], min(size, run.count - taken[index]))
                taken[index] += len(blocks[index])
        filled: list[Any] = [block for block in blocks if len(block)]
        if not filled:
            return
        bound = min(int(block[-1]) for block in filled)
        pieces = []
        for index, block in enumerate(blocks):
            cut = int(numpy.searchsorted(block, bound, side="right"))
            pieces.append(block[:cut])
            blocks[index] = block[cut:]
        yield distinct(numpy.concatenate(pieces))
