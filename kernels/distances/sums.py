"""Eccentricity, reached vertices and the sum of distances for many sources, 64 at once with one bit each.

The search is that of Then et al., The More the Merrier, PVLDB 8(4), 2014, section 3. Nothing is kept per
vertex and source, so the memory does not grow with the number of sources.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.bits import trailing_zeros
from gravel.kernels.jit import serial
from gravel.kernels.team import thread_count

BATCH = 64
"""Sources that share a search: the bits of a word."""

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)


class Sums(NamedTuple):
    """For each source the largest distance, the vertices reached with itself, and the sum of distances."""

    eccentricity: NDArray[numpy.int64]
    reached: NDArray[numpy.int64]
    total: NDArray[numpy.int64]


def distance_sums(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], sources: NDArray[numpy.int64]
) -> Sums:
    """Search from every source along the arcs. Rows may be in any order; batches run on all threads."""
    n = len(row_offsets) - 1
    found = Sums(*(numpy.zeros(len(sources), numpy.int64) for _ in Sums._fields))
    own = threading.local()

    def search(first: int) -> None:
        if not hasattr(own, "space"):
            own.space = [numpy.empty(n, numpy.uint64) for _ in range(3)]
            own.space += [numpy.empty(n, column_indices.dtype) for _ in range(2)]
        part = slice(first, first + BATCH)
        _together(row_offsets, column_indices, *own.space, sources[part], *(each[part] for each in found))

    batches = range(0, len(sources), BATCH)
    threads = min(thread_count(), len(batches))
    if threads > 1:
        search(0)  # compiles, once
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(search, batches[1:]))
    else:
        for first in batches:
            search(first)
    return found


@serial
def _together(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    seen: NDArray[Any],
    frontier: NDArray[Any],
    following: NDArray[Any],
    queue: NDArray[Any],
    spare: NDArray[Any],
    sources: NDArray[Any],
    eccentricity: NDArray[Any],
    reached: NDArray[Any],
    total: NDArray[Any],
) -> None:
    """Search from up to 64 sources; bit i of a vertex's words belongs to source i."""
    seen[:] = _ZERO
    following[:] = _ZERO
    tail = 0
    for i in range(len(sources)):
        v = sources[i]
        if following[v] == _ZERO:
            queue[tail] = v
            tail += 1
        following[v] |= _ONE << numpy.uint64(i)
    level = 0
    while tail > 0:
        for i in range(tail):
            v = numpy.int64(queue[i])
            bits = following[v]
            frontier[v] = bits
            following[v] = _ZERO
            seen[v] |= bits
            while bits != _ZERO:
                search = numpy.int64(trailing_zeros(bits))
                eccentricity[search] = level
                reached[search] += 1
                total[search] += level
                bits &= bits - _ONE
        end, tail = tail, 0
        for i in range(end):
            u = numpy.int64(queue[i])
            for k in range(row_offsets[u], row_offsets[u + 1]):
                v = numpy.int64(column_indices[k])
                new = frontier[u] & ~seen[v]
                if new != _ZERO:
                    if following[v] == _ZERO:
                        spare[tail] = v
                        tail += 1
                    following[v] |= new
        queue, spare = spare, queue
        level += 1
