"""An edge list read in parts, with the options that say which arcs an edge makes, and its graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Graph
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.stages.artifacts import EdgeList
    from gravel.stages.context import Context

PART_BYTES = 8 << 20
"""Bytes of sources, and of targets, read at once."""

PASSES = 3
"""Counting, placing and finishing share a progress bar."""


class EdgeParts:
    """The edges of a list; every pass over them takes the same `options`.

    Raises `StageError` when sources and targets differ in number.
    """

    def __init__(self, context: Context, edges: EdgeList, *, direction: str, keep_loops: bool) -> None:
        from gravel.kernels.arrays import index_dtype

        self._context = context
        self._edges = edges
        self.direction = direction
        self.options: dict[str, Any] = {"direction": direction, "keep_loops": keep_loops}
        self.vertices = edges.vertex_count
        self.dtype = index_dtype(self.vertices)
        self.count = len(edges.source)
        if len(edges.target) != self.count:
            raise StageError(f"the edge list has {self.count} sources and {len(edges.target)} targets")

    def on_device(self) -> tuple[Any, Any] | None:
        """Return source and target on the device, if a stage before left them there."""
        from gravel.kernels.placement.device_copies import COPIES

        source, target = COPIES.find(self._edges.source), COPIES.find(self._edges.target)
        if source is None or target is None or not source.dtype == target.dtype == self.dtype:
            return None
        return source, target

    def parts(self, done: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Read all edges, source and target; `done` of the passes are over.

        Raises `StageError` for vertices that do not fit the index dtype.
        """
        step = PART_BYTES // self.dtype.itemsize
        for first in range(0, self.count, step):
            yield self._read(self._edges.source, first, step), self._read(self._edges.target, first, step)
            self.tell(done, min(first + step, self.count), self.count)

    def tell(self, done: int, at: int, total: int) -> None:
        """Report progress: `done` passes, and `at` of `total` in the next."""
        edges = self.count * (done * total + at) // (PASSES * max(1, total))
        self._context.progress(edges, self.count, "edges")

    def _read(self, array: Any, first: int, step: int) -> NDArray[Any]:
        import numpy

        part = numpy.asarray(array[first : first + step])
        if part.dtype == self.dtype:
            return part
        if part.size and not (int(part.min()) >= 0 and int(part.max()) < self.vertices):
            raise StageError(
                f"vertices {part.min()} to {part.max()} occur in the edge list; it states {self.vertices}"
            )
        return part.astype(self.dtype)


class Output:
    """The graph's arrays, appended range by range."""

    def __init__(self, context: Context, dtype: Any) -> None:
        import numpy

        self._offsets = context.sink(numpy.int64)
        self._columns = context.sink(dtype)
        self._whole: Any = None
        self._started = False
        self.arcs = 0
        self.loops = 0

    def whole(self, rows: Any) -> None:
        """Take all rows as they are, on the device."""
        self._whole = rows
        self.arcs, self.loops = len(rows.column_indices), rows.loop_count

    def add(self, row_offsets: NDArray[numpy.int64], columns: NDArray[Any], loops: int) -> None:
        """Append rows; `row_offsets` int64 (rows + 1,) start at 0 and are overwritten."""
        row_offsets += self.arcs
        self._offsets.append(row_offsets[1:] if self._started else row_offsets, given=True)
        self._columns.append(columns, given=True)
        self._started = True
        self.arcs += len(columns)
        self.loops += loops

    def close(self, edges: EdgeParts, keep_duplicates: bool) -> Graph:
        """Return the graph."""
        return Graph(
            row_offsets=self._offsets.close() if self._whole is None else self._whole.row_offsets,
            column_indices=self._columns.close() if self._whole is None else self._whole.column_indices,
            vertex_count=edges.vertices,
            arc_count=self.arcs,
            symmetric=edges.direction == "both",
            deduplicated=not keep_duplicates,
            loop_count=self.loops,
        )
