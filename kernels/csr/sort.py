"""Sort each row of a CSR where it lies: by insertion when short, by radix when longer."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial

SHORT_ROW = 48  # insertion sort up to here (docs/tuning.md)
LONG_ROW = 1 << 15  # the radix sort's buffer, 128 KiB of 32-bit columns; NumPy sorts longer rows in place
DIGITS = 256


def long_rows(row_offsets: NDArray[numpy.int64], limit: int) -> NDArray[numpy.int64]:
    """Number the rows longer than `limit`."""
    found = numpy.empty(int(row_offsets[-1]) // (limit + 1), numpy.int64)
    return found[: _long_rows(row_offsets, limit, found)]


@serial
def _long_rows(row_offsets: NDArray[Any], limit: int, found: NDArray[numpy.int64]) -> int:
    count = 0
    for row in range(len(row_offsets) - 1):
        if row_offsets[row + 1] - row_offsets[row] > limit:
            found[count] = row
            count += 1
    return count


@serial
def sort_piece(columns: NDArray[Any], start: Any, end: Any, buffer: NDArray[Any], bits: int) -> None:
    """Sort columns[start:end], at most LONG_ROW long, whose values have at most `bits` bits."""
    if end - start <= SHORT_ROW:
        for i in range(start + 1, end):
            value = columns[i]
            j = i - 1
            while j >= start and columns[j] > value:
                columns[j + 1] = columns[j]
                j -= 1
            columns[j + 1] = value
        return
    passes = (bits + 7) // 8
    width = (bits + passes - 1) // passes
    digits = 1 << width
    length = end - start
    position = numpy.empty(DIGITS, numpy.int64)
    here, there = columns[start:end], buffer[:length]
    for step in range(passes):
        shift = step * width
        position[:digits] = 0
        for i in range(length):
            position[(numpy.int64(here[i]) >> shift) & (digits - 1)] += 1
        total: Any = 0
        for digit in range(digits):
            total, position[digit] = total + position[digit], total
        for i in range(length):
            own = (numpy.int64(here[i]) >> shift) & (digits - 1)
            there[position[own]] = here[i]
            position[own] += 1
        here, there = there, here
    if passes & 1:
        for i in range(length):
            there[i] = here[i]


@serial
def sort_rows(
    columns: NDArray[Any],
    offsets: NDArray[numpy.int64],
    low: int,
    high: int,
    start: int,
    first_vertex: int,
    bits: int,
    keep_duplicates: bool,
) -> tuple[int, int]:
    """Sort rows low to high, move them together from `start` on, and write their lengths.

    The length of row r replaces offsets[r + 1]. `start` is passed because another thread may have replaced
    offsets[low]. Rows longer than LONG_ROW must be sorted already. Returns the columns kept and how many of
    them are loops.
    """
    buffer = numpy.empty(LONG_ROW, columns.dtype)
    write: Any = start
    begin: Any = start
    loops: Any = 0
    for row in range(low, high):
        end = offsets[row + 1]
        if end - begin <= LONG_ROW:
            sort_piece(columns, begin, end, buffer, bits)
        kept = write
        for i in range(begin, end):
            value = columns[i]
            if keep_duplicates or i == begin or value != columns[write - 1]:
                columns[write] = value
                write += 1
                loops += numpy.int64(value) == row + first_vertex
        offsets[row + 1] = write - kept
        begin = end
    return write - start, loops
