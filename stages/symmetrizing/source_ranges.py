"""Graphs larger than memory, a range of source vertices at a time: the ranges, and their arcs on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gravel.kernels.csr.buffers import ROW
from gravel.stages.errors import StageError

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


@dataclass
class _File:
    path: Path
    stream: BinaryIO
    blocks: list[int] = field(default_factory=list)  # arcs of each block: their rows, then their columns

    def write(self, rows: NDArray[Any], columns: NDArray[Any]) -> None:
        self.stream.write(rows.data)
        self.stream.write(columns.data)
        self.blocks.append(len(rows))


class Spool:
    """Arcs in files, one for each range, in the order in which they came; a `with` block writes them.

    Takes `2 * itemsize` bytes of disk for each arc. A failing disk is reported as a `StageError`.
    """

    def __init__(self, folder: Path, ranges: int, dtype: Any) -> None:
        self._folder = folder
        self._dtype = dtype
        self._ranges = ranges
        self._files: list[_File] = []

    def __enter__(self) -> Spool:
        try:
            for index in range(self._ranges):
                path = self._folder / f"range-{index:05}"
                self._files.append(_File(path, path.open("wb")))
        except OSError as error:
            self._close()
            raise self._failed(error) from None
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        error = self._close()
        if error is not None and kind is None:
            raise self._failed(error)

    def _close(self) -> OSError | None:
        """Close every file, and return the last failure: what was still buffered is written here."""
        failure = None
        for file in self._files:
            try:
                file.stream.close()
            except OSError as error:
                failure = error
        return failure

    def add(self, rows: NDArray[Any], columns: NDArray[Any], ends: NDArray[numpy.int64]) -> None:
        """Append what `gravel.kernels.csr.split` returns."""
        try:
            for index, file in enumerate(self._files):
                low, high = int(ends[index]), int(ends[index + 1])
                if low < high:
                    file.write(rows[low:high], columns[low:high])
        except OSError as error:
            raise self._failed(error) from None

    def blocks(self, index: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Read a range's arcs back, rows and columns."""
        import numpy

        file = self._files[index]
        with file.path.open("rb") as stream:
            for count in file.blocks:
                rows = numpy.fromfile(stream, self._dtype, count)
                yield rows, numpy.fromfile(stream, self._dtype, count)

    def remove(self, index: int) -> None:
        """Remove the file of a range."""
        self._files[index].path.unlink()

    def _failed(self, error: OSError) -> StageError:
        return StageError(
            f"arcs that do not fit in memory could not be written to {self._folder}: {error.strerror}",
            hint="free disk space there, allow more open files, or give this stage more memory",
        )


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
    spool = Spool(context.scratch, len(bounds) - 1, edges.dtype)
    context.log(
        f"{len(bounds) - 1} source ranges, since the arcs do not fit in memory at once; "
        f"{int(degrees.sum()) * 2 * edges.dtype.itemsize:,} bytes go to scratch files"
    )
    with spool:
        for source, target in edges.parts(1):
            spool.add(*split(source, target, numpy.array(bounds), **edges.options))
    for index, (first, last) in enumerate(pairwise(bounds)):
        yield first, last, partial(spool.blocks, index)
        spool.remove(index)
        edges.tell(2, last, edges.vertices)
