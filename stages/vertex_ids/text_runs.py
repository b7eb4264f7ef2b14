"""Ids that are texts, in bounded memory: sets of them become sorted runs in a file, which are merged.

Edges have codes in a set first. A set that has grown too large is closed: its texts are written in ascending
order, and later edges go to another set. At the end the runs are merged into one table of all ids, and each
run learns the rank of each of its texts there.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.stages.scratch_file import ScratchFile
from gravel.stages.texts import Texts, TextSet

MAPS = 2
"""Tables from codes to ranks that are in memory at once: edges of two sets meet where one set ends."""

LEAST_BLOCK = 1 << 16
"""Bytes of a run that are read at once, at least."""


class _Set:
    """A set that is added to, and how many chunks with its codes are under way."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.texts = TextSet()
        self.under_way = 0


class TextRuns:
    """Codes of texts, and ranks of the codes when all texts are there.

    `memory` bounds a set, twice: once while it grows, and once more while it is sorted.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        self._limit = memory // 2
        self._lock = threading.Lock()
        self._file = ScratchFile(folder)
        self._current = _Set(0)
        self._closing: dict[int, _Set] = {}
        self._runs: dict[int, _Run] = {}
        self._maps: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._whole: Texts | None = None
        self.count = 0

    def add(self, texts: Texts) -> tuple[int, NDArray[Any]]:
        """Return the set that took the texts, and the code of each; any threads may add.

        Whoever uses the codes calls `added` with that number, in one thread.
        """
        with self._lock:
            current = self._current
            current.under_way += 1
        return current.number, current.texts.add(texts)

    def added(self, number: int) -> None:
        """Note that codes have come to their place; a set that is too large is closed then."""
        with self._lock:
            current = self._current
            taken = current if number == current.number else self._closing[number]
            taken.under_way -= 1
            if taken is current and current.texts.nbytes > self._limit:
                self._current = _Set(number + 1)
                self._closing[number] = current
            done = taken.number in self._closing and not taken.under_way
        if done:
            self._close(self._closing.pop(taken.number))

    def _close(self, done: _Set) -> None:
        texts, ranks = done.texts.ranked()
        self._runs[done.number] = _Run(self._file, texts, ranks)

    def finish(self) -> None:
        """Sort and merge; nothing may be added after this."""
        if not self._runs:
            self._whole, ranks = self._current.texts.ranked()
            self.count = self._whole.size
            self._maps[0] = ranks
            return
        if self._current.texts.count:
            self._close(self._current)
        self._current = _Set(-1)

    def blocks(self) -> Iterator[Texts]:
        """Yield all ids, ascending, each once; to be exhausted before ranks are asked for."""
        if self._whole is not None:
            step = 1 << 18
            for first in range(0, self._whole.size, step):
                offsets = self._whole.offsets[first : first + step + 1]
                yield Texts(self._whole.text[offsets[0] : offsets[-1]], offsets - offsets[0])
            self._whole = None
            return
        runs = list(self._runs.values())
        size = max(LEAST_BLOCK, self._limit // (4 * len(runs)))
        blocks = [run.read(size) for run in runs]
        while True:
            for place, run in enumerate(runs):
                if not blocks[place].size:
                    blocks[place] = run.read(size)
            filled = [place for place in range(len(runs)) if blocks[place].size]
            if not filled:
                break
            # Up to the smallest of their last texts, the blocks in hand are complete.
            bound = min(blocks[place].item(blocks[place].size - 1) for place in filled)
            merged, cuts = TextSet(), {}
            codes = {}
            for place in filled:
                block = blocks[place]
                cuts[place] = cut = _count_upto(block, bound)
                codes[place] = merged.add(Texts(block.text, block.offsets[: cut + 1]))
                blocks[place] = Texts(block.text, block.offsets[cut:])
            texts, ranks = merged.ranked()
            for place in filled:
                runs[place].map(ranks[codes[place]] + self.count)
            self.count += texts.size
            yield texts

    def ranks(self, number: int) -> NDArray[Any]:
        """Return the rank of each code of a set."""
        found = self._maps.get(number)
        if found is None:
            while len(self._maps) >= MAPS:
                self._maps.popitem(last=False)
            found = self._maps[number] = self._runs[number].ranks()
        self._maps.move_to_end(number)
        return found

    def close(self) -> None:
        """Give up memory and disk."""
        self._maps.clear()
        self._whole = None
        self._file.close()


def _count_upto(block: Texts, bound: bytes) -> int:
    """Count the texts of an ascending block that are not above a bound."""
    return bisect_right(range(block.size), bound, key=block.item)


class _Run:
    """Ascending texts in a file, with the rank of each code among them, and later among all."""

    def __init__(self, file: ScratchFile, texts: Texts, ranks: NDArray[Any]) -> None:
        self._file = file
        self._count, self._codes = texts.size, len(ranks)
        self._text, self._ends = file.append(texts.text), file.append(texts.offsets[1:])
        self._of_codes = file.append(ranks)
        self._mapped = file.append(numpy.empty(texts.size, numpy.int64))
        self._read = 0
        self._read_bytes = 0
        self._written = 0

    def read(self, size: int) -> Texts:
        """Return the next texts, of about so many bytes with their ends; none at the end."""
        # Ends first: how many texts fit is known by them.
        some = min(self._count - self._read, max(1, size // 16))
        ends = self._file.read(self._ends + 8 * self._read, some, numpy.int64)
        fits = max(1, int(numpy.searchsorted(ends, self._read_bytes + size, side="right")))
        ends = ends[:fits]
        if not len(ends):
            return Texts(numpy.empty(0, numpy.uint8), numpy.zeros(1, numpy.int64))
        text = self._file.read(self._text + self._read_bytes, int(ends[-1]) - self._read_bytes, numpy.uint8)
        offsets = numpy.concatenate([[self._read_bytes], ends]) - self._read_bytes
        self._read += len(ends)
        self._read_bytes = int(ends[-1])
        return Texts(text, offsets)

    def map(self, ranks: NDArray[Any]) -> None:
        """Keep the ranks of the next texts among all."""
        self._file.write(self._mapped + 8 * self._written, ranks)
        self._written += len(ranks)

    def ranks(self) -> NDArray[Any]:
        mapped = self._file.read(self._mapped, self._count, numpy.int64)
        of_codes = self._file.read(self._of_codes, self._codes, numpy.int64)
        # Codes that no text has lead anywhere.
        found: NDArray[Any] = mapped[numpy.clip(of_codes, 0, self._count - 1)]
        return found
