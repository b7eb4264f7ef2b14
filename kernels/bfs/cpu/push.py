"""Top-down steps: from the vertices of a queue to their neighbours.

The queue slides: the frontier is queue[begin:end], and new vertices go behind it. A vertex found in this
step stays out of the `visited` bitmap until `commit`, so a predecessor that is none yet (all bits set, the
largest unsigned number) tells the first claim, and the minimum over all claims of one step is the smallest
predecessor, whatever order threads come in. Without predecessors the bit itself is the claim.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_add, fetch_min, fetch_or
from gravel.kernels.jit import serial

STRETCH = 1024
"""Queue entries that `commit` handles, and sums the arcs of, at a time."""

BUFFER = 1024
"""Vertices that a thread collects before it reserves their places in the queue."""

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
    column_indices: NDArray[Any],
    queue: NDArray[Any],
    begin: int,
    end: int,
    visited: NDArray[Any],
    predecessor: NDArray[Any],
) -> int:
    """Expand queue[begin:end] on one thread; returns the new end of the queue."""
    claims = len(predecessor) > 0
    none = predecessor.dtype.type(numpy.int64(-1))
    tail = end
    for i in range(begin, end):
        u = queue[i]
        for k in range(row_offsets[u], row_offsets[u + _ONE]):
            v = column_indices[numpy.uint64(k)]
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
    column_indices: NDArray[Any],
    queue: NDArray[Any],
    begin: int,
    end: int,
    visited: NDArray[Any],
    predecessor: NDArray[Any],
    arcs_through: NDArray[Any],
    arcs_before: NDArray[Any],
    first_arc: int,
    last_arc: int,
    state: NDArray[Any],
    tail: int,
    buffer: NDArray[Any],
) -> None:
    """Expand the arcs `first_arc` to `last_arc` of the frontier queue[begin:end], beside other threads.

    `arcs_through[i]` counts the arcs of frontier entry i and those before it in its stretch, and
    `arcs_before[s]` the arcs before stretch s, so that a chunk may begin and end inside a long list.
    state[tail] is the end of the queue.
    """
    claims = len(predecessor) > 0
    none = predecessor.dtype.type(numpy.int64(-1))
    stretches = (end - begin + STRETCH - 1) // STRETCH
    low, high = 0, stretches
    while high - low > 1:
        middle = (low + high) // 2
        if arcs_before[middle] <= first_arc:
            low = middle
        else:
            high = middle
    base = arcs_before[low]
    i, high = low * STRETCH, min((low + 1) * STRETCH, end - begin)
    while i < high:
        middle = (i + high) // 2
        if base + arcs_through[middle] <= first_arc:
            i = middle + 1
        else:
            high = middle
    arc = first_arc
    filled = 0
    while arc < last_arc:
        u = queue[begin + i]
        row = row_offsets[u]
        row_end = row_offsets[u + _ONE]
        start = row
        if arc == first_arc:
            start = row_end - (arcs_before[i // STRETCH] + arcs_through[i] - arc)
        stop = min(row_end, start + (last_arc - arc))
        for k in range(start, stop):
            v = column_indices[numpy.uint64(k)]
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
        arc += stop - start
        i += 1
    if filled:
        place = fetch_add(state, tail, filled)
        append(queue, place, buffer, filled)


@serial
def commit(
    row_offsets: NDArray[Any],
    queue: NDArray[Any],
    begin: int,
    end: int,
    depth: int,
    visited: NDArray[Any],
    distance: NDArray[Any],
    arcs_through: NDArray[Any],
    arcs_before: NDArray[Any],
    stretch: int,
    mark: bool,
    alone: bool,
) -> None:
    """Make one stretch of a new frontier queue[begin:end] known: visited, its distance, its arcs.

    arcs_before[stretch] receives the stretch's own number of arcs. `mark` says that the vertices are not in
    `visited` yet; `alone` that no other thread writes to it.
    """
    hops = len(distance) > 0
    arcs = 0
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
        arcs += row_offsets[v + _ONE] - row_offsets[v]
        arcs_through[i - begin] = arcs
    arcs_before[stretch] = arcs
