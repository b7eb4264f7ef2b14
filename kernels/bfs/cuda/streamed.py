"""Search of rows that are read part by part while it runs; see `kernels/bfs/streamed.cu`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gravel.kernels.bfs.cpu.streamed import part_length
from gravel.kernels.bfs.cuda.kept_lines import LINE, LINES, start
from gravel.kernels.bfs.cuda.labels import NARROW, Labels
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.cuda import load, vertex_macro
from gravel.kernels.placement.copied import CopiedParts
from gravel.kernels.placement.parts import even_ranges
from gravel.kernels.placement.pinned import Host
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

SOURCE = "kernels/bfs/streamed.cu"
SPAN = LINE * LINES  # columns of a word of lines
CONTROL_WORDS, FOUND = 32, 20  # as in host_rows.cuh
BLOCK = 256


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
    narrow: int = NARROW,
) -> StreamedSearch:
    """Make a graph ready whose columns are read while it is searched.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,) on the device.
    column_indices, buffer_bytes, buffers : as for `gravel.kernels.bfs.cpu.streamed.prepare`; each buffer is
        pinned and has its like on the device, and parts are copied while others are read and searched.
    output, symmetric, max_depth : see `gravel.kernels.bfs.prepare`; `symmetric` does not matter.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a value that a parameter cannot have.

    """
    started = time.perf_counter()
    search = StreamedSearch(
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        buffer_bytes=buffer_bytes,
        buffers=buffers,
        narrow=narrow,
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


class StreamedSearch:
    """A prepared graph: offsets, bitmaps, labels and buffers on the device, and pinned buffers before those.

    `notes` says what the system refused.
    """

    strategy = "streamed"
    reason = ""
    prepare_milliseconds = 0.0

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        max_depth: int | None,
        buffer_bytes: int,
        buffers: int,
        narrow: int,
        host: Host | None = None,
    ) -> None:
        import cupy
        import numpy

        self.output = output
        self.progress: Callable[[int, int], None] | None = None
        self._depth = (1 << 31) - 1 if max_depth is None else max_depth
        offsets = cupy.ascontiguousarray(row_offsets)
        dtype = column_indices.dtype
        self.vertices, arcs = len(offsets) - 1, len(column_indices)
        words = max(1, -(-self.vertices // 32))
        line_words = -(-arcs // SPAN)
        self._part_words = max(1, part_length(buffer_bytes, buffers, dtype.itemsize) // SPAN)
        length = self._part_words * SPAN
        ranges = even_ranges(arcs, length)
        self._count = len(ranges)
        self._copied = CopiedParts(column_indices, ranges, min(length, arcs), buffers, host=host)
        self.notes = self._copied.notes

        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        self._kernels = load(SOURCE, VERTEX=vertex_macro(dtype), TREE=self._labels.tree)
        sizes = numpy.uint64(self.vertices), numpy.uint64(arcs)
        first_rows = cupy.empty(line_words + 1, dtype)
        if self.vertices:
            start(dtype, "find_first_rows", line_words + 1, offsets, *sizes, first_rows)
        self._control = cupy.zeros(CONTROL_WORDS, cupy.uint64)
        self._tickets = cupy.zeros(max(1, self._count), cupy.uint64)
        self._counts = cupy.zeros(max(1, self._count), cupy.uint32)
        self._state = (
            offsets,
            first_rows,
            *(cupy.zeros(words, cupy.uint32) for _ in range(3)),
            cupy.zeros(max(1, line_words), cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            self._control,
            *sizes,
        )
        self._line_words = line_words
        self._grid = int(cupy.cuda.Device().attributes["MultiProcessorCount"]) * 8
        cupy.cuda.Device().synchronize()

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time covers all reading, and `link_bytes` all parts that were copied.

        `progress` is told parts read of each level's. Raises ValueError for a vertex that does not exist, and
        whatever reading raises.
        """
        import cupy
        import numpy

        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        self._start("begin", numpy.uint64(source))
        level, found, copied = 0, 1, 0
        while found and level < self._depth:
            level += 1
            self._control.fill(0)
            self._start("mark")
            copied += self._expand(level)
            self._control.fill(0)
            self._start("end_level")
            found = int(self._control[FOUND])
        self._start("finish")
        cupy.cuda.Device().synchronize()
        taken = (time.perf_counter() - started) * 1e3
        distance, predecessor = self._labels.results(self.output)
        return BFSResult(source, distance, predecessor, taken, ("push",) * level, link_bytes=copied)

    def _expand(self, depth: int) -> int:
        """Read the parts that the level has lines in, copy and walk them; returns the bytes copied."""
        import numpy

        if not self._count:
            return 0
        self._tickets.fill(0)
        self._start("count_parts", numpy.uint64(self._part_words), numpy.uint64(self._count), self._counts)
        counts = self._counts.get()
        parts = numpy.flatnonzero(counts).tolist()
        total = 0
        for done, (part, there, size) in enumerate(self._copied.each(parts), 1):
            first = part * self._part_words
            last = min(first + self._part_words, self._line_words)
            numbers = (first, last, int(counts[part]), depth)
            self._start(
                "push_part",
                there,
                *(numpy.uint64(number) for number in numbers),
                self._tickets[part : part + 1],
            )
            total += size
            if self.progress is not None:
                self.progress(done, len(parts))
        return total

    def _start(self, name: str, *arguments: Any) -> None:
        self._kernels.get_function(name)((self._grid,), (BLOCK,), (*self._state, *arguments))
