"""Whether the lists of both ends of each edge agree, found while arcs pass by on the host or a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.arrays import backend_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.readers import Chunk


class Agreement:
    """Counts arcs and loops of vertices from 1 up, and adds the fingerprints of arcs into so many entries."""

    def __init__(self, entries: int) -> None:
        self.arcs = 0
        self._loops = 0
        self._imbalance = numpy.zeros(entries, numpy.uint64)
        self._on_device: tuple[Any, Any] | None = None

    def add(self, chunk: Chunk) -> None:
        """Add arcs; those of a device before they are renumbered."""
        self.arcs += len(chunk.source)
        if backend_of(chunk.source) == "cuda":
            self._add_on_device(chunk)
            return
        from gravel.kernels.text.lists import add_imbalance

        self._loops += int(numpy.count_nonzero(chunk.source == chunk.target))
        add_imbalance(chunk.source, chunk.target, 1, self._imbalance)

    def _add_on_device(self, chunk: Chunk) -> None:
        import cupy

        from gravel.kernels.text.lists_cuda import add_imbalance

        if self._on_device is None:
            self._on_device = cupy.zeros(len(self._imbalance), numpy.uint64), cupy.zeros(1, numpy.uint64)
        add_imbalance(chunk.source, chunk.target, 1, *self._on_device)

    def loops(self) -> int:
        """Arcs from a vertex to itself."""
        return self._loops + (int(self._on_device[1].get()[0]) if self._on_device else 0)

    def imbalance(self) -> NDArray[Any]:
        """Entries that are not zero are those of vertices whose arcs lack their reverses."""
        return self._imbalance + (self._on_device[0].get() if self._on_device else numpy.uint64(0))
