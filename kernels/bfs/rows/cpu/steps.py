"""The steps of a level on rows that are decoded where they are read; see `gravel.kernels.bfs.cpu.push` and
`pull`.

`row_offsets` are offsets of bytes: they weigh rows and cut a frontier into chunks, of which each row belongs
to the one that holds its first byte. A row is decoded as a whole into a buffer of the calling thread.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_add, fetch_min, fetch_or
from gravel.kernels.bfs.cpu.push import BUFFER, STRETCH, append
from gravel.kernels.bits import trailing_zeros
from gravel.kernels.jit import serial
from gravel.kernels.layouts.readers import read_row

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


@serial
def mark_isolated(
    row_offsets: NDArray[Any], rows: Any, heads: NDArray[Any], done_before: NDArray[Any]
) -> int:
    """Note every vertex's first neighbour, and what no pull needs to look at; counts the others."""
    n = len(heads)
    active = 0
    neighbours = numpy.empty(rows.longest, rows.dtype.dtype)
    for v in range(n):
        count = 0
        if row_offsets[v] < row_offsets[v + 1]:
            count = read_row(rows, v, neighbours)
        if count > 0:
            heads[v] = neighbours[0]
            active += 1
        else:
            heads[v] = 0
            done_before[v >> 6] |= _ONE << numpy.uint64(v & 63)
    for v in range(n, 64 * len(done_before)):
        done_before[v >> 6] |= _ONE << numpy.uint64(v & 63)
    return active


@serial
def push_alone(
    row_offsets: NDArray[Any],
    rows: Any,
    queue: NDArray[Any],
    begin: int,
    end: int,
    visited: NDArray[Any],
    predecessor: NDArray[Any],
) -> int:
    """Expand queue[begin:end] on one thread; returns the new end of the queue."""
    claims = len(predecessor) > 0
    none = predecessor.dtype.type(numpy.int64(-1))
    neighbours = numpy.empty(rows.longest, rows.dtype.dtype)
    tail = end
    for i in range(begin, end):
        u = queue[i]
        for k in range(read_row(rows, u, neighbours)):
            v = neighbours[k]
            word, bit = v >> _SIX, _ONE << (v & _63)
            if visited[word] & bit:
                continue
            if claims:
                old = predecessor[v]
                if u < old:
                    predecessor[v] = u
                if old != none:
                    continue
            else:
                visited[word] |= bit
            queue[tail] = v
            tail += 1
    return tail


@serial
def push_chunk(
    row_offsets: NDArray[Any],
    rows: Any,
    queue: NDArray[Any],
    begin: int,
    end: int,
    visited: NDArray[Any],
    predecessor: NDArray[Any],
    bytes_through: NDArray[Any],
    bytes_before: NDArray[Any],
    first_byte: int,
    last_byte: int,
    state: NDArray[Any],
    tail: int,
    buffer: NDArray[Any],
) -> None:
    """Expand the rows of the frontier that begin from `first_byte` to `last_byte`, beside other threads.

    Arguments are those of `gravel.kernels.bfs.cpu.push.push_chunk`, with bytes in the place of arcs.
    """
    claims = len(predecessor) > 0
    none = predecessor.dtype.type(numpy.int64(-1))
    neighbours = numpy.empty(rows.longest, rows.dtype.dtype)
    low, high = 0, (end - begin + STRETCH - 1) // STRETCH
    while high - low > 1:
        middle = (low + high) // 2
        if bytes_before[middle] <= first_byte:
            low = middle
        else:
            high = middle
    base = bytes_before[low]
    i, high = low * STRETCH, min((low + 1) * STRETCH, end - begin)
    while i < high:
        middle = (i + high) // 2
        if base + bytes_through[middle] <= first_byte:
            i = middle + 1
        else:
            high = middle
    filled = 0
    while i < end - begin:
        u = queue[begin + i]
        size = row_offsets[u + _ONE] - row_offsets[u]
        start = bytes_before[i // STRETCH] + bytes_through[i] - size
        i += 1
        if start < first_byte or size == 0:
            continue
        if start >= last_byte:
            break
        for k in range(read_row(rows, u, neighbours)):
            v = neighbours[k]
            word, bit = v >> _SIX, _ONE << (v & _63)
            if visited[word] & bit:
                continue
            if claims:
                if predecessor[v] <= u or fetch_min(predecessor, v, u) != none:
                    continue
            elif fetch_or(visited, word, bit) & bit:
                continue
            buffer[filled] = v
            filled += 1
            if filled == BUFFER:
                place = fetch_add(state, tail, filled)
                append(queue, place, buffer, filled)
                filled = 0
    if filled:
        place = fetch_add(state, tail, filled)
        append(queue, place, buffer, filled)


@serial
def pull_words(
    row_offsets: NDArray[Any],
    rows: Any,
    heads: NDArray[Any],
    first_word: int,
    last_word: int,
    frontier: NDArray[Any],
    following: NDArray[Any],
    visited: NDArray[Any],
    depth: int,
    distance: NDArray[Any],
    predecessor: NDArray[Any],
) -> tuple[int, int]:
    """Look for neighbours of the unvisited vertices of some words; returns vertices found and their bytes.

    A row is decoded only where the vertex's head is not in the frontier.
    """
    hops = len(distance) > 0
    claims = len(predecessor) > 0
    neighbours = numpy.empty(rows.longest, rows.dtype.dtype)
    count, weight = 0, 0
    for w in range(numpy.uint64(first_word), numpy.uint64(last_word)):
        unvisited = ~visited[w]
        found = _ZERO
        while unvisited != _ZERO:
            v = (w << _SIX) | trailing_zeros(unvisited)
            bit = unvisited & (_ZERO - unvisited)
            unvisited ^= bit
            u = heads[v]
            hit = (frontier[u >> _SIX] >> (u & _63)) & _ONE != _ZERO
            if not hit:
                for k in range(1, read_row(rows, v, neighbours)):
                    u = neighbours[k]
                    if (frontier[u >> _SIX] >> (u & _63)) & _ONE != _ZERO:
                        hit = True
                        break
            if hit:
                found |= bit
                count += 1
                weight += row_offsets[v + _ONE] - row_offsets[v]
                if claims:
                    predecessor[v] = u
                if hops:
                    distance[v] = depth
        following[w] = found
        visited[w] |= found
    return count, weight
