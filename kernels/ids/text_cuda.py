"""Which texts are equal, found on the GPU; the kernels are `text.cu`.

What differs is sorted on the host, which has it anyway: an id is asked for there.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.ids.buffers import numbers_of_texts

SOURCE = "kernels/ids/text.cu"
MAX_ROWS = (1 << 32) - 2
"""Texts that are looked at together: a slot has 32 bits for the number of one."""

Part = tuple[NDArray[Any], NDArray[Any]]
"""Bytes, uint8, and int64 offsets of texts, one more than there are texts; the first need not be 0."""


class TextTable:
    """Texts in the device's memory, with those that differ.

    `text` (uint8) and `offsets` (int64, one more than there are) are the different texts, in any order, on
    the host. Raises ValueError for more than `MAX_ROWS` texts.
    """

    def __init__(self, parts: Sequence[Part], seed: int | None = None) -> None:
        import cupy

        rows = sum(len(offsets) - 1 for _, offsets in parts)
        if rows > MAX_ROWS:
            raise ValueError(f"{rows:,} texts; {MAX_ROWS:,} fit one table")
        self._run = Kernels(SOURCE).run
        self._rows = rows
        text, offsets = self._uploaded(parts, rows)
        self._first_equal, self._numbers, listed, slots = make(numbers_of_texts(rows), cupy).values()
        count = cupy.zeros(1, numpy.uint64)
        # Whoever writes a file cannot know which texts collide.
        start = secrets.randbits(63) if seed is None else seed
        table = slots, len(slots) - 1, self._first_equal, self._numbers, listed, count
        self._run("insert_texts", rows, text, offsets, rows, start, *table)
        self.count = int(count.get()[0])
        del slots, table
        self.text, self.offsets = self._different(text, offsets, listed)

    def vertices(self, ranks: NDArray[numpy.uint32], first: int, last: int) -> Any:
        """Return the rank of each of the texts from `first` to before `last`, uint32 on the device.

        `ranks` (count,) are those of the different texts.
        """
        import cupy

        found = cupy.empty(last - first, numpy.uint32)
        which = self._first_equal[first:last], self._numbers, cupy.asarray(ranks)
        self._run("rank_texts", last - first, *which, last - first, found)
        return found

    def _uploaded(self, parts: Sequence[Part], rows: int) -> tuple[Any, Any]:
        import cupy

        size = sum(int(offsets[-1] - offsets[0]) for _, offsets in parts)
        text, whole = cupy.empty(size, numpy.uint8), cupy.empty(rows + 1, numpy.int64)
        at = row = 0
        for content, offsets in parts:
            begin, end, more = int(offsets[0]), int(offsets[-1]), len(offsets) - 1
            text[at : at + end - begin].set(content[begin:end])
            # The last of a part is the first of the next one.
            there = whole[row : row + more + 1]
            there.set(numpy.ascontiguousarray(offsets))
            self._run("shift_offsets", more + 1, there, more + 1, numpy.int64(at - begin))
            at, row = at + end - begin, row + more
        return text, whole

    def _different(self, text: Any, offsets: Any, listed: Any) -> Part:
        import cupy

        ends = cupy.zeros(self.count + 1, numpy.int64)
        self._run("text_lengths", self.count, offsets, listed, self.count, ends[1:])
        cupy.cumsum(ends, out=ends)
        host = ends.get()
        copies = cupy.empty(int(host[-1]), numpy.uint8)
        self._run("copy_texts", self.count, text, offsets, listed, self.count, ends, copies)
        return copies.get(), host
