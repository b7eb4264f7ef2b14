"""A graph in ranges of rows that are in memory one at a time, and what a worker does with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition.chunks import DelegateIndex, Share
    from gravel.stages.artifacts import Graph

RANGE_ARCS = 1 << 22
"""Arcs of a range, at most one row more: 16 MiB of columns."""

RANGE_ROWS = 1 << 20
"""Rows of a range at most, and of what is read of row offsets at once; a multiple of 64."""


@dataclass(frozen=True)
class Rows:
    """Rows `first` to `last` - 1 and their arcs `begin` to `end` - 1.

    `offsets` and `columns` are the graph's stored arrays, or of a graph in memory the slices.
    """

    first: int
    last: int
    begin: int
    end: int
    offsets: Any
    columns: Any
    sliced: bool

    def read(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give row offsets and columns of the range."""
        import numpy

        if self.sliced:
            return self.offsets, self.columns
        offsets = numpy.asarray(self.offsets[self.first : self.last + 1])
        return offsets, numpy.asarray(self.columns[self.begin : self.end])


def ranges(graph: Graph) -> Iterator[Rows]:
    """Cut a graph into ranges of at most `RANGE_ROWS` rows and about `RANGE_ARCS` arcs."""
    import numpy

    in_memory = isinstance(graph.row_offsets, numpy.ndarray) and isinstance(
        graph.column_indices, numpy.ndarray
    )
    for first, offsets in offset_pieces(graph):
        row, rows = 0, len(offsets) - 1
        while row < rows:
            begin = int(offsets[row])
            fits = int(numpy.searchsorted(offsets, begin + RANGE_ARCS, side="right")) - 1
            last = min(rows, max(row + 1, fits))
            end = int(offsets[last])
            yield Rows(
                first + row,
                first + last,
                begin,
                end,
                offsets[row : last + 1] if in_memory else graph.row_offsets,
                graph.column_indices[begin:end] if in_memory else graph.column_indices,
                in_memory,
            )
            row = last


def offset_pieces(graph: Graph) -> Iterator[tuple[int, NDArray[Any]]]:
    """Read the row offsets piece by piece: the first row, and one offset more than rows."""
    import numpy

    for first in range(0, graph.vertex_count, RANGE_ROWS):
        last = min(first + RANGE_ROWS, graph.vertex_count)
        yield first, numpy.asarray(graph.row_offsets[first : last + 1])


@dataclass(frozen=True)
class CountTask:
    """Rows to count, with the file of all capped degrees."""

    rows: Rows
    degrees: Path


def count_range(task: CountTask) -> tuple[NDArray[Any], NDArray[Any]]:
    """Count a range's arcs by the degrees of their ends."""
    import numpy

    from gravel.kernels.partition.census import count_rows

    offsets, columns = task.rows.read()
    degrees = numpy.load(task.degrees, mmap_mode="r")
    return count_rows(offsets, columns, task.rows.first, degrees)


@dataclass(frozen=True)
class SplitTask:
    """Rows to distribute among some ranks, with the files of the delegate index."""

    rows: Rows
    index: tuple[Path, Path, Path]
    ranks: int
    low: int
    high: int


def load_index(files: tuple[Path, Path, Path]) -> DelegateIndex:
    """Map the delegate index, which all workers of a host share."""
    import numpy

    from gravel.kernels.partition.chunks import DelegateIndex

    return DelegateIndex(*(numpy.load(file, mmap_mode="r") for file in files))


def split_range(task: SplitTask) -> list[Share]:
    """Distribute a range's arcs."""
    from gravel.kernels.partition.chunks import split_rows

    offsets, columns = task.rows.read()
    index = load_index(task.index)
    return split_rows(
        offsets, columns, task.rows.first, index, ranks=task.ranks, low=task.low, high=task.high
    )
