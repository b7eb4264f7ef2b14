"""An edge list read in parts, checked, with the options that say which arcs an edge makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError

if TYPE_CHECKING:
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
