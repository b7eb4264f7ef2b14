"""Top-down steps: from the vertices of a queue to their neighbours.

The queue slides: the frontier is queue[begin:end], and new vertices go behind it. A vertex found in this
step stays out of the `visited` bitmap until `commit`, so a predecessor that is none yet (all bits set, the
largest unsigned number) tells the first claim, and the minimum over all claims of one step is the smallest
predecessor, whatever order threads come in. Without predecessors the bit itself is the claim.

Rows are columns or encoded, as `gravel.kernels.layouts.spans` reads them. `row_offsets` weigh them: in arcs,
or in bytes of encoded rows.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_add, fetch_min, fetch_or
from gravel.kernels.bfs.buffers import PUSH_BUFFER, STRETCH
from gravel.kernels.jit import serial
from gravel.kernels.layouts.spans import span, span_between, values_of

_ONE = numpy.uint64(1)
_SIX = numpy.uint64(6)
_63 = numpy.uint64(63)


@serial
def append(queue: NDArray[Any], place: int, buffer: NDArray[Any], count: int) -> None:
    """Put the first `count` entries of a buffer into the queue.

    A loop: with NumPy's assignment of slices comes its message about shapes, and with that the compilation of
    numbers to text and of texts joined, a quarter of all that a search compiles.
    """
    for i in range(count):
        queue[place + i] = buffer[i]


@serial
def push_alone(
    row_offsets: NDArray[Any],
    columns: Any,
    queue: NDArray[Any],
    begin: int,
    end: int,
    visited: NDArray[Any],
    predecessor: NDArray[Any],
) -> int:
    """Expand queue[begin:end] on one thread; returns the new end of the queue."""
    claims = len(predecessor) > 0
    none = predecessor.dtype.type(numpy.int64(-1))
    values = values_of(columns)
    tail = end
    for i in range(begin, end):
        u = queue[i]
        low, high = span(columns, row_offsets, u, values)
        for k in range(low, high):
            v = values[numpy.uint64(k)]
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
    columns: Any,
    queue: NDArray[Any],
    begin: int,
    end: int,
    visited: NDArray[Any],
    predecessor: NDArray[Any],
    weight_through: NDArray[Any],
    weight_before: NDArray[Any],
    first: int,
    last: int,
    state: NDArray[Any],
    tail: int,
    buffer: NDArray[Any],
) -> None:
    """Expand what the frontier queue[begin:end] has from weight `first` to `last`, beside other threads.

    `weight_through[i]` is the weight of frontier entry i and of those before it in its stretch, and
    `weight_before[s]` that before stretch s, so that a chunk may begin and end inside a long list.
    state[tail] is the end of the queue.
    """
    claims = len(predecessor) > 0
    none = predecessor.dtype.type(numpy.int64(-1))
    values = values_of(columns)
    low, high = 0, (end - begin + STRETCH - 1) // STRETCH
    while high - low > 1:
        middle = (low + high) // 2
        if weight_before[middle] <= first:
            low = middle
        else:
            high = middle
    base = weight_before[low]
    i, high = low * STRETCH, min((low + 1) * STRETCH, end - begin)
    while i < high:
        middle = (i + high) // 2
        if base + weight_through[middle] <= first:
            i = middle + 1
        else:
            high = middle
    filled = 0
    while i < end - begin:
        u = queue[begin + i]
        size = row_offsets[u + _ONE] - row_offsets[u]
        place = weight_before[i // STRETCH] + weight_through[i] - size
        if place >= last:
            break
        i += 1
        low, high = span_between(columns, row_offsets, u, values, place, first, last)
        for k in range(low, high):
            v = values[numpy.uint64(k)]
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
            if filled == PUSH_BUFFER:
                append(queue, fetch_add(state, tail, filled), buffer, filled)
                filled = 0
    if filled:
        append(queue, fetch_add(state, tail, filled), buffer, filled)


@serial
def commit(
    row_offsets: NDArray[Any],
    queue: NDArray[Any],
    begin: int,
    end: int,
    depth: int,
    visited: NDArray[Any],
    distance: NDArray[Any],
    weight_through: NDArray[Any],
    weight_before: NDArray[Any],
    stretch: int,
    mark: bool,
    alone: bool,
) -> None:
    """Make one stretch of a new frontier queue[begin:end] known: visited, its distance, its weight.

    weight_before[stretch] receives the stretch's own weight. `mark` says that the vertices are not in
    `visited` yet; `alone` that no other thread writes to it.
    """
    hops = len(distance) > 0
    weight = 0
    for i in range(begin + stretch * STRETCH, min(begin + (stretch + 1) * STRETCH, end)):
        v = queue[i]
        if mark:
            word, bit = v >> _SIX, _ONE << (v & _63)
            if alone:
                visited[word] |= bit
            else:
                fetch_or(visited, word, bit)
        if hops:
            distance[v] = depth
        weight += row_offsets[v + _ONE] - row_offsets[v]
        weight_through[i - begin] = weight
    weight_before[stretch] = weight
