"""Edge lists and graphs larger than memory: edges read in parts, and arcs on disk by ranges of sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.scratch_file import ScratchFile

if TYPE_CHECKING:
    from pathlib import Path

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

    Takes `2 * itemsize` bytes of disk for each arc. Raises StageError where the disk takes no more.
    """

    def __init__(self, folder: Path, ranges: int, dtype: Any) -> None:
        self._dtype = dtype
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
        place, size = 0, self._dtype.itemsize
        for count in self._counts[index]:
            rows = self._files[index].read(place, count, self._dtype)
            yield rows, self._files[index].read(place + size * count, count, self._dtype)
            place += 2 * size * count

    def remove(self, index: int) -> None:
        """Remove the file of a range."""
        self._files[index].close()

    def close(self) -> None:
        """Remove all files."""
        for file in self._files:
            file.close()
