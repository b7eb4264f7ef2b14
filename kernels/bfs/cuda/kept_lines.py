"""Lines of the longest rows, kept on the device while the others stay in host memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gravel.kernels.cuda import load, run_over, vertex_macro

PREPARATION = "kernels/bfs/cuda/host_rows_prepare.cu"
LINE = 32  # columns, as in host_rows.cuh
LINES = 32  # of a word, as there
LENGTHS = 8 * 40
"""Lengths that are tried, eight to an octave: more than a row of columns can have."""


@dataclass(frozen=True)
class KeptLines:
    """Lines of columns that the device has: the lines, their bits, and how many lie before each word."""

    lines: Any
    bits: Any
    before: Any
    count: int


def keep_lines(row_offsets: Any, columns: Any, budget: int) -> KeptLines | None:
    """Copy the lines of the longest rows to the device; None where there is nothing to keep or no room.

    Parameters
    ----------
    row_offsets : int64 (rows + 1,) on the device.
    columns : uint32 or uint64 (arcs,), a CuPy array that may be a view of pinned host memory.
    budget : bytes that the lines take at most, rounded up to a whole line.

    """
    import cupy
    import numpy

    dtype, rows, arcs = columns.dtype, len(row_offsets) - 1, len(columns)
    most = -(-budget // (LINE * dtype.itemsize))
    if most <= 0 or not arcs:
        return None
    words = -(-arcs // (LINE * LINES))
    bits, ones = cupy.empty(words, cupy.uint32), cupy.empty(words, cupy.uint32)

    def lines_upto(least: int) -> Any:
        """Mark the lines of rows of `least` columns and more, and count them up to each word."""
        bits.fill(0)
        start(dtype, "mark_long_rows", rows, row_offsets, numpy.uint64(rows), numpy.uint64(least), bits)
        start(dtype, "count_bits", words, bits, numpy.uint64(words), ones)
        return cupy.cumsum(ones, dtype=cupy.uint32)

    upto = lines_upto(shortest_kept(lambda least: int(lines_upto(least)[-1]) <= most))
    count = int(upto[-1])
    lines = cupy.empty(max(1, count) * LINE, dtype)
    kept = KeptLines(lines, bits, upto - ones, count)
    ends = numpy.uint64(0), numpy.uint64(words), numpy.uint64(arcs)
    start(dtype, "keep_lines", words * 32, columns, bits, kept.before, *ends, lines)
    return kept


def kept_arguments(kept: KeptLines | None) -> tuple[Any, ...]:
    """What kernels get of kept lines."""
    import numpy

    return (numpy.uint64(0),) * 3 if kept is None else (kept.lines, kept.bits, kept.before)


def start(dtype: Any, name: str, items: int, *arguments: Any) -> None:
    """Run a kernel of `host_rows_prepare.cu` with a thread for each item, or some for all."""
    if items > 0:
        kernel = load(PREPARATION, LAYOUT="csr", VERTEX=vertex_macro(dtype), TREE=0).get_function(name)
        run_over(kernel, items, *arguments, most=1 << 11)


def shortest_kept(fits: Callable[[int], bool]) -> int:
    """Find the length of the shortest rows that are kept, in steps of an eighth of an octave.

    `fits` says whether all rows of a length and more fit; where none do, the result is longer than any row.
    """
    low, high = 0, LENGTHS
    while low < high:
        middle = (low + high) // 2
        if fits(_length(middle)):
            high = middle
        else:
            low = middle + 1
    return _length(low)


def _length(place: int) -> int:
    octave, eighth = divmod(place, 8)
    return -((-(8 + eighth) << octave) // 8)
