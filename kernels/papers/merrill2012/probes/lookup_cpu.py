"""What the look-ups of `kernels/bfs/cuda/lookup.cuh` do, played warp after warp.

The lanes of a warp read before any of them writes, as on a GPU, so that duplicates within a warp and bits
lost in a shared byte show here too. Warps that run at the same time do not: a GPU has more false negatives.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.parts import ATOMIC, HISTORY, LABEL, REMEMBERED, SPREAD, WARP, WARP_CELLS
from gravel.kernels.jit import serial

LANES = 32


@serial
def _hashed(vertex: int) -> int:
    """Return the cell of a table, as `hashed` of `kernels/bfs/cuda/lookup.cuh` does."""
    return (vertex * SPREAD & 0xFFFFFFFF) >> 16


@serial
def lookup_level(
    edges: NDArray[Any],
    parts: int,
    depth: int,
    bitmask: NDArray[Any],
    labels: NDArray[Any],
    winners: NDArray[Any],
    history: NDArray[Any],
) -> int:
    """Look the neighbours of one edge frontier up, mark those that are fresh and return how many were.

    Parameters
    ----------
    edges : vertex index, the edge frontier.
    parts : of `gravel.kernels.bfs.cuda.parts`, always BITMASK among them.
    depth : of the fresh vertices.
    bitmask : uint8 (at least vertices / 8,), one bit per vertex.
    labels : int32 (vertices,), -1 for unvisited.
    winners : uint8 (WARP_CELLS,), a warp's table; history : int64 (REMEMBERED,), a block's, -1 for none.

    """
    fresh = 0
    vertex = numpy.empty(LANES, numpy.int64)
    live = numpy.empty(LANES, numpy.bool_)
    old = numpy.empty(LANES, numpy.uint8)
    one = numpy.uint8(1)
    for first in range(0, len(edges), LANES):
        lanes = min(LANES, len(edges) - first)
        for lane in range(lanes):
            vertex[lane] = edges[first + lane]
            old[lane] = bitmask[vertex[lane] >> 3]
            live[lane] = old[lane] >> numpy.uint8(vertex[lane] & 7) & one == 0
        if parts & WARP:
            for lane in range(lanes):
                if live[lane]:
                    winners[_hashed(vertex[lane]) % WARP_CELLS] = lane
            for lane in range(lanes):
                if live[lane]:
                    winner = winners[_hashed(vertex[lane]) % WARP_CELLS]
                    live[lane] = winner == lane or vertex[winner] != vertex[lane]
        if parts & HISTORY:
            for lane in range(lanes):
                if live[lane]:
                    live[lane] = history[_hashed(vertex[lane]) % REMEMBERED] != vertex[lane]
            for lane in range(lanes):
                if live[lane]:
                    history[_hashed(vertex[lane]) % REMEMBERED] = vertex[lane]
        if parts & ATOMIC:
            for lane in range(lanes):
                bit = one << numpy.uint8(vertex[lane] & 7)
                if live[lane] and bitmask[vertex[lane] >> 3] & bit == 0:
                    bitmask[vertex[lane] >> 3] |= bit
                    labels[vertex[lane]] = depth
                    fresh += 1
            continue
        for lane in range(lanes):
            if live[lane]:
                bitmask[vertex[lane] >> 3] = old[lane] | one << numpy.uint8(vertex[lane] & 7)
                if parts & LABEL and labels[vertex[lane]] != -1:
                    live[lane] = False
        for lane in range(lanes):
            if live[lane]:
                labels[vertex[lane]] = depth
                fresh += 1
    return fresh


@serial
def list_neighbours(ranges: NDArray[Any], columns: NDArray[Any], edges: NDArray[Any]) -> None:
    """Write rows, int64 (rows, 2), one after the other: an edge frontier."""
    place = 0
    for r in range(len(ranges)):
        for arc in range(ranges[r, 0], ranges[r, 1]):
            edges[place] = columns[arc]
            place += 1


@serial
def distinct_neighbours(edges: NDArray[Any], level: int, stamps: NDArray[Any]) -> int:
    """Count the distinct vertices of an edge frontier; `stamps` int32 (vertices,) have not had this level."""
    distinct = 0
    for e in range(len(edges)):
        v = numpy.int64(edges[e])
        if stamps[v] != level:
            stamps[v] = level
            distinct += 1
    return distinct
