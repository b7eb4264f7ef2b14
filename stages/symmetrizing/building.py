"""Sorted rows of an edge list on the host or on the device, at once or range by range with arcs on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import exact, total
from gravel.kernels.csr import buffers
from gravel.kernels.csr.buffers import ROW
from gravel.kernels.cuda.room import give_free_blocks_back, is_out_of_memory
from gravel.stages.errors import StageError
from gravel.stages.rows.ranges import free_bytes, lacking
from gravel.stages.scratch_file import ScratchFile
from gravel.stages.symmetrizing.edge_parts import PART_BYTES, EdgeParts, Output

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.stages.context import Context

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

    Rows and columns take the bytes of their types on disk. Raises StageError where the disk takes no more.
    """

    def __init__(self, folder: Path, ranges: int, rows: Any, columns: Any) -> None:
        self._rows, self._columns = rows, columns
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
        place = 0
        for count in self._counts[index]:
            columns = place + self._rows.itemsize * count
            rows = self._files[index].read(place, count, self._rows)
            yield rows, self._files[index].read(columns, count, self._columns)
            place = columns + self._columns.itemsize * count

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
    with closing(Spool(context.scratch, len(bounds) - 1, edges.dtype, edges.dtype)) as spool:
        for source, target in edges.parts(1):
            spool.add(*split(source, target, numpy.array(bounds), **edges.options))
        for index, (first, last) in enumerate(pairwise(bounds)):
            yield first, last, partial(spool.blocks, index)
            spool.remove(index)
            edges.tell(2, last, edges.vertices)


def _counted(edges: EdgeParts) -> NDArray[numpy.int64]:
    """Count arcs per vertex into [2:], which leaves `RowBuilder` the room that it needs."""
    import numpy

    from gravel.kernels.csr import degrees

    counts: NDArray[numpy.int64] = buffers.ends(edges.vertices).make(numpy)
    for source, target in edges.parts(0):
        degrees(source, target, edges.vertices, **edges.options, out=counts[2:])
    return counts


def on_host(context: Context, edges: EdgeParts, output: Output, keep_duplicates: bool, memory: int) -> None:
    """Build the rows on the host within so many bytes for offsets and columns."""
    from gravel.kernels.csr.rows import RowBuilder

    counts, vertex = _counted(edges), edges.dtype.str[1:]
    if total(buffers.on_host(edges.vertices, int(counts[2:].sum()), vertex), "host") <= memory:
        builder = RowBuilder(counts, edges.dtype, **edges.options)
        for source, target in edges.parts(1):
            builder.add(source, target)
        output.add(*builder.finish(keep_duplicates=keep_duplicates, vertex_count=edges.vertices))
        return
    column = buffers.columns(1, vertex, "host").nbytes
    for first, last, blocks in spooled(context, edges, counts[2:], memory - counts.nbytes, column):
        _range_on_host(edges, output, keep_duplicates, counts[first : last + 2].copy(), first, blocks())


def _range_on_host(
    edges: EdgeParts,
    output: Output,
    keep_duplicates: bool,
    offsets: NDArray[numpy.int64],
    first: int,
    blocks: Blocks,
) -> None:
    from gravel.kernels.csr.rows import RowBuilder

    offsets[:2] = 0
    builder = RowBuilder(offsets, edges.dtype, first_vertex=first)
    for rows, columns in blocks:
        builder.add(rows, columns)
    output.add(*builder.finish(keep_duplicates=keep_duplicates, vertex_count=edges.vertices))


def on_device(context: Context, edges: EdgeParts, output: Output, keep_duplicates: bool) -> None:
    """Build the rows on the device, and ranges that do not fit there on the host."""
    budget = context.machine.device_memory
    arcs = edges.count * (1 + (edges.direction == "both"))
    vertex = edges.dtype.str[1:]
    if total(buffers.on_device(edges.vertices, edges.count, arcs, vertex)) <= budget:
        rows = _whole_on_device(edges, keep_duplicates)
        if rows is not None and context.keeps_device_arrays:
            output.whole(rows)
        elif rows is not None:
            _download(rows, output)
        if rows is not None:
            return
        there = free_bytes()
        budget = min(budget, there) // 2
        context.log(f"{lacking(there)}; ranges of {budget:,} bytes are built one after the other")
    counts = _counted(edges)
    per_arc = exact(buffers.arc_of_range(vertex))
    for first, last, blocks in spooled(context, edges, counts[2:], budget, per_arc):
        rows = _range_on_device(edges, counts, first, last, blocks(), keep_duplicates)
        if rows is not None:
            _download(rows, output)
        else:
            context.log(f"{lacking(free_bytes())}; rows {first:,} to {last:,} are built on the CPU")
            _range_on_host(edges, output, keep_duplicates, counts[first : last + 2].copy(), first, blocks())
        del rows
        # The next range has other sizes.
        give_free_blocks_back()


def _range_on_device(
    edges: EdgeParts,
    counts: NDArray[numpy.int64],
    first: int,
    last: int,
    blocks: Blocks,
    keep_duplicates: bool,
) -> Any:
    """Build the rows of a range; None where the device has no room for them."""
    from gravel.kernels.csr import build

    try:
        pair = _upload(blocks, int(counts[2 + first : 2 + last].sum()), edges.dtype)
        return build(
            *pair,
            edges.vertices,
            direction="as_given",
            keep_loops=True,
            first_vertex=first,
            last_vertex=last,
            keep_duplicates=keep_duplicates,
        )
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    return None


def _whole_on_device(edges: EdgeParts, keep_duplicates: bool) -> Any:
    """Build all rows at once; None where the device has less room than was planned with."""
    from gravel.kernels.csr import build

    try:
        pair = edges.on_device() or _upload(edges.parts(1), edges.count, edges.dtype)
        return build(*pair, edges.vertices, **edges.options, keep_duplicates=keep_duplicates)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    return None


def _upload(parts: Iterator[tuple[NDArray[Any], NDArray[Any]]], count: int, dtype: Any) -> tuple[Any, Any]:
    import cupy

    source, target = cupy.empty(count, dtype), cupy.empty(count, dtype)
    at = 0
    for one, other in parts:
        source[at : at + len(one)].set(one)
        target[at : at + len(one)].set(other)
        at += len(one)
    return source, target


def _download(rows: Any, output: Output) -> None:
    """Bring rows to the host in pieces, so that the host never holds them whole."""
    import cupy
    import numpy

    step = PART_BYTES // rows.column_indices.dtype.itemsize
    offsets = cupy.asnumpy(rows.row_offsets)
    columns = rows.column_indices
    output.add(offsets, columns[:0].get(), rows.loop_count)
    for first in range(0, len(columns), step):
        output.add(numpy.zeros(1, numpy.int64), cupy.asnumpy(columns[first : first + step]), 0)
