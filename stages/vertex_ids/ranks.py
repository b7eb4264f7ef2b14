"""Every edge's ends as ranks: in one pass over the spool, or in one per stretch of ids that fits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy
from numpy.typing import NDArray

from gravel.stages.readers import Chunk
from gravel.stages.streams.opening import explain
from gravel.stages.threads import in_order
from gravel.stages.vertex_ids.ids import IdSet

NARROW = 1 << 32
"""Chunks whose ids all lie below this can be kept in 32 bits."""


@dataclass(frozen=True)
class _Stored:
    offset: int
    edges: int
    dtype: numpy.dtype[Any]


class Spool:
    """A sequence of chunks that grows at the end and is read from the start, more than once if need be."""

    def __init__(self, folder: Path, memory: int, *, weighted: bool) -> None:
        self._folder = folder
        self._free = memory
        self._weighted = weighted
        self._in_memory: list[Chunk] = []
        self._stored: list[_Stored] = []
        self._file: BinaryIO | None = None
        self.edges = 0

    def append(self, chunk: Chunk, *, narrow: bool = False) -> None:
        """Keep a chunk, whose arrays stay as they are; `narrow` promises numbers from 0 to below `NARROW`."""
        if not len(chunk.source):
            return
        dtype = numpy.dtype(numpy.uint32 if narrow else numpy.int64)
        size = len(chunk.source) * (2 * dtype.itemsize + (8 if self._weighted else 0))
        source, target = chunk.source.astype(dtype, copy=False), chunk.target.astype(dtype, copy=False)
        self.edges += len(source)
        if not self._stored and size <= self._free:
            self._free -= size
            self._in_memory.append(Chunk(source, target, chunk.weight))
            return
        self._write(source, target, chunk.weight)

    def _write(self, source: NDArray[Any], target: NDArray[Any], weight: NDArray[Any] | None) -> None:
        try:
            if self._file is None:
                # Removed from the folder at once, so that nothing of it outlives the process.
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            offset = self._file.seek(0, 2)
            for array in (source, target, weight):
                if array is not None:
                    _write_all(self._file, array)
        except OSError as error:
            raise explain(error, str(self._folder)) from None
        self._stored.append(_Stored(offset, len(source), source.dtype))

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks, with ids of uint32 or int64."""
        yield from self._in_memory
        for stored in self._stored:
            assert self._file is not None
            self._file.seek(stored.offset)
            source = self._read(stored.edges, stored.dtype)
            target = self._read(stored.edges, stored.dtype)
            weight = self._read(stored.edges, numpy.dtype(numpy.float64)) if self._weighted else None
            yield Chunk(source, target, weight)

    def _read(self, count: int, dtype: numpy.dtype[Any]) -> NDArray[Any]:
        assert self._file is not None
        array = numpy.empty(count, dtype)
        view = array.view(numpy.uint8).data
        done = 0
        while done < len(view):
            done += self._file.readinto(view[done:])  # type: ignore[attr-defined]
        return array

    def close(self) -> None:
        """Give up memory and disk."""
        self._in_memory.clear()
        self._stored.clear()
        if self._file is not None:
            self._file.close()
            self._file = None


def _write_all(file: BinaryIO, array: NDArray[Any]) -> None:
    view = numpy.ascontiguousarray(array).view(numpy.uint8).data
    while len(view):
        view = view[file.write(view) :]


def ranked(
    spool: Spool, ids: IdSet, folder: Path, memory: int, *, weighted: bool, dtype: Any, threads: int
) -> Iterator[Chunk]:
    """Yield the spooled edges with ranks of type `dtype` for ids, found by several threads.

    The spool is used up; `memory` bounds its successors.
    """
    if ids.consecutive or ids.fits:

        def of(chunk: Chunk) -> Chunk:
            return Chunk(ids.ranks(chunk.source, dtype), ids.ranks(chunk.target, dtype), chunk.weight)

        yield from in_order(of, spool, threads)
        spool.close()
        return
    # A rank r that is found is kept as -1 - r among the ids, which are never negative.
    current = _next(spool, None, ids, folder, memory, weighted)
    for first, table in ids.sparse_blocks():
        current = _next(current, (first, table), ids, folder, memory, weighted)
    for chunk in current:
        yield Chunk(-1 - chunk.source, -1 - chunk.target, chunk.weight)
    current.close()


def _next(
    spool: Spool,
    stretch: tuple[int, NDArray[numpy.int64]] | None,
    ids: IdSet,
    folder: Path,
    memory: int,
    weighted: bool,
) -> Spool:
    following = Spool(folder, memory // 2, weighted=weighted)
    for chunk in spool:
        following.append(
            Chunk(_found(chunk.source, stretch, ids), _found(chunk.target, stretch, ids), chunk.weight)
        )
    spool.close()
    return following


def _found(
    values: NDArray[Any], stretch: tuple[int, NDArray[numpy.int64]] | None, ids: IdSet
) -> NDArray[numpy.int64]:
    values = values.astype(numpy.int64, copy=False)
    ranks = -1 - values
    if stretch is None:
        ids.covered_ranks(values, ranks)
    else:
        ids.sparse_ranks(stretch[1], stretch[0], values, ranks)
    return -1 - ranks
