"""Bottom-up steps: each unvisited vertex looks for a neighbour in the frontier.

Beamer, Asanovic, Patterson, Direction-Optimizing Breadth-First Search, SC 2012, section IV. The frontier is
a bitmap, and one thread owns the 64 vertices of a word, so nothing is atomic. Lists are ascending: the first
neighbour found is the smallest predecessor. Rows are columns or encoded, as in `push.py`.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_add, fetch_or
from gravel.kernels.bits import set_bits, trailing_zeros
from gravel.kernels.jit import serial
from gravel.kernels.layouts.spans import span, values_of

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


@serial
def pull_words(
    row_offsets: NDArray[Any],
    columns: Any,
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
    """Look for neighbours of the unvisited vertices of some words; returns vertices found and their weight.

    `heads[v]` is v's first neighbour: many searches of a list end there, and heads lie side by side.
    """
    hops = len(distance) > 0
    claims = len(predecessor) > 0
    values = values_of(columns)
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
                low, high = span(columns, row_offsets, v, values)
                for k in range(low + 1, high):
                    u = values[numpy.uint64(k)]
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
    bitmap: NDArray[Any], first_word: int, last_word: int, queue: NDArray[Any], state: NDArray[Any], tail: int
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
