"""Bottom-up steps: each unvisited vertex looks for a neighbour in the frontier.

Beamer, Asanovic, Patterson, Direction-Optimizing Breadth-First Search, SC 2012, section IV. The frontier is
a bitmap, and one thread owns the 64 vertices of a word, so nothing is atomic. Lists are ascending: the first
neighbour found is the smallest predecessor.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_add, fetch_or
from gravel.kernels.bits import set_bits, trailing_zeros
from gravel.kernels.jit import serial

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


@serial
def pull_words(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
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
    """Look for neighbours of the unvisited vertices of some words; returns vertices found and their arcs.

    `heads[v]` is v's first neighbour: many searches of a list end there, and heads lie side by side.
    """
    hops = len(distance) > 0
    claims = len(predecessor) > 0
    count, arcs = 0, 0
    for w in range(numpy.uint64(first_word), numpy.uint64(last_word)):
        unvisited = ~visited[w]
        found = _ZERO
        while unvisited != _ZERO:
            v = (w << _SIX) | trailing_zeros(unvisited)
            bit = unvisited & (_ZERO - unvisited)
            unvisited ^= bit
            low, high = numpy.uint64(row_offsets[v]), numpy.uint64(row_offsets[v + _ONE])
            u = heads[v]
            k = low
            while (frontier[u >> _SIX] >> (u & _63)) & _ONE == _ZERO:
                k += _ONE
                if k >= high:
                    break
                u = column_indices[k]
            if k < high:
                found |= bit
                count += 1
                arcs += int(high - low)
                if claims:
                    predecessor[v] = u
                if hops:
                    distance[v] = depth
        following[w] = found
        visited[w] |= found
    return count, arcs


@serial
def queue_to_bitmap(queue: NDArray[Any], first: int, last: int, bitmap: NDArray[Any], alone: bool) -> None:
    """Set the bits of queue[first:last] in a bitmap; `alone` says that no other thread writes to it."""
    for i in range(first, last):
        v = queue[i]
        if alone:
            bitmap[v >> _SIX] |= _ONE << (v & _63)
        else:
            fetch_or(bitmap, v >> _SIX, _ONE << (v & _63))


@serial
def bitmap_to_queue(
    bitmap: NDArray[Any],
    first_word: int,
    last_word: int,
    queue: NDArray[Any],
    state: NDArray[Any],
    tail: int,
) -> None:
    """Append the vertices of some words to the queue, whose end is state[tail]."""
    count = _ZERO
    for w in range(first_word, last_word):
        count += set_bits(bitmap[w])
    if count == _ZERO:
        return
    place = fetch_add(state, tail, count)
    for w in range(numpy.uint64(first_word), numpy.uint64(last_word)):
        bits = bitmap[w]
        while bits != _ZERO:
            queue[place] = (w << _SIX) | trailing_zeros(bits)
            place += 1
            bits &= bits - _ONE
