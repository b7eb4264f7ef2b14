"""Edges that are listed at both of their ends, found while arcs pass by on the host or a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.arrays import backend_of, on_host
from gravel.stages.readers import Chunk

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Agreement:
    """Check that both ends of each edge list it alike; it takes each edge once.

    Fingerprints of the arcs of vertices from 1 up are added into so many entries. Self-loops wait until all
    arcs were seen: some writers list them once, some twice.
    """

    def __init__(self, entries: int) -> None:
        self.arcs = 0
        self.loops = 0
        self._loops: list[Chunk] = []
        self._imbalance = numpy.zeros(entries, numpy.uint64)
        self._on_device: Any = None

    def once(self, chunk: Chunk) -> Chunk:
        """Take arcs, those of a device before they are renumbered; return those from the smaller end."""
        self.arcs += len(chunk.source)
        if backend_of(chunk.source) == "cuda":
            self._add_on_device(chunk)
        else:
            from gravel.kernels.text.lists import add_imbalance

            none = numpy.empty(0, numpy.uint64)
            weight = none if chunk.weight is None else _bits(chunk.weight)
            add_imbalance(chunk.source, chunk.target, weight, 1, self._imbalance)
        loops = _where(chunk, chunk.source == chunk.target)
        if len(loops.source):
            self.loops += len(loops.source)
            self._loops.append(Chunk(*map(on_host, loops[:3])))
        return _where(chunk, chunk.source < chunk.target)

    def kept_loops(self, edges: int) -> Iterator[Chunk]:
        """Yield each self-loop once, of so many edges in all."""
        if not self._loops:
            return
        vertex = numpy.concatenate([each.source for each in self._loops]).astype(numpy.int64)
        weights = [each.weight for each in self._loops if each.weight is not None]
        weight = numpy.concatenate(weights) if weights else None
        if self.arcs == 2 * edges:
            columns = (vertex,) if weight is None else (weight, vertex)
            order = numpy.lexsort(columns)
            if len(order) % 2 == 0 and all((each[order[::2]] == each[order[1::2]]).all() for each in columns):
                order = order[::2]
            vertex, weight = vertex[order], None if weight is None else weight[order]
        yield Chunk(vertex, vertex, weight)

    def _add_on_device(self, chunk: Chunk) -> None:
        import cupy

        from gravel.kernels.text.lists_cuda import add_imbalance

        if self._on_device is None:
            self._on_device = cupy.zeros(len(self._imbalance), numpy.uint64)
        weight = None if chunk.weight is None else _bits(chunk.weight)
        add_imbalance(chunk.source, chunk.target, weight, 1, self._on_device)

    def imbalance(self) -> NDArray[Any]:
        """Entries that are not zero are those of vertices whose arcs lack their reverses."""
        return self._imbalance + (numpy.uint64(0) if self._on_device is None else self._on_device.get())


def _bits(weight: Any) -> Any:
    # Both zeros are one weight.
    return (weight + 0.0).view(numpy.uint64)


def _where(chunk: Chunk, mask: Any) -> Chunk:
    weight = None if chunk.weight is None else chunk.weight[mask]
    return Chunk(chunk.source[mask], chunk.target[mask], weight)
