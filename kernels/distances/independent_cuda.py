"""Searches side by side on a GPU, each by one block; see `independent.cu`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.bfs.cuda.kernel_rows import Columns, kernel_rows
from gravel.kernels.buffers import exact, make
from gravel.kernels.cuda import event_milliseconds, load, resident_blocks, run_over, shared_bytes
from gravel.kernels.distances.aggregates import Aggregates, VertexAggregates
from gravel.kernels.distances.buffers import QUEUE_SHARE, independent
from gravel.kernels.distances.interface import Batches, refuse_width
from gravel.kernels.distances.outputs_cuda import Outputs

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/distances/independent.cu"

BLOCK_ALONE, BLOCK_BESIDE = 1024, 512
"""Threads of a block that has a multiprocessor to itself, since its bits fill shared memory, or shares it."""

STATIC_SHARED = 1024
"""Bytes of shared memory that each block takes besides: its own variables, and what the system reserves."""

LEAST_ROOM, MAX_ROOM = 1024, 8192
"""Vertices of a frontier in shared memory."""

ROUNDS = 16
"""Sources of a block in one run."""


class Independent:
    """A prepared graph: records of short rows, the queues of all blocks, and results, on the device."""

    independent = True

    def __init__(self, rows: EncodedRows, batches: Batches) -> None:
        import cupy

        source = kernel_rows(rows)
        item = numpy.dtype(rows.dtype).itemsize
        self._count, self._max_depth = rows.vertex_count, batches.max_depth
        of_vertices = self._count if batches.vertices else None
        words = -(-self._count // 32)
        shared, block, self._room, there = shared_plan(4 * words, item)
        macros = {**source.macros, "SHARED": int(there)}
        module = load(SOURCE, **macros)
        self._kernel, self._block = module.get_function("search"), block
        self._kernel.max_dynamic_shared_size_bytes = self._shared = shared
        # Sums of vertices would count what a search found before it is given up.
        self._capacity = self._count if batches.vertices else -(-self._count // QUEUE_SHARE)

        def bytes_of(blocks: int) -> int:
            table = independent(self._count, item, blocks, capacity=self._capacity, bits=not there)
            return exact(table) + Outputs.bytes(ROUNDS * blocks, batches.levels, of_vertices)

        each = bytes_of(2) - bytes_of(1)
        beside = bytes_of(1) - each + (0 if isinstance(source, Columns) else source.added)
        refuse_width(each + beside, batches.memory, 1)
        resident = resident_blocks(self._kernel, block, shared)
        self.blocks = max(1, int(min(resident, batches.most, (batches.memory - beside) // each)))
        self.batch = self.blocks * ROUNDS
        self.bytes = beside + self.blocks * each
        self.milliseconds = 0.0
        table = independent(self._count, item, self.blocks, capacity=self._capacity, bits=not there)
        self._visited, self._queues, self._records = make(table, cupy).values()
        self._source, self._rows = source, source.arguments
        self._outputs = Outputs(self.batch, batches.levels, of_vertices)
        records = module.get_function("make_records")
        given = (numpy.uint64(self._count), self._records)
        run_over(records, 32 * max(1, self._count), *self._rows, *given, most=1 << 12)

    def run(self, sources: Any, into: Aggregates) -> None:
        """Search from up to `batch` sources; `milliseconds` is the time of the last run."""
        self.milliseconds = self._search(sources, into, self.blocks, self._capacity)
        again = numpy.flatnonzero(into.reached < 0)
        if not len(again):
            return
        found = Aggregates.empty(len(again), 0 if into.counts is None else into.counts.shape[1])
        blocks = max(1, len(self._queues) // self._count)
        self.milliseconds += self._search(numpy.asarray(sources)[again], found, blocks, self._count)
        for name in ("reached", "total", "reciprocal", "eccentricity", "counts"):
            if getattr(into, name) is not None:
                getattr(into, name)[again] = getattr(found, name)

    def _search(self, sources: Any, into: Aggregates, blocks: int, capacity: int) -> float:
        """Search from sources by so many blocks; `reached` is -1 where a frontier needs more capacity."""
        self._outputs.begin(sources)
        given = (numpy.uint64(self._count), numpy.uint64(self._max_depth), self._outputs.sources)
        results = (*self._outputs.of_sources, *self._outputs.of_vertices)
        queues = (self._visited, self._queues, numpy.uint64(capacity), numpy.uint64(self._room))
        arguments = (*self._rows, self._records, *given, numpy.uint64(len(sources)), *queues, *results)
        launch = (min(blocks, self.blocks),), (self._block,), arguments
        milliseconds = event_milliseconds(lambda: self._kernel(*launch, shared_mem=self._shared))
        self._outputs.end(into)
        return milliseconds

    def vertices(self) -> VertexAggregates | None:
        """Return the sums of each vertex over all runs."""
        return self._outputs.vertices()

    def forget_vertices(self) -> None:
        """Make the sums of vertices what they are before any run."""
        self._outputs.forget_vertices()


def shared_plan(bits: int, item: int) -> tuple[int, int, int, bool]:
    """Choose a block's shared memory, its threads, the room of a frontier, and whether the bits are there.

    Two blocks share a multiprocessor where the bits, in bytes, leave room for that, or where they are too
    large for any; `item` is the size of a vertex.
    """
    whole = shared_bytes() - STATIC_SHARED
    half = (whole - STATIC_SHARED) // 2
    least = 2 * LEAST_ROOM * item
    for limit, block, there in (
        (half, BLOCK_BESIDE, True),
        (whole, BLOCK_ALONE, True),
        (half, BLOCK_BESIDE, False),
    ):
        bitmap_bytes = bits if there else 0
        if bitmap_bytes + least <= limit:
            room = min(MAX_ROOM, (limit - bitmap_bytes) // (2 * item))
            return bitmap_bytes + 2 * room * item, block, room, there
    room = min(MAX_ROOM, whole // (2 * item))
    return 2 * room * item, BLOCK_BESIDE, room, False
