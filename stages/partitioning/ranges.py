"""A graph in ranges of rows that are in memory one at a time, and what a worker does with one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.kernels.arrays import on_host
from gravel.stages.threads import map_threads

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from gravel.kernels.partition.shares import Share
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import Context


Task = TypeVar("Task")
Result = TypeVar("Result")

RANGE_ARCS = 1 << 22
"""Arcs of a range, at most one row more: 16 MiB of columns."""

RANGE_ROWS = 1 << 20
"""Rows of a range at most, and of what is read of row offsets at once; a multiple of 64."""


@dataclass(frozen=True)
class ArrayFile:
    """A one-dimensional array in a file without a header.

    The header of an NPY file is read by Python's parser, which fails now and then where threads of a process
    parse at the same time (`SystemError: AST constructor recursion depth mismatch`, Python 3.11).
    """

    path: Path
    dtype: str
    length: int

    def map(self, mode: str = "r") -> NDArray[Any]:
        """Map the array; an empty one, which no system maps, is made."""
        import numpy

        if not self.length:
            return numpy.empty(0, self.dtype)
        mapped: NDArray[Any] = numpy.memmap(self.path, self.dtype, mode, shape=(self.length,))  # type: ignore[call-overload]
        return mapped


def allocated(path: Path, dtype: DTypeLike, length: int) -> ArrayFile:
    """Make a file of zeros; raises OSError where the disk has no room."""
    import numpy

    kind = numpy.dtype(dtype)
    with path.open("wb") as out:
        if length:
            # Writing to a mapped page that the disk has no room for would end the process.
            os.posix_fallocate(out.fileno(), 0, length * kind.itemsize)
    return ArrayFile(path, kind.str, length)


def written(path: Path, array: NDArray[Any]) -> ArrayFile:
    """Write an array; raises OSError where the disk has no room."""
    import numpy

    with path.open("wb") as out:
        # `tofile` would lose what the system says of a full disk.
        out.write(numpy.ascontiguousarray(array).view(numpy.uint8).data)
    return ArrayFile(path, array.dtype.str, len(array))


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
        if self.sliced:
            return self.offsets, self.columns
        offsets = on_host(self.offsets[self.first : self.last + 1])
        return offsets, on_host(self.columns[self.begin : self.end])


def ranges(graph: Graph, *, arcs: int | None = None, rows: int | None = None) -> Iterator[Rows]:
    """Cut a graph into ranges of at most `rows` rows and `arcs` arcs, or of one row that has more.

    By default these are `RANGE_ROWS` and `RANGE_ARCS`.
    """
    import numpy

    most, arcs = rows, arcs or RANGE_ARCS

    in_memory = is_in_memory(graph)
    for first, offsets in offset_pieces(graph, most):
        row, count = 0, len(offsets) - 1
        while row < count:
            begin = int(offsets[row])
            fits = int(numpy.searchsorted(offsets, begin + arcs, side="right")) - 1
            last = min(count, max(row + 1, fits))
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


def is_in_memory(graph: Graph) -> bool:
    """Return whether ranges are slices of arrays in memory."""
    import numpy

    return all(isinstance(each, numpy.ndarray) for each in (graph.row_offsets, graph.column_indices))


def map_ranges(
    context: Context, graph: Graph, function: Callable[[Task], Result], tasks: Iterable[Task]
) -> Iterator[Result]:
    """Apply a function to ranges on all workers, or of arrays in memory on this process's threads.

    Sending such ranges to other workers, and what becomes of them back, takes longer than dividing them.
    """
    if is_in_memory(graph):
        return map_threads(function, tasks, context.machine.threads)
    return context.map(function, tasks)


def offset_pieces(graph: Graph, rows: int | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
    """Read the row offsets piece by piece: the first row, and one offset more than rows."""
    step = rows or RANGE_ROWS
    for first in range(0, graph.vertex_count, step):
        last = min(first + step, graph.vertex_count)
        yield first, on_host(graph.row_offsets[first : last + 1])


@dataclass(frozen=True)
class CountTask:
    """Rows to count, with the file of all capped degrees."""

    rows: Rows
    degrees: ArrayFile


def count_range(task: CountTask) -> tuple[NDArray[Any], NDArray[Any]]:
    """Count a range's arcs by the degrees of their ends."""
    from gravel.kernels.partition.census_cpu import count_rows

    offsets, columns = task.rows.read()
    return count_rows(offsets, columns, task.rows.first, task.degrees.map())


@dataclass(frozen=True)
class SplitTask:
    """Rows to distribute among some ranks, with the files of the delegate index."""

    rows: Rows
    index: tuple[ArrayFile, ...]
    ranks: int
    low: int
    high: int


def split_range(task: SplitTask) -> list[Share]:
    """Distribute a range's arcs."""
    from gravel.kernels.partition.chunks import split_rows
    from gravel.kernels.partition.shares import DelegateIndex

    offsets, columns = task.rows.read()
    index = DelegateIndex(*(file.map() for file in task.index))
    return split_rows(
        offsets, columns, task.rows.first, index, ranks=task.ranks, low=task.low, high=task.high
    )


@dataclass(frozen=True)
class StripeTask:
    """Rows to divide among the ranks `low` to `high` - 1."""

    rows: Rows
    ranks: int
    low: int
    high: int


def stripe_range(task: StripeTask) -> list[Share]:
    """Divide a range's rows."""
    from gravel.kernels.partition.stripes import stripe_rows

    offsets, columns = task.rows.read()
    return stripe_rows(offsets, columns, task.rows.first, ranks=task.ranks, low=task.low, high=task.high)
