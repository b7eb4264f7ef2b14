"""Edge lists and graphs larger than memory: edges read in parts, and arcs on disk by ranges of sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

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


@dataclass
class _File:
    path: Path
    stream: BinaryIO
    blocks: list[int] = field(default_factory=list)  # arcs of each block: their rows, then their columns

    def write(self, rows: NDArray[Any], columns: NDArray[Any]) -> None:
        self.stream.write(rows.data)
        self.stream.write(columns.data)
        self.blocks.append(len(rows))


class Spool:
    """Arcs in files, one for each range, in the order in which they came; a `with` block writes them.

    Takes `2 * itemsize` bytes of disk for each arc. A failing disk is reported as a `StageError`.
    """

    def __init__(self, folder: Path, ranges: int, dtype: Any) -> None:
        self._folder = folder
        self._dtype = dtype
        self._ranges = ranges
        self._files: list[_File] = []

    def __enter__(self) -> Spool:
        try:
            for index in range(self._ranges):
                path = self._folder / f"range-{index:05}"
                self._files.append(_File(path, path.open("wb")))
        except OSError as error:
            self._close()
            raise self._failed(error) from None
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        error = self._close()
        if error is not None and kind is None:
            raise self._failed(error)

    def _close(self) -> OSError | None:
        """Close every file, and return the last failure: what was still buffered is written here."""
        failure = None
        for file in self._files:
            try:
                file.stream.close()
            except OSError as error:
                failure = error
        return failure

    def add(self, rows: NDArray[Any], columns: NDArray[Any], ends: NDArray[numpy.int64]) -> None:
        """Append what `gravel.kernels.csr.split` returns."""
        try:
            for index, file in enumerate(self._files):
                low, high = int(ends[index]), int(ends[index + 1])
                if low < high:
                    file.write(rows[low:high], columns[low:high])
        except OSError as error:
            raise self._failed(error) from None

    def blocks(self, index: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Read a range's arcs back, rows and columns."""
        import numpy

        file = self._files[index]
        with file.path.open("rb") as stream:
            for count in file.blocks:
                rows = numpy.fromfile(stream, self._dtype, count)
                yield rows, numpy.fromfile(stream, self._dtype, count)

    def remove(self, index: int) -> None:
        """Remove the file of a range."""
        self._files[index].path.unlink()

    def _failed(self, error: OSError) -> StageError:
        return StageError(
            f"arcs that do not fit in memory could not be written to {self._folder}: {error.strerror}",
            hint="free disk space there, allow more open files, or give this stage more memory",
        )
