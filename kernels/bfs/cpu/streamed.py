"""Search of rows that are read part by part while it runs, on the CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cpu.parted import PartedSearch
from gravel.kernels.bits import trailing_zeros
from gravel.kernels.jit import serial
from gravel.kernels.placement.parts import PartReader
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


def prepare(
    row_offsets: NDArray[Any],
    column_indices: Any,
    *,
    output: str = "both",
    symmetric: bool = False,
    max_depth: int | None = None,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
) -> StreamedSearch:
    """Make a graph ready whose columns are read while it is searched.

    Parameters
    ----------
    row_offsets, output, symmetric, max_depth : see `gravel.kernels.bfs.prepare`; `symmetric` does not matter.
    column_indices : uint32 or uint64 (arcs,); any array that has a length and a dtype and can be sliced. A
        slice is read when a level needs it, and may be read again in a later level.
    buffer_bytes, buffers : how much is read at once, and how many buffers there are, at least 2, so that one
        is filled while another is searched.

    Raises ValueError for a value that a parameter cannot have.

    """
    started = time.perf_counter()
    search = StreamedSearch(
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        buffer_bytes=buffer_bytes,
        buffers=buffers,
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


def part_length(buffer_bytes: int, buffers: int, item: int) -> int:
    """Columns of a part; raises ValueError for values that a search cannot run with."""
    if buffers < 2:
        raise ValueError(f"buffers is {buffers}; it must be 2 or more")
    if buffer_bytes < item:
        raise ValueError(f"buffer_bytes is {buffer_bytes}; a column takes {item}")
    return buffer_bytes // item


class StreamedSearch(PartedSearch):
    """A prepared graph: offsets, bitmaps and labels in memory, and buffers for columns."""

    def __init__(
        self,
        row_offsets: NDArray[Any],
        column_indices: Any,
        *,
        output: str,
        max_depth: int | None,
        buffer_bytes: int,
        buffers: int,
    ) -> None:
        length = part_length(buffer_bytes, buffers, column_indices.dtype.itemsize)
        held = [numpy.empty(min(length, len(column_indices)), column_indices.dtype) for _ in range(buffers)]
        self._row_offsets = row_offsets
        self._reader = PartReader(column_indices, length, held)
        super().__init__(len(row_offsets) - 1, self._reader.count, output=output, max_depth=max_depth)

    def _mark(self, needed: NDArray[Any]) -> None:
        mark_parts(self._row_offsets, self._frontier, self._reader.length, needed)

    def _expand(self, parts: list[int], depth: int) -> Iterator[None]:
        for part, columns, _ in self._reader.read(parts):
            first, last = self._reader.bounds(part)
            low = int(numpy.searchsorted(self._row_offsets, first, side="right")) - 1
            high = int(numpy.searchsorted(self._row_offsets, last, side="left"))
            expand_part(
                self._row_offsets, columns, first, low, high, self._frontier, self._visited, self._next,
                self._distance, self._predecessor, depth,
            )  # fmt: skip
            yield


@serial
def mark_parts(row_offsets: NDArray[Any], frontier: NDArray[Any], length: int, needed: NDArray[Any]) -> None:
    """Say which parts of `length` columns hold columns of the frontier's rows."""
    for word in range(len(frontier)):
        bits = frontier[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            first, last = row_offsets[v], row_offsets[v + _ONE]
            if last > first:
                for part in range(first // length, (last - 1) // length + 1):
                    needed[part] = True


@serial
def expand_part(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    first: int,
    low: int,
    high: int,
    frontier: NDArray[Any],
    visited: NDArray[Any],
    following: NDArray[Any],
    distance: NDArray[Any],
    predecessor: NDArray[Any],
    depth: int,
) -> None:
    """Claim the ends of arcs in `columns`, which begin with arc `first`, of frontier rows `low` to `high`.

    Rows ascend here, and parts from call to call, so the first claim is the smallest predecessor.
    """
    hops, claims = len(distance) > 0, len(predecessor) > 0
    for word in range(low >> 6, min((high >> 6) + 1, len(frontier))):
        bits = frontier[word]
        while bits != 0:
            v = (numpy.uint64(word) << _SIX) | trailing_zeros(bits)
            bits &= bits - _ONE
            begin, end = max(row_offsets[v], first), min(row_offsets[v + _ONE], first + len(columns))
            for k in range(begin, end):
                w = numpy.uint64(columns[k - first])
                place, bit = w >> _SIX, _ONE << (w & _63)
                if (visited[place] | following[place]) & bit:
                    continue
                following[place] |= bit
                if hops:
                    distance[w] = depth
                if claims:
                    predecessor[w] = v
