"""Graphs larger than memory, a range of source vertices at a time: the ranges, and their arcs on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.kernels.csr.buffers import ROW
from gravel.stages.errors import StageError
from gravel.stages.scratch_file import ScratchFile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.stages.context import Context
    from gravel.stages.symmetrizing.edge_parts import EdgeParts

Blocks = Iterator[tuple["NDArray[Any]", "NDArray[Any]"]]
"""Parts of the arcs: their rows, and their columns."""


def plan_ranges(
    degrees: NDArray[numpy.int64], *, budget: int, bytes_per_arc: int, bytes_per_row: int
) -> list[int]:
    """Cut the vertices into the fewest ranges that fit the budget each.

    `degrees[v]` counts the arcs of v before duplicates are removed. Returns the bounds, ascending from 0 to
    the number of vertices. Raises `StageError` naming the vertex whose row alone does not fit.
    """
    from gravel.kernels.csr.split import next_bound

    bounds = [0]
    while bounds[-1] < len(degrees):
        bound = next_bound(degrees, bounds[-1], budget, bytes_per_arc, bytes_per_row)
        if bound == bounds[-1]:
            arcs = int(degrees[bound])
            raise StageError(
                f"one vertex has {arcs:,} arcs; building its row takes "
                f"{arcs * bytes_per_arc + bytes_per_row:,} bytes, and {max(budget, 0):,} are left for that",
                hint="give this stage more memory",
                vertices=[bound],
            )
        bounds.append(bound)
    return bounds if len(bounds) > 1 else [0, 0]


class Spool:
    """Arcs in files, one for each range, in the order in which they came.

    Takes `2 * itemsize` bytes of disk for each arc. Raises StageError where the disk takes no more.
    """

    def __init__(self, folder: Path, ranges: int, dtype: Any) -> None:
        self._dtype = dtype
        self._files = [ScratchFile(folder) for _ in range(ranges)]
        self._counts: list[list[int]] = [[] for _ in range(ranges)]  # arcs: their rows, then their columns

    def add(self, rows: NDArray[Any], columns: NDArray[Any], ends: NDArray[numpy.int64]) -> None:
        """Append what `gravel.kernels.csr.split` returns."""
        for index, file in enumerate(self._files):
            low, high = int(ends[index]), int(ends[index + 1])
            if low < high:
                file.append(rows[low:high])
                file.append(columns[low:high])
                self._counts[index].append(high - low)

    def blocks(self, index: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Read a range's arcs back, rows and columns."""
        place, size = 0, self._dtype.itemsize
        for count in self._counts[index]:
            rows = self._files[index].read(place, count, self._dtype)
            yield rows, self._files[index].read(place + size * count, count, self._dtype)
            place += 2 * size * count

    def remove(self, index: int) -> None:
        """Remove the file of a range."""
        self._files[index].close()

    def close(self) -> None:
        """Remove all files."""
        for file in self._files:
            file.close()


def spooled(
    context: Context,
    edges: EdgeParts,
    degrees: NDArray[numpy.int64],
    budget: int,
    bytes_per_arc: int,
) -> Iterator[tuple[int, int, Callable[[], Blocks]]]:
    """Deal the arcs to files by ranges that fit, and yield first and last vertex and what reads each."""
    import numpy

    from gravel.kernels.csr.split import split

    bounds = plan_ranges(degrees, budget=budget, bytes_per_arc=bytes_per_arc, bytes_per_row=ROW)
    context.log(
        f"{len(bounds) - 1} source ranges, since the arcs do not fit in memory at once; "
        f"{int(degrees.sum()) * 2 * edges.dtype.itemsize:,} bytes go to scratch files"
    )
    with closing(Spool(context.scratch, len(bounds) - 1, edges.dtype)) as spool:
        for source, target in edges.parts(1):
            spool.add(*split(source, target, numpy.array(bounds), **edges.options))
        for index, (first, last) in enumerate(pairwise(bounds)):
            yield first, last, partial(spool.blocks, index)
            spool.remove(index)
            edges.tell(2, last, edges.vertices)
