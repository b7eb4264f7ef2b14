"""A set of ids that no bitmap covers: sorted runs, merged at the end, in memory or in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy
from numpy.typing import NDArray

from gravel.kernels.ids.distinct import distinct
from gravel.stages.streams.opening import explain

Ids = NDArray[numpy.int64]

MAX_RUNS = 64
"""Open files at once; more runs are merged into one."""


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
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if int(self.read(middle, 1)[0]) < bound:
                low = middle + 1
            else:
                high = middle
        return low

    def close(self) -> None:
        """Give up memory and disk."""
        self._parts = []
        for run in (*self._runs, *([self._table] if self._table else [])):
            run.close()


class _Run:
    """Ascending ids in a file that has no name."""

    def __init__(self, folder: Path, ids: Ids | None = None) -> None:
        self._folder = folder
        self.count = 0
        try:
            self._file: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise explain(error, str(folder)) from None
        if ids is not None:
            self.append(ids)

    def append(self, ids: Ids) -> None:
        try:
            self._file.write(numpy.ascontiguousarray(ids).view(numpy.uint8).data)
            self._file.flush()
        except OSError as error:
            raise explain(error, str(self._folder)) from None
        self.count += len(ids)

    def read(self, first: int, count: int) -> Ids:
        self._file.seek(8 * first)
        return numpy.frombuffer(self._file.read(8 * count), numpy.int64)

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
