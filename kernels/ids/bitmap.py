"""Sets of 64-bit ids: a bitmap over one interval, and the rank of an id in it.

A bitmap is uint64 words; bit j of word i stands for id `base + 64 * i + j`. Ranks come from the number of
ids before each block of `BLOCK` words (Jacobson, Space-efficient Static Trees and Graphs, FOCS 1989).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_or
from gravel.kernels.bits import set_bits
from gravel.kernels.ids.buffers import BLOCK
from gravel.kernels.jit import serial

_ONE = numpy.uint64(1)


@serial
def mark(bitmap: NDArray[Any], base: int, ids: NDArray[Any], outside: NDArray[Any]) -> Any:
    """Add ids (int64) to the set; those that it does not cover go to `outside`.

    Several threads may add to one bitmap. Returns how many went outside, and the largest id.
    """
    span = numpy.uint64(64 * len(bitmap))
    left_out = 0
    high = ids[0]
    for i in range(len(ids)):
        high = max(high, ids[i])
        offset = numpy.uint64(ids[i] - base)
        if offset < span:
            # An unsigned index spares the test for a negative one.
            word = offset >> numpy.uint64(6)
            bit = _ONE << (offset & numpy.uint64(63))
            # Most ids are known already: a read leaves the cache line shared and clean.
            if not bitmap[word] & bit:
                fetch_or(bitmap, numpy.intp(word), bit)
        else:
            outside[left_out] = ids[i]
            left_out += 1
    return left_out, high


@serial
def count_before(bitmap: NDArray[Any], before: NDArray[Any]) -> None:
    """Fill `before` (int64, blocks + 1): entry b is how many ids lie in the blocks before b."""
    total: Any = 0
    for block in range(len(before) - 1):
        before[block] = total
        for word in range(block * BLOCK, min((block + 1) * BLOCK, len(bitmap))):
            total += numpy.int64(set_bits(bitmap[word]))
    before[len(before) - 1] = total


@serial
def rank(
    bitmap: NDArray[Any], before: NDArray[Any], base: int, ids: NDArray[Any], ranks: NDArray[Any]
) -> None:
    """Write each id's rank within the bitmap to `ranks`; where it does not cover an id, nothing.

    `ranks` may be `ids`.
    """
    span = numpy.uint64(64 * len(bitmap))
    for i in range(len(ids)):
        offset = numpy.uint64(numpy.int64(ids[i]) - base)
        if offset < span:
            word = numpy.int64(offset >> numpy.uint64(6))
            first = word // BLOCK * BLOCK
            total = before[word // BLOCK]
            for earlier in range(first, word):
                total += numpy.int64(set_bits(bitmap[earlier]))
            below = (_ONE << (offset & numpy.uint64(63))) - _ONE
            ranks[i] = total + numpy.int64(set_bits(bitmap[word] & below))


@serial
def members(bitmap: NDArray[Any], first_id: int, ids: NDArray[Any]) -> int:
    """List the ids of a piece of bitmap whose first bit is `first_id`, ascending; returns how many."""
    found = 0
    for word in range(len(bitmap)):
        bits = bitmap[word]
        if bits == numpy.uint64(0):
            continue
        for bit in range(64):
            if (bits >> numpy.uint64(bit)) & _ONE:
                ids[found] = first_id + 64 * word + bit
                found += 1
    return found
