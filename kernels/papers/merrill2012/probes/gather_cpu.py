"""What the gathers of `kernels/bfs/cuda/gather.cuh` do, played thread after thread, with their work counted.

This is the twin that the CUDA probe is checked against, and it counts for both what no clock tells: the
sectors that the loads of neighbours ask the memory for, and the lanes that these loads and the listing of
offsets occupy, idle ones of an active warp included. A sector is counted once for each load of a warp; what
caches keep from one load to the next is not modelled, nor are the prefix sums and votes, of which every tile
has about the same number. `tests/benchmarks/gathers.py` compares the sectors with those of a GPU's counters.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial

LANES = 32  # of a warp
SERIAL, WARP, SCAN, SCAN_WARP_CTA = range(4)  # as `gravel.kernels.bfs.cuda.parts.GATHERS` numbers them
ARCS, CHECKSUM, SLOTS, SECTORS = range(4)


def sector_arcs(dtype: Any) -> int:
    """How many column indices of this type a sector of 32 bytes holds."""
    return 32 // int(numpy.dtype(dtype).itemsize)


@serial
def gather_level(
    ranges: NDArray[Any],
    columns: NDArray[Any],
    method: int,
    block: int,
    listed: int,
    sector: int,
    counts: NDArray[Any],
) -> None:
    """Gather the rows of one level with one method.

    Parameters
    ----------
    ranges : int64 (rows, 2).
    columns : column indices of the graph, or none of them, for counts without a checksum.
    method : SERIAL, WARP, SCAN or SCAN_WARP_CTA.
    block : threads of a block, each of which has one row of a tile.
    listed : offsets that a block lists at once when it gathers by scan.
    sector : arcs that a sector of 32 bytes holds.
    counts : uint64 (4,), to which are added ARCS gathered, the CHECKSUM (of column + 1, over all of them),
        lane SLOTS and SECTORS.

    """
    for tile in range(0, len(ranges), block):
        rows = ranges[tile : tile + block]
        if method == SERIAL:
            for warp in range(0, len(rows), LANES):
                _serially(rows[warp : warp + LANES], columns, sector, counts)
            continue
        if method != SCAN:
            for r in range(len(rows)):
                length = rows[r, 1] - rows[r, 0]
                if method == WARP or length >= LANES:
                    _together(rows[r, 0], length, columns, sector, counts)
        if method != WARP:
            longest = LANES - 1 if method == SCAN_WARP_CTA else numpy.int64(1) << 62
            _by_scan(rows, longest, columns, listed, sector, counts)


@serial
def _take(arc: int, columns: NDArray[Any], counts: NDArray[Any]) -> None:
    counts[ARCS] += numpy.uint64(1)
    if len(columns) > 0:
        counts[CHECKSUM] += numpy.uint64(columns[arc]) + numpy.uint64(1)


@serial
def _serially(rows: NDArray[Any], columns: NDArray[Any], sector: int, counts: NDArray[Any]) -> None:
    """Lane i reads row i; all wait for the longest."""
    longest = 0
    for r in range(len(rows)):
        longest = max(longest, rows[r, 1] - rows[r, 0])
    counts[SLOTS] += numpy.uint64(LANES * longest)
    for step in range(longest):
        last = -1
        # Rows ascend, so that lanes which share a sector stand side by side.
        for r in range(len(rows)):
            arc = rows[r, 0] + step
            if arc < rows[r, 1]:
                _take(arc, columns, counts)
                if arc // sector != last:
                    last = arc // sector
                    counts[SECTORS] += numpy.uint64(1)


@serial
def _together(begin: int, length: int, columns: NDArray[Any], sector: int, counts: NDArray[Any]) -> None:
    """Warps read a row, 32 arcs at a time."""
    for first in range(begin, begin + length, LANES):
        end = min(first + LANES, begin + length)
        counts[SLOTS] += numpy.uint64(LANES)
        counts[SECTORS] += numpy.uint64((end - 1) // sector - first // sector + 1)
        for arc in range(first, end):
            _take(arc, columns, counts)


@serial
def _by_scan(
    rows: NDArray[Any], longest: int, columns: NDArray[Any], listed: int, sector: int, counts: NDArray[Any]
) -> None:
    """Threads list the arcs of rows that are not longer than `longest`, and warps read what is listed."""
    rank = 0
    last = -1
    for warp in range(0, len(rows), LANES):
        group = rows[warp : warp + LANES]
        first_round = rank // listed
        begin = rank
        for r in range(len(group)):
            length = group[r, 1] - group[r, 0]
            if length > longest:
                continue
            for k in range(length):
                arc = group[r, 0] + k
                if rank % LANES == 0:
                    counts[SLOTS] += numpy.uint64(LANES)
                    last = -1
                if arc // sector != last:
                    last = arc // sector
                    counts[SECTORS] += numpy.uint64(1)
                _take(arc, columns, counts)
                rank += 1
        for turn in range(first_round, (rank + listed - 1) // listed):
            most = 0
            place = begin
            for r in range(len(group)):
                length = group[r, 1] - group[r, 0]
                if length > longest:
                    continue
                inside = min(place + length, (turn + 1) * listed) - max(place, turn * listed)
                most = max(most, inside)
                place += length
            counts[SLOTS] += numpy.uint64(LANES * most)
