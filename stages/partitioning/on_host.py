"""The division of a graph on the CPU, a range of rows at a time, over all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.partitioning.counting import find_delegates, take_census
from gravel.stages.partitioning.ranges import (
    SplitTask,
    StripeTask,
    map_ranges,
    offset_pieces,
    ranges,
    split_range,
    stripe_range,
)
from gravel.stages.partitioning.writing import KINDS, write_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition import RankSize
    from gravel.kernels.partition.census import Census
    from gravel.stages.artifact import Array
    from gravel.stages.artifacts import Graph
    from gravel.stages.context import Context
    from gravel.stages.partitioning.array_files import ArrayFile


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
