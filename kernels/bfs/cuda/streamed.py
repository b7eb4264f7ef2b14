"""Search of rows that are read part by part while it runs; see `streamed.cu`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.buffers import Size, bitmaps
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.cuda.streamed_parts import LineParts, RangeParts
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.cuda import load, multiprocessors, vertex_macro
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/bfs/cuda/streamed.cu"
CONTROL_WORDS, FOUND = 32, 20  # as in host_rows.cuh
BLOCK = 256


class StreamedSearch:
    """Rows made ready that are read while they are searched, through buffers; `notes` has what was refused.

    Parameters
    ----------
    rows : of a square graph, in any layout; offsets CuPy. The array that grows with the arcs, columns or a
        stream, is as for `gravel.kernels.bfs.cpu.streamed.StreamedSearch`.
    buffer_bytes, buffers : as there; each buffer is pinned and has its like on the device, and parts are
        copied while others are read and searched.
    asked : of which `symmetric` does not matter.

    Raises ValueError as `gravel.kernels.bfs.cpu.streamed.StreamedSearch` does.

    """

    strategy = "streamed"
    reason = ""

    def __init__(
        self, rows: EncodedRows, query: Query, *, buffer_bytes: int = BUFFER_BYTES, buffers: int = BUFFERS
    ) -> None:
        import cupy
        import numpy

        started = time.perf_counter()
        self._query = query
        self.progress: Callable[[int, int], None] | None = None
        self.vertices = rows.vertex_count
        made = LineParts if rows.layout == "csr" else RangeParts
        self._parts = made(rows, buffer_bytes, buffers)
        self.notes = self._parts.notes
        self._labels = Labels.allocate(self.vertices, query)
        macros = {"LAYOUT": rows.layout, "VERTEX": vertex_macro(numpy.dtype(rows.dtype))}
        self._kernels = load(SOURCE, TREE=self._labels.tree, **macros)
        self._control = cupy.zeros(CONTROL_WORDS, cupy.uint64)
        self._counts = cupy.zeros(max(1, self._parts.count), cupy.uint32)
        self._tickets = cupy.zeros(max(1, self._parts.count), cupy.uint64)
        self._state = (
            *self._parts.rows,
            *make(bitmaps(Size(self.vertices, rows.arc_count)), cupy).values(),
            *self._parts.lines,
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            self._control,
            *self._parts.sizes,
        )
        self._grid = multiprocessors() * 8
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; the time covers all reading, and `link_bytes` all parts that were copied.

        `progress` gets parts read of each level's. Raises ValueError for a vertex that does not exist, and
        whatever reading raises.
        """
        import cupy
        import numpy

        check_source(source, self.vertices)
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        self._start("begin", numpy.uint64(source))
        level, found, copied = 0, 1, 0
        while found and level < self._query.depth:
            level += 1
            copied += self._expand(level)
            self._control.fill(0)
            self._start("end_level")
            found = int(self._control[FOUND])
        self._start("finish")
        cupy.cuda.Device().synchronize()
        milliseconds = (time.perf_counter() - started) * 1e3
        labels = self._query.wanted(self._labels.distance, self._labels.predecessor)
        return BFSResult(source, *labels, milliseconds, ("push",) * level, link_bytes=copied)

    def _expand(self, depth: int) -> int:
        """Read the parts that the level needs, copy and search them; returns the bytes copied."""
        import numpy

        if not self._parts.count:
            return 0
        if self._parts.MARKS:
            self._control.fill(0)
            self._start("mark")
        self._tickets.fill(0)
        self._start("count_parts", *self._parts.counted_by, self._counts)
        counts = self._counts.get()
        parts = numpy.flatnonzero(counts).tolist()
        total = 0
        for done, (part, arguments, size) in enumerate(self._parts.each(parts, counts), 1):
            self._start("push_part", *arguments, numpy.uint64(depth), self._tickets[part : part + 1])
            total += size
            if self.progress is not None:
                self.progress(done, len(parts))
        return total

    def _start(self, name: str, *arguments: Any) -> None:
        self._kernels.get_function(name)((self._grid,), (BLOCK,), (*self._state, *arguments))
