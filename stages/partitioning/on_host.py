"""The division of a graph on the CPU, a range of rows at a time, over all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.ranges import (
    ArrayFile,
    CountTask,
    SplitTask,
    StripeTask,
    allocated,
    count_range,
    map_ranges,
    offset_pieces,
    ranges,
    split_range,
    stripe_range,
    written,
)
from gravel.stages.partitioning.writing import KINDS, write_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition import RankSize
    from gravel.kernels.partition.census import Census
    from gravel.stages.artifact import Array
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import Context
    from gravel.stages.partitioning.ranges import ArrayFile


def take_census(context: Context, graph: Graph) -> Census:
    """Count the graph's vertices and arcs by degree, over all workers."""
    import numpy

    from gravel.kernels.partition.census import LARGEST, Census, capped

    file = allocated(context.scratch / "degrees", numpy.uint16, graph.vertex_count)
    of_degree, busier, quieter = (numpy.zeros(LARGEST + 1, numpy.int64) for _ in range(3))
    degrees = file.map("r+")
    for first, offsets in offset_pieces(graph):
        piece = capped(numpy.diff(offsets))
        degrees[first : first + len(piece)] = piece
        of_degree += numpy.bincount(piece, minlength=LARGEST + 1)
    if isinstance(degrees, numpy.memmap):
        degrees.flush()
    del degrees
    done = 0
    tasks = (CountTask(rows, file) for rows in ranges(graph))
    for by_busier, by_quieter in map_ranges(context, graph, count_range, tasks):
        busier += by_busier
        quieter += by_quieter
        done = int(busier.sum())
        context.progress(done, graph.arc_count, "arcs counted")
    file.path.unlink()
    return Census(of_degree, busier, quieter)


def find_delegates(
    context: Context, graph: Graph, threshold: int, dtype: Any
) -> tuple[NDArray[Any], tuple[ArrayFile, ...]]:
    """List the vertices above the threshold, and write their index to files for the workers."""
    import numpy

    from gravel.kernels.buffers import make
    from gravel.kernels.partition.distributor import buffers
    from gravel.kernels.partition.layout import packed_bits
    from gravel.kernels.partition.shares import index_delegates

    flags, count = buffers.delegate_flags(graph.vertex_count, "host").make(numpy), 0
    for first, offsets in offset_pieces(graph):
        above = numpy.diff(offsets) > threshold
        words = packed_bits(above)
        flags[first // 64 :][: len(words)] = words
        count += int(above.sum())
    vertices, degrees = make(buffers.delegates(count, numpy.dtype(dtype).str[1:], "host"), numpy).values()
    end = 0
    for first, offsets in offset_pieces(graph) if count else ():
        lengths = numpy.diff(offsets)
        rows = numpy.flatnonzero(lengths > threshold)
        some = slice(end, end + len(rows))
        vertices[some], degrees[some] = rows + first, lengths[rows]
        end += len(rows)
    index = index_delegates(flags, degrees)
    named = zip(index._fields, index, strict=True)
    return vertices, tuple(written(context.scratch / name, array) for name, array in named)


class OnHost:
    """A graph that is divided on the CPU; `ranks_at_once` are made in one pass over it."""

    def __init__(self, context: Context, graph: Graph, ranks_at_once: int) -> None:
        self.ranks_at_once = ranks_at_once
        self._context, self._graph = context, graph
        self._index: tuple[ArrayFile, ...] | None = None

    def take_census(self) -> Census:
        """Count the graph's vertices and arcs by degree."""
        return take_census(self._context, self._graph)

    def find_delegates(self, threshold: int) -> NDArray[Any]:
        """List the vertices above the threshold, and index them for `write`."""
        dtype = self._graph.column_indices.dtype
        delegates, self._index = find_delegates(self._context, self._graph, threshold, dtype)
        return delegates

    def largest_degree(self) -> int:
        """Return the length of the longest row."""
        import numpy

        pieces = offset_pieces(self._graph)
        return max((int(numpy.diff(offsets).max()) for _, offsets in pieces), default=0)

    def write(self, ranks: int) -> tuple[dict[str, Array], list[RankSize]]:
        """Make all ranks' arrays; without `find_delegates` before, each rank has whole rows (stripes)."""
        arrays: dict[str, Array] = {}
        sizes: list[RankSize] = []
        step = self.ranks_at_once
        for some in (range(low, min(ranks, low + step)) for low in range(0, ranks, step)):
            cuts = list(ranges(self._graph))
            shares: Any
            if self._index is None:
                stripes = (StripeTask(rows, ranks, some.start, some.stop) for rows in cuts)
                shares = map_ranges(self._context, self._graph, stripe_range, stripes)
            else:
                splits = (SplitTask(rows, self._index, ranks, some.start, some.stop) for rows in cuts)
                shares = map_ranges(self._context, self._graph, split_range, splits)
            names = KINDS[:1] if self._index is None else KINDS
            made = write_ranks(self._context, self._graph, ranks, some, zip(cuts, shares, strict=True), names)
            arrays.update(made[0])
            sizes += made[1]
        return arrays, sizes
