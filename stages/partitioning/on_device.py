"""The division of a graph on a GPU: at once where graph and result fit, else a range of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.kernels.arrays import on_host
from gravel.kernels.buffers import make, total
from gravel.kernels.partition.distributor.buffers import PIECE_ROWS, Size, census, dividing
from gravel.stages.partitioning.ranges import Rows, ranges
from gravel.stages.partitioning.writing import KINDS, write_ranks
from gravel.stages.rows.ranges import bytes_there, free_bytes, lacking, range_on_device, tried

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition import RankSize
    from gravel.kernels.partition.census import Census
    from gravel.kernels.partition.shares import DelegateIndex, Share
    from gravel.stages.artifact import Array
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import Context

Result = TypeVar("Result")

RANGE_ARCS = 1 << 24
"""Arcs of a range at most, where a graph does not fit at once: 64 MiB of columns, on the host as well."""

LEAST_ARCS = 1 << 16
"""Arcs of the smallest range that is worth its launches and copies; below it the CPU divides the graph."""

ARCS_PER_ROW = 4
"""A range has at most one row for so many of its arcs, so that its rows take little beside them."""

DOWNLOAD_BYTES = 64 << 20
"""Of an array that goes to a file, the host has so much at a time."""

Work = Callable[[Rows, Any, Any], Result]
"""What is done with rows, given their offsets and columns on the device."""


def whole_bytes(size: Size) -> int:
    """Return the bytes to divide a graph at once: graph, result, and what the largest pass takes."""
    return total(dividing(size, size.vertices, size.arcs, whole=True))


def range_bytes(size: Size, arcs: int) -> int:
    """Return the bytes to divide it in ranges of so many arcs."""
    return total(dividing(size, arcs // ARCS_PER_ROW, arcs))


def arcs_at_once(size: Size, room: int) -> int:
    """Count the arcs of a range, at most, for so many bytes; 0 where the device is no place for them."""
    halves = (RANGE_ARCS >> times for times in range((RANGE_ARCS // LEAST_ARCS).bit_length()))
    return next((arcs for arcs in halves if range_bytes(size, arcs) <= room), 0)


def least_bytes(size: Size) -> int:
    """Return the bytes of the smallest ranges, or of the whole graph if that is smaller."""
    return min(range_bytes(size, LEAST_ARCS), whole_bytes(size))


def device_bytes(size: Size, room: int) -> int:
    """Return the bytes that a division takes where so many are there; 0 where the CPU makes it."""
    whole = whole_bytes(size)
    if whole <= room:
        return whole
    arcs = arcs_at_once(size, room)
    return range_bytes(size, arcs) if arcs else 0


class OnDevice:
    """A graph that is divided on the current GPU; `gravel.stages.partitioning.on_host.OnHost` is its twin.

    Where an allocation fails that was to fit, because others use the GPU, ranges become smaller. Raises
    MemoryError where not even one row fits.
    """

    def __init__(self, context: Context, graph: Graph, size: Size) -> None:
        room = context.machine.device_memory
        resident = bytes_there(graph.row_offsets, graph.column_indices)
        self.ranks_at_once = size.ranks_at_once
        self._context, self._graph, self._size = context, graph, size
        self._at_once = arcs_at_once(size, room)
        self._is_whole = whole_bytes(size) - resident <= room
        self._rows: tuple[Any, Any] | None = None
        self._index: DelegateIndex | None = None

    def take_census(self) -> Census:
        """Count the graph's vertices and arcs by degree."""
        import cupy

        from gravel.kernels.partition import chunks_cuda
        from gravel.kernels.partition.census import Census

        degrees, of_degree, ends = make(census(self._graph.vertex_count), cupy).values()
        for first, offsets in self._offset_pieces():
            piece = degrees[first : first + len(offsets) - 1]
            chunks_cuda.count_degrees(offsets, self._graph.column_indices.dtype, piece, of_degree)

        def count(rows: Rows, offsets: Any, columns: Any) -> None:
            chunks_cuda.count_rows(offsets, columns, rows.first, degrees, ends[0], ends[1])

        for rows, _ in self._each(count):
            self._context.progress(rows.end, self._graph.arc_count, "arcs counted")
        busier, quieter = cupy.asnumpy(ends)
        return Census(cupy.asnumpy(of_degree), busier, quieter)

    def find_delegates(self, threshold: int) -> NDArray[Any]:
        """List the vertices above the threshold, and index them for `write`."""
        import cupy

        from gravel.kernels.partition.chunks_cuda import index_delegates

        graph = self._graph
        found, self._index = index_delegates(
            self._offset_pieces, graph.vertex_count, threshold, graph.column_indices.dtype
        )
        delegates: NDArray[Any] = cupy.asnumpy(found)
        return delegates

    def largest_degree(self) -> int:
        """Return the length of the longest row."""
        pieces = self._offset_pieces()
        return max((int((offsets[1:] - offsets[:-1]).max()) for _, offsets in pieces), default=0)

    def write(self, ranks: int) -> tuple[dict[str, Array], list[RankSize]]:
        """Make all ranks' arrays; without `find_delegates` before, each rank has whole rows (stripes)."""
        from gravel.kernels.cuda.room import give_free_blocks_back

        give_free_blocks_back()
        arrays: dict[str, Array] = {}
        sizes: list[RankSize] = []
        step = self.ranks_at_once
        for some in (range(low, min(ranks, low + step)) for low in range(0, ranks, step)):
            made = self._at_once_on_device(some, ranks) or self._in_ranges(some, ranks)
            arrays.update(made[0])
            sizes += made[1]
        return arrays, sizes

    def _at_once_on_device(self, some: range, ranks: int) -> tuple[dict[str, Array], list[RankSize]] | None:
        """Make the arrays of some ranks of the whole graph; None where there is no room for that."""
        from gravel.kernels.partition.chunks_cuda import rank_arrays, split_rows
        from gravel.kernels.partition.storage import size_of

        def make(rows: Rows, offsets: Any, columns: Any) -> list[dict[str, Any]]:
            span = {"ranks": ranks, "low": some.start, "high": some.stop}
            shares = split_rows(offsets, columns, rows.first, self._index, **span)
            return [rank_arrays(share, rank) for rank, share in zip(some, shares, strict=True)]

        made = self._of_all(make)
        if made is None:
            return None
        arcs = self._graph.arc_count
        self._context.progress(some.stop * arcs, ranks * arcs, "arcs")
        arrays = {name: array for each in made for name, array in each.items()}
        sizes = [size_of(each) for each in made]
        if not self._context.keeps_device_arrays:
            arrays = {name: _stored(self._context, array) for name, array in arrays.items()}
        return arrays, sizes

    def _in_ranges(self, some: range, ranks: int) -> tuple[dict[str, Array], list[RankSize]]:
        from gravel.kernels.partition.chunks_cuda import split_rows

        def split(rows: Rows, offsets: Any, columns: Any) -> list[Share]:
            span = {"ranks": ranks, "low": some.start, "high": some.stop}
            return [
                _on_host(share) for share in split_rows(offsets, columns, rows.first, self._index, **span)
            ]

        names = KINDS[:1] if self._index is None else KINDS
        return write_ranks(self._context, self._graph, ranks, some, self._each(split), names)

    def _offset_pieces(self) -> Iterator[tuple[int, Any]]:
        """Yield vertices with the offsets of the rows from there on, int64."""
        from gravel.kernels.placement.device_copies import part_on_device

        count = self._graph.vertex_count
        for first in range(0, count, PIECE_ROWS):
            yield first, part_on_device(self._graph.row_offsets, first, min(count, first + PIECE_ROWS) + 1)

    def _each(self, work: Work[Result]) -> Iterator[tuple[Rows, Result]]:
        """Do something with all rows, at once or in ranges."""
        found = self._of_all(lambda *given: (work(*given),))
        if found is not None:
            yield self._everything(), found[0]
            return
        rows = self._at_once // ARCS_PER_ROW
        for some in ranges(self._graph, arcs=self._at_once, rows=rows):
            yield from self._tried(some, work)

    def _everything(self) -> Rows:
        graph = self._graph
        return Rows(0, graph.vertex_count, 0, graph.arc_count, graph.row_offsets, graph.column_indices, False)

    def _of_all(self, work: Work[Result]) -> Result | None:
        """Do something with all rows at once; None where there is no room for that."""
        from gravel.kernels.cuda.room import is_out_of_memory

        if not self._is_whole:
            return None
        try:
            if self._rows is None:
                self._rows = self._part(self._everything())
            return work(self._everything(), *self._rows)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        self._rows, self._is_whole = None, False
        free = free_bytes()
        self._at_once = arcs_at_once(self._size, free) or LEAST_ARCS
        self._context.log(f"{lacking(free)}; the graph is divided {self._at_once:,} arcs at a time")
        return None

    def _tried(self, rows: Rows, work: Work[Result]) -> Iterator[tuple[Rows, Result]]:
        """Do something with a range, or with smaller ones where there is no room for it."""

        def part(first: int, last: int) -> tuple[Rows, Result]:
            begin, end = (
                known if row == of else self._offset(row)
                for row, of, known in ((first, rows.first, rows.begin), (last, rows.last, rows.end))
            )
            some = replace(rows, first=first, last=last, begin=begin, end=end)
            return some, work(some, *self._part(some))

        yield from tried(part, rows.first, rows.last, self._context.log)

    def _offset(self, row: int) -> int:
        return int(on_host(self._graph.row_offsets[row : row + 1])[0])

    def _part(self, rows: Rows) -> tuple[Any, Any]:
        return range_on_device(self._graph.row_offsets, self._graph.column_indices, rows.first, rows.last)


def _on_host(share: Share) -> Share:
    import cupy

    from gravel.kernels.partition.shares import Share

    return Share(*({name: cupy.asnumpy(array) for name, array in part.items()} for part in share))


def _stored(context: Context, array: Any) -> Array:
    """Bring an array from the device to where results go."""
    import cupy

    sink = context.sink(array.dtype, rows=len(array))
    step = DOWNLOAD_BYTES // array.dtype.itemsize
    for first in range(0, len(array), step):
        sink.append(cupy.asnumpy(array[first : first + step]))
    return sink.close()
