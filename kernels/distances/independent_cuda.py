"""Searches side by side on a GPU, each by one block; see `independent.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import event_milliseconds, load, multiprocessors, vertex_macro
from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.interface import refuse_width
from gravel.kernels.distances.outputs_cuda import Outputs

SOURCE = "kernels/distances/independent.cu"
BLOCK = 512
BLOCKS_PER_PROCESSOR = 2
"""264 on an H200: 0.12 ms a source on USA-road-NE."""

ROUNDS = 16
"""Sources of a block in one run."""


class Independent:
    """A prepared graph: the queues of all blocks, and results, on the device."""

    independent = True

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        max_depth: int,
        most: int,
        levels: int,
        vertices: bool,
        memory: int,
    ) -> None:
        import cupy

        self._count = len(row_offsets) - 1
        self._rows, self._max_depth = (row_offsets, column_indices), max_depth
        of_vertices = self._count if vertices else None
        words = -(-self._count // 32)
        each = words * 4 + self._count * column_indices.dtype.itemsize
        each += Outputs.bytes(ROUNDS, levels, None)
        shared = Outputs.bytes(0, levels, of_vertices)
        refuse_width(each + shared, memory, 1)
        blocks = min(BLOCKS_PER_PROCESSOR * multiprocessors(), most, (memory - shared) // each)
        self.blocks = max(1, int(blocks))
        self.batch = self.blocks * ROUNDS
        self.bytes = shared + self.blocks * each
        self.milliseconds = 0.0
        self._visited = cupy.empty(max(1, self.blocks * words), cupy.uint32)
        self._queues = cupy.empty(max(1, self.blocks * self._count), column_indices.dtype)
        self._outputs = Outputs(self.batch, levels, of_vertices)
        self._kernel = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype)).get_function("search")

    def run(self, sources: Any, into: Aggregates) -> None:
        """Search from up to `batch` sources; `milliseconds` is the time of the last run."""
        self._outputs.begin(sources)
        given = (numpy.uint64(self._count), numpy.uint64(self._max_depth), self._outputs.sources)
        results = (*self._outputs.of_sources, *self._outputs.of_vertices)
        arguments = (*self._rows, *given, numpy.uint64(len(sources)), self._visited, self._queues, *results)
        self.milliseconds = event_milliseconds(lambda: self._kernel((self.blocks,), (BLOCK,), arguments))
        self._outputs.end(into)

    def vertices(self) -> VertexAggregates | None:
        """Return the sums of each vertex over all runs."""
        return self._outputs.vertices()
