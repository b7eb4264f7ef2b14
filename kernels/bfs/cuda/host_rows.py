"""Search of rows in host memory in one launch; see `host_rows.cu`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs import buffers
from gravel.kernels.bfs.buffers import HOST_ROWS_CONTROL, LOG_FIRST, LOGGED_LEVELS
from gravel.kernels.bfs.cuda.cooperative import longer
from gravel.kernels.bfs.cuda.host_sources import HostColumns, HostStream
from gravel.kernels.bfs.cuda.kept_lines import kept_arguments
from gravel.kernels.bfs.cuda.labels import Labels
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.cuda import (
    event_milliseconds,
    load,
    multiprocessors,
    refuse_block,
    resident_blocks,
    vertex_macro,
)
from gravel.kernels.layouts.parts import ROOM

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/bfs/cuda/host_rows.cu"


def in_host_memory(array: Any) -> bool:
    """Whether a CuPy array is a view of pinned host memory."""
    import cupy

    if not array.size:
        return False
    runtime = cupy.cuda.runtime
    return bool(runtime.pointerGetAttributes(array.data.ptr).type == runtime.memoryTypeHost)


class HostRowsSearch:
    """Rows made ready.

    All arrays are CuPy's. That which grows with the arcs, columns or a stream, may be a view of pinned host
    memory (`gravel.kernels.placement`).

    Parameters
    ----------
    heads : first neighbours of each vertex that the device keeps: of columns 0 or a multiple of 4, of encoded
        rows up to 32. With some, and if the graph is symmetric, levels go bottom-up where that reads less.
    keep : bytes of columns or of the stream that the device keeps at most: those of the longest rows, since a
        search meets these in the levels that it goes top-down and then reads them whole.
    alpha : go bottom-up when the frontier's arcs times alpha exceed the unvisited ones; bytes stand for arcs
        of encoded rows. Lower than where rows lie on the device, since the rows of vertices that no head
        leads to come over the link.
    room : bytes of each of the two buffers through which encoded rows come; more where 32 rows take more.
    block, blocks_per_processor : threads of a block, a multiple of 32 up to 512 for columns and 256 for
        encoded rows, by default as many, and how many blocks run on a multiprocessor at most; None for as
        many as fit.

    Raises ValueError for a value that a parameter cannot have.

    """

    strategy = "host_rows"
    reason = ""

    def __init__(
        self,
        rows: EncodedRows,
        query: Query,
        *,
        heads: int = 0,
        keep: int = 0,
        alpha: float = 4.0,
        room: int = ROOM,
        block: int | None = None,
        blocks_per_processor: int | None = None,
    ) -> None:
        import cupy
        import numpy

        made = HostColumns if rows.layout == "csr" else HostStream
        block = made.MAX_THREADS if block is None else block
        refuse_block(block, most=made.MAX_THREADS)
        started = time.perf_counter()
        heads = heads if query.symmetric else 0
        source: HostColumns | HostStream = made(rows, heads=heads, keep=keep, room=room)
        self._query = query
        self.vertices = rows.vertex_count
        self._source = source
        self._over_link = in_host_memory(source.body)
        self._labels = Labels.allocate(self.vertices, query)
        macros = {"LAYOUT": rows.layout, "VERTEX": vertex_macro(numpy.dtype(rows.dtype))}
        self._kernel = load(SOURCE, TREE=self._labels.tree, **macros).get_function("search")
        self._launch = (_resident_grid(self._kernel, block, blocks_per_processor),), (block,)
        self.kept_bytes = source.kept.count * source.line_bytes if source.kept else 0
        size = buffers.Size(self.vertices, rows.arc_count, self._labels.tree)
        arrays = make(buffers.host_rows(size, heads=bool(heads), line_words=source.line_words), cupy)
        lines = arrays.pop("lines")
        self._allocate_log(LOGGED_LEVELS)
        # The kernel's arguments before the log, and those behind it.
        self._tables = (
            *source.arguments,
            *kept_arguments(source.kept),
            *source.heads,
            *arrays.values(),
            *(() if heads else (numpy.uint64(0),)),
            lines,
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.zeros(HOST_ROWS_CONTROL, cupy.uint64),
        )
        self._numbers = (
            cupy.zeros(1, cupy.uint64),
            *source.sizes,
            numpy.uint64(heads),
            numpy.float64(alpha),
            numpy.uint64(query.depth),
        )
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def _allocate_log(self, levels: int) -> None:
        import cupy

        self._logged = levels
        self._log = cupy.zeros(LOG_FIRST + levels, cupy.uint64)

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; `link_bytes` counts the lines that came out of host memory.

        A line that two parts of encoded rows share is counted once, and comes twice. Raises ValueError for
        a vertex that does not exist.
        """
        import numpy

        check_source(source, self.vertices)
        last = numpy.uint64(self._logged), numpy.uint64(source)
        arguments = (*self._tables, self._log, *self._numbers, *last)
        milliseconds = event_milliseconds(lambda: self._kernel(*self._launch, arguments))
        levels, host, _, *pulled = self._log[: LOG_FIRST + 256].get().tolist()
        if levels > self._logged:
            self._allocate_log(longer(levels))
            return self.run(source)
        if levels > len(pulled):
            pulled = self._log[LOG_FIRST : LOG_FIRST + levels].get().tolist()
        labels = self._query.wanted(self._labels.distance, self._labels.predecessor)
        return BFSResult(
            source,
            *labels,
            milliseconds,
            tuple("pull" if way else "push" for way in pulled[:levels]),
            link_bytes=host * self._source.line_bytes if self._over_link else None,
        )


def _resident_grid(kernel: Any, block: int, blocks_per_processor: int | None) -> int:
    """Blocks that run at the same time, at most so many on a multiprocessor."""
    grid = resident_blocks(kernel, block)
    if blocks_per_processor is None:
        return grid
    return min(grid, multiprocessors() * max(1, blocks_per_processor))
