"""Searches from many sources at once on one CPU thread: a row of words per vertex, a bit per source.

Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014, sections 3 and 4.
Nothing is kept per vertex and source but its bits. The vertices that each source reaches at a level are
counted with bit-sliced counters: adding a row of words costs a few operations a word, not one a bit.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import atomic_load
from gravel.kernels.bits import set_bits
from gravel.kernels.buffers import make
from gravel.kernels.distances.buffers import WORD, workspace
from gravel.kernels.interruptible import LOOK
from gravel.kernels.jit import serial

COUNTER_DIGITS = 8
"""Binary digits of the counters; they are emptied after 2^8 - 1 rows."""

PULL_SHARE = 8
"""Pull while the frontier has more than this part of all arcs: a pull ends a row early, a push never does.
Best of 4, 8 and 16 at Kronecker 18 with 64 to 512 sources; road networks never get there."""

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)


class Workspace:
    """What one thread needs for batches of up to 64 * words sources."""

    def __init__(self, vertices: int, words: int, dtype: Any) -> None:
        self.words = words
        made = tuple(make(workspace(vertices, words, dtype.itemsize), numpy).values())
        self.rows, self.marks, self.queues = made[:3], made[3:5], made[5:]
        self.counter_digits = numpy.zeros((COUNTER_DIGITS, words), numpy.uint64)
        self.row = numpy.zeros((2, words), numpy.uint64)
        self.tally = numpy.zeros(words * WORD, numpy.int64)


@serial
def search_together(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    symmetric: bool,
    max_depth: int,
    words: int,
    sources: NDArray[Any],
    seen: NDArray[Any],
    frontier: NDArray[Any],
    following: NDArray[Any],
    marked: NDArray[Any],
    complete: NDArray[Any],
    queue: NDArray[Any],
    spare: NDArray[Any],
    counter_digits: NDArray[Any],
    row: NDArray[Any],
    tally: NDArray[Any],
    reached: NDArray[Any],
    total: NDArray[Any],
    reciprocal: NDArray[Any],
    eccentricity: NDArray[Any],
    counts: NDArray[Any],
    vertex_reached: NDArray[Any],
    vertex_total: NDArray[Any],
    vertex_largest: NDArray[Any],
    stop: NDArray[Any],
) -> int:
    """Search from all sources along the arcs, and add to the results; returns the levels that were expanded.

    `counts` (sources, levels) and the three of the vertices may be of length 0 and are then left alone. It
    ends early where `stop` becomes 1.
    """
    n = len(row_offsets) - 1
    arcs = row_offsets[n]
    seen[: n * words] = _ZERO
    frontier[: n * words] = _ZERO
    following[: n * words] = _ZERO
    marked[:] = 0
    complete[:] = 0
    live = row[0]
    live[:words] = _ZERO
    tail = 0
    for i in range(len(sources)):
        v = numpy.int64(sources[i])
        bit = _ONE << numpy.uint64(i % WORD)
        seen[v * words + i // WORD] |= bit
        following[v * words + i // WORD] |= bit
        if marked[v] == 0:
            marked[v] = 1
            queue[tail] = v
            tail += 1
    level = 0
    while tail > 0:
        frontier, following = following, frontier
        _count(queue, tail, words, frontier, counter_digits, row[1], tally)
        live[:words] = _ZERO
        for i in range(len(sources)):
            found = tally[i]
            if found > 0:
                tally[i] = 0
                reached[i] += found
                total[i] += found * level
                if level > 0:
                    reciprocal[i] += found / level
                eccentricity[i] = level
                live[i // WORD] |= _ONE << numpy.uint64(i % WORD)
                if level < counts.shape[1]:
                    counts[i, level] = found
        if len(vertex_reached) > 0:
            _count_per_vertex(
                queue, tail, words, frontier, level, vertex_reached, vertex_total, vertex_largest
            )
        if level >= max_depth or atomic_load(stop, 0) != 0:
            return level
        ahead = 0
        for i in range(tail):
            v = numpy.int64(queue[i])
            ahead += row_offsets[v + 1] - row_offsets[v]
        if symmetric and ahead * PULL_SHARE > arcs:
            found = _pull(
                row_offsets,
                column_indices,
                words,
                live,
                row[1],
                seen,
                frontier,
                following,
                marked,
                complete,
                spare,
                stop,
            )
            _clear_marks(queue, tail, marked)
            for i in range(found):
                marked[spare[i]] = 1
        else:
            _clear_marks(queue, tail, marked)
            found = _push(
                row_offsets,
                column_indices,
                words,
                seen,
                frontier,
                following,
                marked,
                complete,
                queue,
                tail,
                spare,
                stop,
            )
        for i in range(tail):
            v = numpy.int64(queue[i])
            frontier[v * words : (v + 1) * words] = _ZERO
        queue, spare = spare, queue
        tail = found
        level += 1
    return level


@serial
def _push(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    words: int,
    seen: NDArray[Any],
    frontier: NDArray[Any],
    following: NDArray[Any],
    marked: NDArray[Any],
    complete: NDArray[Any],
    queue: NDArray[Any],
    tail: int,
    spare: NDArray[Any],
    stop: NDArray[Any],
) -> int:
    """Give the bits of the frontier to its neighbours, and list those that got new ones."""
    found = 0
    for i in range(tail):
        if i % LOOK == 0 and atomic_load(stop, 0) != 0:
            break
        u = numpy.int64(queue[i]) * words
        for k in range(row_offsets[queue[i]], row_offsets[numpy.int64(queue[i]) + 1]):
            v = numpy.int64(column_indices[k])
            if complete[v]:
                continue
            news = _ZERO
            for w in range(words):
                newly_visited = frontier[u + w] & ~seen[v * words + w]
                seen[v * words + w] |= newly_visited
                following[v * words + w] |= newly_visited
                news |= newly_visited
            if news != _ZERO and not marked[v]:
                marked[v] = 1
                spare[found] = v
                found += 1
    return found


@serial
def _pull(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    words: int,
    live: NDArray[Any],
    wanted: NDArray[Any],
    seen: NDArray[Any],
    frontier: NDArray[Any],
    following: NDArray[Any],
    marked: NDArray[Any],
    complete: NDArray[Any],
    spare: NDArray[Any],
    stop: NDArray[Any],
) -> int:
    """Let every vertex that lacks a bit take what its neighbours have; a row ends when nothing is lacking.

    `marked` says of which neighbours the row is not empty. Newly reached vertices are marked by the caller,
    when all rows are read.
    """
    found = 0
    for v in range(len(row_offsets) - 1):
        if v % LOOK == 0 and atomic_load(stop, 0) != 0:
            break
        if complete[v] or row_offsets[v] == row_offsets[v + 1]:
            continue
        at = v * words
        lacking = _ZERO
        for w in range(words):
            wanted[w] = live[w] & ~seen[at + w]
            lacking |= wanted[w]
        if lacking == _ZERO:
            complete[v] = 1
            continue
        for k in range(row_offsets[v], row_offsets[v + 1]):
            if not marked[column_indices[k]]:
                continue
            u = numpy.int64(column_indices[k]) * words
            lacking = _ZERO
            for w in range(words):
                wanted[w] &= ~frontier[u + w]
                lacking |= wanted[w]
            if lacking == _ZERO:
                break
        news = _ZERO
        for w in range(words):
            newly_visited = live[w] & ~seen[at + w] & ~wanted[w]
            following[at + w] = newly_visited
            seen[at + w] |= newly_visited
            news |= newly_visited
        if news != _ZERO:
            spare[found] = v
            found += 1
    return found


@serial
def _clear_marks(queue: NDArray[Any], tail: int, marked: NDArray[Any]) -> None:
    for i in range(tail):
        marked[queue[i]] = 0


@serial
def _count(
    queue: NDArray[Any],
    tail: int,
    words: int,
    rows: NDArray[Any],
    counter_digits: NDArray[Any],
    carry: NDArray[Any],
    tally: NDArray[Any],
) -> None:
    """Add to `tally` in how many rows each bit is set. `counter_digits` is zero before and after.

    Digit p of the counter of a bit is that bit of counter_digits[p].
    """
    added = 0
    for i in range(tail):
        at = numpy.int64(queue[i]) * words
        left = _ZERO
        for w in range(words):
            carry[w] = rows[at + w]
            left |= carry[w]
        digit = 0
        while left != _ZERO:
            left = _ZERO
            for w in range(words):
                both = counter_digits[digit, w] & carry[w]
                counter_digits[digit, w] ^= carry[w]
                carry[w] = both
                left |= both
            digit += 1
        added += 1
        if added == (1 << COUNTER_DIGITS) - 1:
            _empty(words, counter_digits, tally)
            added = 0
    _empty(words, counter_digits, tally)


@serial
def _empty(words: int, counter_digits: NDArray[Any], tally: NDArray[Any]) -> None:
    for digit in range(COUNTER_DIGITS):
        for w in range(words):
            bits = counter_digits[digit, w]
            counter_digits[digit, w] = _ZERO
            if bits != _ZERO:
                for b in range(WORD):
                    tally[w * WORD + b] += numpy.int64(bits >> numpy.uint64(b) & _ONE) << digit


@serial
def _count_per_vertex(
    queue: NDArray[Any],
    tail: int,
    words: int,
    rows: NDArray[Any],
    level: int,
    reached: NDArray[Any],
    total: NDArray[Any],
    largest: NDArray[Any],
) -> None:
    for i in range(tail):
        v = numpy.int64(queue[i])
        found = numpy.int64(0)
        for w in range(v * words, (v + 1) * words):
            found += numpy.int64(set_bits(rows[w]))
        reached[v] += found
        total[v] += found * level
        largest[v] = max(largest[v], level)
