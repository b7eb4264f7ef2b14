"""Row ranges of near-equal work, run on threads.

A kernel compiled with `jit.serial` over a range of rows releases the GIL, so threads run ranges at the same
time. It compiles several times faster than a `prange` loop and balances skewed rows, since a free thread
takes the next range.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from gravel.kernels.threads import thread_count

Result = TypeVar("Result")

LEAST_WORK = 1 << 16
"""Rows plus arcs below which a block is not worth a thread's wake-up (about 50 us on two cores)."""


def row_blocks(row_offsets: NDArray[Any], *, per_thread: int = 8) -> list[tuple[int, int]]:
    """Cut the rows into ranges of near-equal rows plus arcs, `per_thread` for each thread.

    The ranges are ascending, cover every row and none is empty.
    """
    return equal_blocks(row_offsets, LEAST_WORK, thread_count() * per_thread)


def equal_blocks(row_offsets: NDArray[Any], least: int, most: int) -> list[tuple[int, int]]:
    """Cut the rows as `row_blocks` does, into up to `most` ranges of about `least` rows plus arcs or more.

    The cuts do not depend on the number of threads.
    """
    rows = len(row_offsets) - 1
    if rows <= 0:
        return []
    work = rows + int(row_offsets[-1]) - int(row_offsets[0])
    count = max(1, min(most, work // least))
    cuts = {0, rows, *(_cut(row_offsets, work * part // count) for part in range(1, count))}
    return list(pairwise(sorted(cuts)))


def _cut(row_offsets: NDArray[Any], goal: int) -> int:
    base = int(row_offsets[0])
    low, high = 0, len(row_offsets) - 1
    while low < high:
        middle = (low + high) // 2
        if middle + int(row_offsets[middle]) - base < goal:
            low = middle + 1
        else:
            high = middle
    return low


def even_blocks(rows: int) -> list[tuple[int, int]]:
    """Cut `rows` rows of equal work into ranges, four for each thread."""
    count = max(1, min(thread_count() * 4, rows // LEAST_WORK))
    edges = numpy.linspace(0, rows, count + 1).astype(numpy.int64)
    return [(int(a), int(b)) for a, b in pairwise(edges) if a < b]


def run_blocks(function: Callable[[int, int], Result], blocks: list[tuple[int, int]]) -> list[Result]:
    """Call `function(first, last)` for every block on all threads; results in the blocks' order."""
    threads = thread_count()
    if len(blocks) <= 1 or threads == 1:
        return [function(first, last) for first, last in blocks]
    with ThreadPoolExecutor(max_workers=min(threads, len(blocks))) as pool:
        return list(pool.map(lambda block: function(*block), blocks))
