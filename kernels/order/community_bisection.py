"""Gaps made small by recursive bisection of a numbering that is good already.

Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev, Shalita (Compressing Graphs and Indexes with Recursive Graph
Bisection, KDD 2016), section 4: the numbers are cut in two halves; vertices of both change places in
pairs while that lowers the bits that all lists take under the gaps to be expected of d neighbours among n
numbers, d log2(n / (d + 1)); then each half is cut. All cuts of one level are made together.

Halves are ranges whose lengths are powers of two, so that a number's half is one of its bits. What the
change costs is counted in integers, so that sums do not depend on the order of threads. A list longer than
`PIECE` is cut into lists of that length: its parts are judged alone.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_bits
from gravel.kernels.atomics import fetch_add
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.order import buffers
from gravel.kernels.order.renumber import apply
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks

PIECE = 1024
"""Neighbours judged together (docs/tuning.md)."""

ROUNDS = 4
"""Exchanges at each level (docs/tuning.md)."""

SMALLEST = 4
"""Logarithm of the smallest range that is cut. Below, gaps take a byte in any order."""

UNIT = 1 << 10  # one bit of gain
GAIN_BITS = 31  # of a sort key; longer gains, those of hubs, are cut


def gain_table() -> NDArray[numpy.int32]:
    """What the neighbour number d + 1 of a list in one half saves there, in 1/UNIT bits: (PIECE + 1,).

    g(d + 1) - g(d) for g(d) = d log2(d + 1). A move from a half with d of the list to one with e of it
    saves table[e] - table[d - 1], since the length of the halves, being equal, cancels out.
    """
    count = numpy.arange(PIECE + 2, dtype=numpy.float64)
    return numpy.rint(numpy.diff(count * numpy.log2(count + 1)) * UNIT).astype(numpy.int32)


def gain_bits(vertices: int) -> int:
    """Bits of a gain in a sort key, beside a number and a bit for its half."""
    return min(GAIN_BITS, 63 - index_bits(vertices))


def refine(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    permutation: NDArray[Any],
    *,
    rounds: int = ROUNDS,
) -> NDArray[Any]:
    """Improve an order of a symmetric graph; returns (vertices,), permutation[old] = new.

    Holds a second copy of the graph, 32 bytes per vertex beside it.
    """
    vertices = len(permutation)
    if rounds == 0 or index_bits(vertices) < SMALLEST or len(column_indices) == 0:
        return permutation
    offsets, columns = apply(row_offsets, column_indices, permutation)
    table = gain_table()
    result = permutation.copy()
    gain, keys, side = make(buffers.refining(vertices), numpy).values()
    blocks = row_blocks(offsets)
    for level in range(index_bits(vertices), SMALLEST - 1, -1):
        place = numpy.arange(vertices, dtype=permutation.dtype)
        _sides(place, level, side)
        for _ in range(rounds):
            gain[:] = 0
            run_blocks(partial(_gains, offsets, columns, side, level, table, gain), blocks)
            if not _exchange(place, gain, side, keys, level, gain_bits(vertices)):
                break
        run_blocks(partial(_split, offsets, columns, side, place, level), blocks)
        result = place[result]
    return result


def _exchange(
    place: NDArray[Any],
    gain: NDArray[numpy.int64],
    side: NDArray[numpy.uint8],
    keys: NDArray[numpy.uint64],
    level: int,
    width: int,
) -> int:
    """Let vertices change places; returns how many pairs did."""
    vertices = len(place)

    def sort(low: int, high: int) -> int:
        first, last = low << level, min(high << level, vertices)
        _fill_keys(gain, side, level, width, first, last, keys)
        keys[first:last].sort()
        return int(_swap(keys, place, side, level, width, first, last))

    parts = -(-vertices >> level)
    return sum(run_blocks(sort, _part_blocks(parts, level)))


def _part_blocks(parts: int, level: int) -> list[tuple[int, int]]:
    blocks = even_blocks(parts << level)
    return list(pairwise(sorted({0, parts, *(last >> level for _, last in blocks)})))


@serial
def _sides(place: NDArray[Any], level: int, side: NDArray[numpy.uint8]) -> None:
    for vertex in range(len(place)):
        side[vertex] = (vertex >> (level - 1)) & 1


@serial
def _gains(
    offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    side: NDArray[numpy.uint8],
    level: int,
    table: NDArray[numpy.int32],
    gain: NDArray[numpy.int64],
    low: int,
    high: int,
) -> None:
    """Add what each vertex would save by changing halves; lists lie grouped by their ranges."""
    for row in range(low, high):
        for start in range(offsets[row], offsets[row + 1], PIECE):
            end = min(start + PIECE, offsets[row + 1])
            first = start
            while first < end:
                part = numpy.int64(columns[first]) >> level
                last = first
                right = 0
                while last < end and numpy.int64(columns[last]) >> level == part:
                    right += side[numpy.int64(columns[last])]
                    last += 1
                left = last - first - right
                # One neighbour alone saves nothing wherever it is.
                if last - first > 1:
                    from_left = numpy.int64(table[right]) - numpy.int64(table[max(left - 1, 0)])
                    from_right = numpy.int64(table[left]) - numpy.int64(table[max(right - 1, 0)])
                    for i in range(first, last):
                        vertex = numpy.int64(columns[i])
                        saved = from_right if side[vertex] else from_left
                        if saved:
                            fetch_add(gain, vertex, saved)
                first = last


@serial
def _fill_keys(
    gain: NDArray[numpy.int64],
    side: NDArray[numpy.uint8],
    level: int,
    width: int,
    first: int,
    last: int,
    keys: NDArray[numpy.uint64],
) -> None:
    """Ascending keys are ascending ranges and halves, falling gains, ascending vertices."""
    most = (numpy.int64(1) << (width - 1)) - 1
    mask = (numpy.int64(1) << level) - 1
    for vertex in range(first, last):
        half = ((numpy.int64(vertex) >> level) << 1) | numpy.int64(side[vertex])
        fallen = most - min(max(gain[vertex], -most), most)
        keys[vertex] = (
            (numpy.uint64(half) << numpy.uint64(width + level))
            | (numpy.uint64(fallen) << numpy.uint64(level))
            | numpy.uint64(numpy.int64(vertex) & mask)
        )


@serial
def _swap(
    keys: NDArray[numpy.uint64],
    place: NDArray[Any],
    side: NDArray[numpy.uint8],
    level: int,
    width: int,
    first: int,
    last: int,
) -> int:
    """Exchange the vertex of the i-th gain in each left half with that of its right half, while both save."""
    most = (numpy.int64(1) << (width - 1)) - 1
    low_bits = (numpy.uint64(1) << numpy.uint64(level)) - numpy.uint64(1)
    gain_mask = (numpy.uint64(1) << numpy.uint64(width)) - numpy.uint64(1)
    half = 1 << (level - 1)
    moved = 0
    for part in range(first, last, 2 * half):
        for i in range(part, min(part + half, last - half)):
            left, right = keys[i], keys[i + half]
            fallen = numpy.int64((left >> numpy.uint64(level)) & gain_mask)
            fallen += numpy.int64((right >> numpy.uint64(level)) & gain_mask)
            if fallen >= 2 * most:
                break
            one = part + numpy.int64(left & low_bits)
            other = part + numpy.int64(right & low_bits)
            place[one], place[other] = place[other], place[one]
            side[one], side[other] = 1, 0
            moved += 1
    return moved


@serial
def _split(
    offsets: NDArray[numpy.int64],
    columns: NDArray[Any],
    side: NDArray[numpy.uint8],
    place: NDArray[Any],
    level: int,
    low: int,
    high: int,
) -> None:
    """Renumber the lists by `place` and group each range's neighbours by half."""
    spare = numpy.empty(PIECE, columns.dtype)
    for row in range(low, high):
        for start in range(offsets[row], offsets[row + 1], PIECE):
            end = min(start + PIECE, offsets[row + 1])
            first = start
            while first < end:
                part = numpy.int64(columns[first]) >> level
                last = first
                kept = first
                moved = 0
                while last < end and numpy.int64(columns[last]) >> level == part:
                    vertex = numpy.int64(columns[last])
                    if side[vertex]:
                        spare[moved] = place[vertex]
                        moved += 1
                    else:
                        columns[kept] = place[vertex]
                        kept += 1
                    last += 1
                for i in range(moved):
                    columns[kept + i] = spare[i]
                first = last
