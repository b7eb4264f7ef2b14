"""The division of a graph on a GPU: at once where graph and result fit, else a range of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gravel.kernels.arrays import on_host
from gravel.stages.partitioning.device_memory import ARCS_PER_ROW, DOWNLOAD_BYTES, LEAST_ARCS, PIECE_ROWS
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
    from gravel.stages.partitioning.device_memory import DeviceSizes

Result = TypeVar("Result")

Work = Callable[[Rows, Any, Any], Result]
"""What is done with rows, given their offsets and columns on the device."""


class OnDevice:
    """A graph that is divided on the current GPU; `gravel.stages.partitioning.on_host.OnHost` is its twin.

    Where an allocation fails that was to fit, because others use the GPU, ranges become smaller. Raises
    MemoryError where not even one row fits.
    """

    def __init__(self, context: Context, graph: Graph, sizes: DeviceSizes) -> None:
        room = context.machine.device_memory
        resident = bytes_there(graph.row_offsets, graph.column_indices)
        self.ranks_at_once = sizes.ranks_at_once
        self._context, self._graph, self._sizes = context, graph, sizes
        self._at_once = sizes.arcs_at_once(room)
        self._is_whole = sizes.whole_bytes() - resident <= room
        self._rows: tuple[Any, Any] | None = None
        self._index: DelegateIndex | None = None

    def take_census(self) -> Census:
        """Count the graph's vertices and arcs by degree."""
        import cupy
        import numpy

        from gravel.kernels.partition import chunks_cuda
        from gravel.kernels.partition.census import LARGEST, Census

        degrees, of_degree = self._count_degrees()
        ends = cupy.zeros((2, LARGEST + 1), numpy.int64)

        def count(rows: Rows, offsets: Any, columns: Any) -> None:
            chunks_cuda.count_rows(offsets, columns, rows.first, degrees, ends[0], ends[1])

        for rows, _ in self._each(count):
            self._context.progress(rows.end, self._graph.arc_count, "arcs counted")
        busier, quieter = cupy.asnumpy(ends)
        return Census(cupy.asnumpy(of_degree), busier, quieter)

    def _count_degrees(self) -> tuple[Any, Any]:
        """Give all degrees as the census takes them, and how many vertices have each."""
        import cupy
        import numpy

        from gravel.kernels.partition.census import LARGEST
        from gravel.kernels.partition.chunks_cuda import count_degrees

        degrees = cupy.empty(self._graph.vertex_count, numpy.uint16)
        of_degree = cupy.zeros(LARGEST + 1, numpy.int64)
        for first, offsets in self._offset_pieces():
            piece = degrees[first : first + len(offsets) - 1]
            count_degrees(offsets, self._graph.column_indices.dtype, piece, of_degree)
        return degrees, of_degree

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
        from gravel.kernels.partition.chunks_cuda import split_rows
        from gravel.kernels.partition.rank_arrays_cuda import rank_arrays
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
        self._at_once = self._sizes.arcs_at_once(free) or LEAST_ARCS
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
