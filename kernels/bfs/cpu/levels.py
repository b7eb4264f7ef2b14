"""The loop over levels, led by one thread: which direction, how many threads, when to stop.

The whole search is one call of `member` per thread; see `gravel.kernels.team` for how they share a level. A
level whose frontier has few arcs runs on the leader alone without atomics, which is what most of the
thousands of levels of a road network are.

Where the graph's rows are encoded, arcs stand for bytes of rows throughout.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_add
from gravel.kernels.bfs.buffers import STRETCH
from gravel.kernels.bfs.cpu.pull import bitmap_to_queue, pull_words, queue_to_bitmap
from gravel.kernels.bfs.cpu.push import commit, push_alone, push_chunk
from gravel.kernels.jit import serial
from gravel.kernels.team import (
    KIND,
    LINE,
    PRIVATE,
    close,
    closed,
    finish,
    idle,
    open_phase,
    take,
    wait_for_all,
)

# Words of the team's state that all threads write.
TAIL = PRIVATE  # end of the queue
FOUND = PRIVATE + LINE  # vertices and arcs that a pull has found
FOUND_ARCS = FOUND + 1

# Words that the search's owner sets before a run.
_OWN = PRIVATE + 2 * LINE
SOURCE, MAX_DEPTH, ALONE, MAY_PULL, ALPHA, BETA, SERIAL_BELOW = range(_OWN, _OWN + 7)

# Words that the leader keeps between phases.
BEGIN, END, DEPTH, UNEXPLORED, UNVISITED, FRONTIER_ARCS, PULLED, AWAKE, SIDE, MARK = range(
    _OWN + 7, _OWN + 17
)
WORDS = 2 * LINE + 17

FILL, PUSH, COMMIT, TO_BITMAP, PULL, TO_QUEUE = range(6)
START = 6  # what the leader finds in state[KIND] before the first phase

PUSH_DIRECTION, PULL_DIRECTION = 1, 2

FILL_CHUNK = 1 << 15  # vertices: 128 KiB of int32, some 10 us
PUSH_CHUNK = 1 << 13  # arcs, 10 to 50 us
PULL_CHUNK = 1 << 5  # words of 64 vertices, 10 to 100 us
QUEUE_CHUNK = 1 << 12  # queue entries whose bits are set


@serial
def member(
    rank: int,
    state: NDArray[Any],
    row_offsets: NDArray[Any],
    columns: Any,
    heads: NDArray[Any],
    done_before: NDArray[Any],
    queue: NDArray[Any],
    visited: NDArray[Any],
    bitmap_0: NDArray[Any],
    bitmap_1: NDArray[Any],
    distance: NDArray[Any],
    predecessor: NDArray[Any],
    weight_through: NDArray[Any],
    weight_before: NDArray[Any],
    directions: NDArray[Any],
    buffers: NDArray[Any],
) -> None:
    """Take part in one search until it ends; rank 0 leads it."""
    words = len(visited)
    vertices = len(row_offsets) - 1
    alone = state[ALONE] != 0
    spins = 0
    while True:
        chunk = take(state)
        if chunk >= 0:
            spins = 0
            kind = state[KIND]
            begin, end, depth = state[BEGIN], state[END], state[DEPTH]
            if kind == PULL:
                first = chunk * PULL_CHUNK
                last = min(first + PULL_CHUNK, words)
                now, then = (bitmap_0, bitmap_1) if state[SIDE] == 0 else (bitmap_1, bitmap_0)
                found, arcs = pull_words(
                    row_offsets, columns, heads, first, last,
                    now, then, visited, depth + 1, distance, predecessor,
                )  # fmt: skip
                if found:
                    fetch_add(state, FOUND, found)
                    fetch_add(state, FOUND_ARCS, arcs)
            elif kind == PUSH:
                first = chunk * PUSH_CHUNK
                last = min(first + PUSH_CHUNK, state[FRONTIER_ARCS])
                push_chunk(
                    row_offsets, columns, queue, begin, end, visited, predecessor,
                    weight_through, weight_before, first, last, state, TAIL, buffers[rank],
                )  # fmt: skip
            elif kind == COMMIT:
                commit(
                    row_offsets, queue, begin, end, depth, visited, distance,
                    weight_through, weight_before, chunk, state[MARK] != 0, alone,
                )  # fmt: skip
            elif kind == TO_BITMAP:
                first = begin + chunk * QUEUE_CHUNK
                queue_to_bitmap(queue, first, min(first + QUEUE_CHUNK, end), bitmap_0, alone)
            elif kind == TO_QUEUE:
                first = chunk * PULL_CHUNK
                now = bitmap_0 if state[SIDE] == 0 else bitmap_1
                bitmap_to_queue(now, first, min(first + PULL_CHUNK, words), queue, state, TAIL)
            else:
                first = chunk * FILL_CHUNK
                last = min(first + FILL_CHUNK, vertices)
                if len(distance) > 0:
                    distance[first:last] = -1
                if len(predecessor) > 0:
                    predecessor[first:last] = predecessor.dtype.type(numpy.int64(-1))
                for word in range(first // 64, (last + 63) // 64):
                    visited[word] = done_before[word]
            finish(state)
        elif rank != 0:
            if closed(state):
                return
            spins = idle(state, spins)
        else:
            wait_for_all(state)
            kind, chunks = next_phase(
                state, row_offsets, columns, queue, visited, bitmap_0, distance, predecessor,
                weight_through, weight_before, directions,
            )  # fmt: skip
            if chunks == 0:
                close(state)
                return
            open_phase(state, kind, chunks)


@serial
def _parts(count: int, size: int) -> int:
    return (count + size - 1) // size


@serial
def next_phase(
    state: NDArray[Any],
    row_offsets: NDArray[Any],
    columns: Any,
    queue: NDArray[Any],
    visited: NDArray[Any],
    bitmap_0: NDArray[Any],
    distance: NDArray[Any],
    predecessor: NDArray[Any],
    weight_through: NDArray[Any],
    weight_before: NDArray[Any],
    directions: NDArray[Any],
) -> tuple[int, int]:
    """Follow up the phase that has ended, run small levels at once, and name the next phase.

    Returns its kind and its number of chunks, which is 0 when the search is over.
    """
    vertices = len(row_offsets) - 1
    words = len(visited)
    alone = state[ALONE] != 0
    kind = int(state[KIND])
    if kind == START:
        return FILL, _parts(vertices, FILL_CHUNK)
    if kind == TO_BITMAP:
        _open_pull(state, directions)
        return PULL, _parts(words, PULL_CHUNK)
    if kind == PULL:
        found = state[FOUND]
        state[SIDE] = 1 - state[SIDE]
        state[DEPTH] += 1
        state[UNVISITED] -= found
        state[UNEXPLORED] -= state[FOUND_ARCS]
        grew = found >= state[AWAKE]
        state[AWAKE] = found
        if found == 0 or state[DEPTH] >= state[MAX_DEPTH]:
            return kind, 0
        if grew or found * state[BETA] > vertices:
            _open_pull(state, directions)
            return PULL, _parts(words, PULL_CHUNK)
        state[BEGIN] = state[TAIL]
        return TO_QUEUE, _parts(words, PULL_CHUNK)
    if kind == FILL:
        queue[0] = state[SOURCE]
        state[TAIL] = 1
    if kind in (FILL, PUSH, TO_QUEUE):
        # The frontier queue[begin:end] is complete; its arcs are not counted yet.
        if kind == PUSH:
            state[DEPTH] += 1
            state[BEGIN] = state[END]
        state[END] = state[TAIL]
        state[MARK] = kind == FILL or (kind == PUSH and len(predecessor) > 0)
        stretches = _parts(state[END] - state[BEGIN], STRETCH)
        if stretches > 1:
            return COMMIT, stretches
        if stretches == 1:
            commit(
                row_offsets, queue, state[BEGIN], state[END], state[DEPTH], visited, distance,
                weight_through, weight_before, 0, state[MARK] != 0, True,
            )  # fmt: skip
    while True:
        begin, end = state[BEGIN], state[END]
        size = end - begin
        arcs = 0
        for stretch in range(_parts(size, STRETCH)):
            own = weight_before[stretch]
            weight_before[stretch] = arcs
            arcs += own
        state[FRONTIER_ARCS] = arcs
        pulled = state[PULLED] != 0
        state[PULLED] = 0
        if not pulled:
            state[UNVISITED] -= size
            state[UNEXPLORED] -= arcs
        if size == 0 or state[DEPTH] >= state[MAX_DEPTH]:
            return kind, 0
        # A pull looks at every word and every unvisited vertex, so it cannot pay for less than that.
        if (
            state[MAY_PULL] != 0
            and not pulled
            and arcs * state[ALPHA] > state[UNEXPLORED]
            and arcs > state[UNVISITED] + words
        ):
            bitmap_0[:] = 0
            state[SIDE] = 0
            state[AWAKE] = size
            return TO_BITMAP, _parts(size, QUEUE_CHUNK)
        directions[state[DEPTH]] = PUSH_DIRECTION
        if not alone and arcs >= state[SERIAL_BELOW]:
            return PUSH, _parts(arcs, PUSH_CHUNK)
        state[TAIL] = push_alone(row_offsets, columns, queue, begin, end, visited, predecessor)
        state[DEPTH] += 1
        state[BEGIN], state[END] = end, state[TAIL]
        for stretch in range(_parts(state[END] - end, STRETCH)):
            commit(
                row_offsets, queue, end, state[END], state[DEPTH], visited, distance,
                weight_through, weight_before, stretch, len(predecessor) > 0, True,
            )  # fmt: skip


@serial
def _open_pull(state: NDArray[Any], directions: NDArray[Any]) -> None:
    directions[state[DEPTH]] = PULL_DIRECTION
    state[PULLED] = 1
    state[FOUND] = 0
    state[FOUND_ARCS] = 0
