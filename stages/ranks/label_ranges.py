"""Labels of searches over ranks, which ranks write: no process has those of all vertices.

After a search each rank gets the labels of some runs of vertices from all ranks, and writes them. What goes
back to the stage are counts and receipts.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.stages.traversal.labels import TYPES, ComponentLabels, Labels, smallest_type
from gravel.stages.traversal.memory import LABEL_BYTES
from gravel.stages.traversal.records import levels_record, work_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult
    from gravel.kernels.exchange import Endpoint, Wire
    from gravel.kernels.partition.program import RankLabels
    from gravel.kernels.verify.ranks import LevelSums
    from gravel.kernels.verify.ranks.rows import RankRows
    from gravel.stages.context import Context, Ranges, RangeWriter
    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traversal.parameters import TraverseParameters

TOGETHER = 16
"""Searches of one call of a rank group that writes their labels; between calls progress is reported."""

PREDECESSOR = "predecessor"


@dataclass(frozen=True)
class LabelWriters:
    """What ranks write labels with: `named` has one for predecessors, and one for each type of distances.

    `row` is that of the next search. Distances take `distance`, a type, or a wider one.
    """

    row: int
    distance: str
    named: Mapping[str, RangeWriter]

    def type_of(self, depth: int) -> str:
        """Name the type of distances up to `depth`."""
        return max(self.distance, smallest_type(depth).name, key=TYPES.index)

    def after(self, written: WrittenLabels) -> LabelWriters:
        """Give what ranks write the search after that one with."""
        depth = len(written.sums.vertices) - 1
        return LabelWriters(self.row + 1, self.type_of(depth), self.named)


@dataclass(frozen=True)
class WrittenLabels:
    """What a rank wrote of one search: receipts by the names of writers; `sums` are of all ranks."""

    receipts: Mapping[str, Sequence[Any]]
    sums: LevelSums


def write_in_order(
    end: Endpoint, own: NDArray[Any], vertices: int, row: int, writer: RangeWriter, dtype: Any
) -> Generator[Any, Any, list[Any]]:
    """Write a row of labels as one rank, which has those of its own vertices; returns receipts."""
    from gravel.kernels.partition.runs import in_order_program, runs_of

    before, receipts = row * vertices, []

    def take(first: int, values: NDArray[Any]) -> None:
        receipts.append(writer.write(before + first, values))

    runs = runs_of(vertices, end.size, before=before, piece=writer.piece)
    yield from in_order_program(end, own, runs, take, dtype=dtype)
    return receipts


def write_labels(
    end: Endpoint, wire: Wire, rows: RankRows, labels: RankLabels, writers: LabelWriters | None
) -> tuple[RankLabels, WrittenLabels]:
    """Write what a search found as one rank, and count it; without writers it is counted alone.

    Returns the labels without their arrays, too.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.exchange import drive
    from gravel.kernels.verify.ranks import sum_levels_program

    def program() -> Generator[Any, Any, WrittenLabels]:
        sums = yield from sum_levels_program(end, rows, labels.distance)
        receipts: dict[str, Sequence[Any]] = {}
        if writers is not None:
            distances = writers.type_of(len(sums.vertices) - 1)
            found = {distances: labels.distance, PREDECESSOR: labels.predecessor}
            for name, own in found.items():
                if name in writers.named:
                    own = on_host(own)
                    dtype = own.dtype if name == PREDECESSOR else name
                    given = rows.vertex_count, writers.row, writers.named[name], dtype
                    receipts[name] = yield from write_in_order(end, own, *given)
        return WrittenLabels(receipts, sums)

    written = drive(program(), wire)
    return replace(labels, distance=numpy.empty(0, numpy.int32), predecessor=None), written


class LabelRanges:
    """Distances and predecessors of one search after another, written by ranks; a row for each search."""

    def __init__(self, context: Context, vertex_count: int, output: str) -> None:
        self._vertices, self._rows, self._type = vertex_count, 0, TYPES[0]
        tree = "int32" if vertex_count < 1 << 31 else "int64"
        names = {name: name for name in TYPES} if output in ("both", "distance") else {}
        names |= {PREDECESSOR: tree} if output in ("both", PREDECESSOR) else {}
        self._ranges = {name: context.ranges(dtype, (vertex_count,)) for name, dtype in names.items()}

    @property
    def together(self) -> int:
        """Searches of one call: of labels that come back, as many as have room."""
        if any(each.comes_back for each in self._ranges.values()):
            return max(1, LABEL_BYTES // (12 * max(1, self._vertices)))
        return TOGETHER

    def writers(self) -> LabelWriters:
        """Give what ranks write the next searches with."""
        return LabelWriters(
            self._rows, self._type, {name: each.writer for name, each in self._ranges.items()}
        )

    def add(self, written: Sequence[WrittenLabels]) -> None:
        """Take in what the ranks wrote of one search."""
        for name in written[0].receipts:
            if name in TYPES and name != self._type:
                self._widen(name)
            for of_rank in written:
                self._ranges[name].add(of_rank.receipts[name])
        self._rows += 1

    def _widen(self, dtype: str) -> None:
        """Write the distances of searches before once more, in a wider type."""
        before, self._type = self._ranges[self._type], dtype
        if not self._rows:
            return
        narrow, wide = before.close(self._rows), self._ranges[dtype]
        for row in range(self._rows):
            for first in range(0, self._vertices, wide.writer.piece):
                some = narrow[row, first : first + wide.writer.piece].astype(dtype)
                wide.add([wide.writer.write(row * self._vertices + first, some)])

    def close(self) -> tuple[Any, Any]:
        """End the arrays and hand them out, None for what there is not."""
        names = self._type, PREDECESSOR
        distance, predecessor = (
            self._ranges[name].close(self._rows) if name in self._ranges else None for name in names
        )
        return distance, predecessor


@dataclass(frozen=True)
class WrittenResult:
    """One search, without labels, and what each rank wrote of it."""

    result: BFSResult
    written: Sequence[WrittenLabels]

    @property
    def milliseconds(self) -> float:
        """The time of the search."""
        return self.result.milliseconds


class WrittenSearches(Labels):
    """Labels of searches whose ranks write them (`gravel.stages.traversal.labels.Labels`)."""

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, searches: int
    ) -> None:
        super().__init__(context, graph, parameters, searches)
        self.ranges = LabelRanges(context, graph.vertex_count, parameters.output)

    def add(self, source: int, result: WrittenResult) -> dict[str, Any]:
        """Take in what the ranks wrote of one search, with its counts."""
        found = result.result
        self.ranges.add(result.written)
        sums = result.written[0].sums
        levels = levels_record(self._graph, found, sums.vertices, sums.arcs, 0)
        return {"map_back_milliseconds": 0.0, "batch": found.batch, **work_record(found), **levels}

    def close(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """End the arrays."""
        distance, predecessor = self.ranges.close()
        return {"distance": distance, "predecessor": predecessor}, {}


class WrittenComponents(ComponentLabels):
    """Labels of components whose ranks write them."""

    def __init__(
        self, context: Context, graph: SearchedGraph, parameters: TraverseParameters, searches: int
    ) -> None:
        super().__init__(context, graph, parameters, searches)
        assert graph.partition is not None
        self.ranges: Ranges = context.ranges(graph.partition.delegates.dtype)

    def _written(self, component: Any) -> tuple[Any, float]:
        return self.ranges.close(self._graph.vertex_count), 0.0


def may_be_written(graph: SearchedGraph) -> bool:
    """Whether ranks can write the labels: not where they are mapped back, or edges counted from all rows."""
    return graph.permutation is None and graph.extra_ends is None
