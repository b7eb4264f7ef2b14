"""The ids of a rank: whole numbers or texts, a set that grows in runs on disk, and the place of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from gravel.stages.partitioning.ranges import ArrayFile
from gravel.stages.scratch_file import ScratchFile
from gravel.stages.texts import Texts
from gravel.stages.vertex_ids.ids import SparseIds
from gravel.stages.vertex_ids.text_runs import TextRuns

BLOCK = 1 << 18
"""Ids that are written to the table at once."""


class Table(Protocol):
    """Ids of a range; blocks of them are taken, and asked for again by the numbers that they got."""

    count: int

    def take(self, ids: Any) -> int:
        """Add ascending ids; returns the number of the block."""
        ...

    def finish(self) -> tuple[ArrayFile, ...]:
        """Sort all ids into files: whole numbers; or texts' bytes, and where each begins and ends."""
        ...

    def ranks(self, block: int) -> NDArray[numpy.int64]:
        """Return the place among all ids of each id of a block."""
        ...

    def close(self) -> None:
        """Give up memory and scratch files, but not those of the table."""
        ...


class _Grown:
    """A file that arrays are appended to."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path, self._dtype, self._length = path, numpy.dtype(dtype), 0
        self._file = path.open("wb")

    def append(self, array: NDArray[Any]) -> None:
        self._file.write(numpy.ascontiguousarray(array, self._dtype).view(numpy.uint8).data)
        self._length += len(array)

    def close(self) -> ArrayFile:
        self._file.close()
        return ArrayFile(self.path, self._dtype.str, self._length)


class IntegerTable:
    """Ids that are whole numbers; within `memory`, beside files."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder = folder
        self._ids = SparseIds(folder, memory)
        self._blocks = ScratchFile(folder)
        self._places: list[tuple[int, int]] = []
        self._table = numpy.empty(0, numpy.int64)
        self.count = 0

    def take(self, ids: NDArray[numpy.int64]) -> int:
        """Add ascending ids; returns the number of the block."""
        if len(ids):
            self._ids.add(ids)
        self._places.append((self._blocks.append(ids), len(ids)))
        return len(self._places) - 1

    def finish(self) -> tuple[ArrayFile, ...]:
        """Sort all ids into a file."""
        self._ids.finish()
        self.count = self._ids.count
        grown = _Grown(self._folder / "ids", numpy.int64)
        for block in self._ids.blocks(0, self.count, BLOCK):
            grown.append(block)
        self._ids.close()
        file = grown.close()
        self._table = numpy.asarray(file.map())
        return (file,)

    def ranks(self, block: int) -> NDArray[numpy.int64]:
        """Return the place among all ids of each id of a block."""
        place, count = self._places[block]
        return numpy.searchsorted(self._table, self._blocks.read(place, count, numpy.int64))

    def close(self) -> None:
        """Give up memory and scratch files, but not those of the table."""
        self._table = numpy.empty(0, numpy.int64)
        self._blocks.close()


class TextTable:
    """Ids that are texts; within `memory`, beside files."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder = folder
        self._runs = TextRuns(folder, memory)
        self._codes = ScratchFile(folder)
        self._places: list[tuple[int, int, int]] = []  # run, place, count
        self.count = 0

    def take(self, ids: Texts) -> int:
        """Add ascending ids; returns the number of the block."""
        run, codes = self._runs.add(ids)
        self._places.append((run, self._codes.append(codes), len(codes)))
        self._runs.added(run)
        return len(self._places) - 1

    def finish(self) -> tuple[ArrayFile, ...]:
        """Sort all ids into two files."""
        self._runs.finish()
        text, offsets = _Grown(self._folder / "text", numpy.uint8), _Grown(self._folder / "ends", numpy.int64)
        end = 0
        for block in self._runs.blocks():
            text.append(block.text)
            offsets.append(block.offsets[1:] + end)
            end += int(block.offsets[-1])
            self.count += block.size
        return text.close(), offsets.close()

    def ranks(self, block: int) -> NDArray[numpy.int64]:
        """Return the place among all ids of each id of a block."""
        run, place, count = self._places[block]
        if not count:
            return numpy.empty(0, numpy.int64)
        found: NDArray[numpy.int64] = self._runs.ranks(run)[self._codes.read(place, count, numpy.int64)]
        return found.astype(numpy.int64, copy=False)

    def close(self) -> None:
        """Give up memory and scratch files, but not those of the table."""
        self._runs.close()
        self._codes.close()
