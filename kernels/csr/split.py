"""Deal arcs to ranges of rows, for graphs that are built range by range."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.csr.rows import arc_ends
from gravel.kernels.jit import serial


def split(
    source: NDArray[Any],
    target: NDArray[Any],
    bounds: NDArray[numpy.int64],
    *,
    direction: str,
    keep_loops: bool,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[numpy.int64]]:
    """Make the arcs of edges and bring those of one row range together.

    Parameters
    ----------
    source, target : uint32 or uint64 (edges,), below bounds[-1]; with "as_given" and loops kept, targets
        may be whatever goes along with a source.
    bounds : int64 (ranges + 1,), ascending from 0: range r holds rows bounds[r] <= v < bounds[r + 1].
    direction, keep_loops : see `gravel.kernels.csr.build`.

    Returns rows and columns (arcs,), and ends (ranges + 1,): the arcs of range r are ends[r] to ends[r + 1].

    """
    edges = source, target, bounds, *arc_ends(direction), keep_loops
    ends = numpy.zeros(len(bounds) + 1, numpy.int64)
    _distribute(*edges, ends[2:], source[:0], target[:0])
    numpy.cumsum(ends, out=ends)
    rows, columns = numpy.empty(ends[-1], source.dtype), numpy.empty(ends[-1], target.dtype)
    _distribute(*edges, ends[1:], rows, columns)
    return rows, columns, ends[:-1]


@serial
def _range_of(bounds: NDArray[Any], vertex: Any) -> Any:
    low, high = 0, len(bounds) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if bounds[middle] <= vertex:
            low = middle
        else:
            high = middle
    return low


@serial
def _distribute(
    source: NDArray[Any],
    target: NDArray[Any],
    bounds: NDArray[numpy.int64],
    forward: bool,
    backward: bool,
    keep_loops: bool,
    cursors: NDArray[numpy.int64],
    rows: NDArray[Any],
    columns: NDArray[Any],
) -> None:
    """Put each arc where the cursor of its range is, and move that on; without room for rows, only count."""
    writes = len(rows) > 0
    for i in range(len(source)):
        u, v = numpy.int64(source[i]), numpy.int64(target[i])
        loop = u == v
        if loop and not keep_loops:
            continue
        if forward or loop:
            part = _range_of(bounds, u)
            if writes:
                rows[cursors[part]], columns[cursors[part]] = source[i], target[i]
            cursors[part] += 1
        if backward and not loop:
            part = _range_of(bounds, v)
            if writes:
                rows[cursors[part]], columns[cursors[part]] = target[i], source[i]
            cursors[part] += 1


@serial
def next_bound(
    degrees: NDArray[numpy.int64], first: int, budget: int, bytes_per_arc: int, bytes_per_row: int
) -> int:
    """Find the end of the longest row range from `first` on whose rows and arcs fit the budget."""
    total = 0
    for vertex in range(first, len(degrees)):
        total += bytes_per_row + degrees[vertex] * bytes_per_arc
        if total > budget:
            return vertex
    return len(degrees)
