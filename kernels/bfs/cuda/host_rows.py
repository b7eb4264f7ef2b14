"""Search of rows in host memory in one launch; see `kernels/bfs/host_rows.cu`."""

from __future__ import annotations

import time
from typing import Any

from gravel.kernels.bfs.cuda.host_search import (
    CONTROL_WORDS,
    LOGGED_LEVELS,
    HostSearch,
    in_host_memory,
    resident_grid,
)
from gravel.kernels.bfs.cuda.kept_lines import LINE, LINES, keep_lines, kept_arguments, start
from gravel.kernels.bfs.cuda.labels import NARROW, Labels
from gravel.kernels.bfs.cuda.level_loop import depth_limit
from gravel.kernels.cuda import load, vertex_macro

SOURCE = "kernels/bfs/host_rows.cu"
HEAD_GROUP = 4  # as in host_rows.cuh


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    heads: int = 0,
    keep: int = 0,
    alpha: float = 4.0,
    block: int = 512,
    blocks_per_processor: int | None = None,
    narrow: int = NARROW,
) -> HostRowsSearch:
    """Make a graph ready; parameters as in `gravel.kernels.bfs.prepare`, and these.

    `row_offsets` lie on the device. `column_indices` are a CuPy array as well, whose memory may be pinned
    host memory (`gravel.kernels.placement`).

    Parameters
    ----------
    heads : first neighbours of each vertex that the device keeps, 0 or a multiple of 4. With some, and if the
        graph is symmetric, levels go bottom-up where that reads less.
    keep : bytes of columns that the device keeps at most: those of the longest rows, since a search meets
        these in the levels that it goes top-down and then reads them whole.
    alpha : go bottom-up when the frontier's arcs times alpha exceed the unvisited ones. Lower than where rows
        lie on the device, since the rows of vertices that no head leads to come over the link.
    block, blocks_per_processor : threads of a block, a multiple of 32 up to 512, and how many of them run on
        a multiprocessor at most; None for as many as fit.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a value that a parameter cannot have.

    """
    if block % 32 or not 32 <= block <= 512:
        raise ValueError(f"block is {block}; it must be a multiple of 32 up to 512")
    if heads < 0 or heads % HEAD_GROUP:
        raise ValueError(f"heads is {heads}; it must be 0 or a multiple of {HEAD_GROUP}")
    started = time.perf_counter()
    search = HostRowsSearch(
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        heads=heads if symmetric else 0,
        keep=keep,
        alpha=alpha,
        block=block,
        blocks_per_processor=blocks_per_processor,
        narrow=narrow,
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


class HostRowsSearch(HostSearch):
    """A prepared graph: what `kernels/bfs/host_rows.cuh` keeps on the device, beside the columns."""

    def __init__(
        self,
        row_offsets: Any,
        column_indices: Any,
        *,
        output: str,
        max_depth: int | None,
        heads: int,
        keep: int,
        alpha: float,
        block: int,
        blocks_per_processor: int | None,
        narrow: int,
    ) -> None:
        import cupy
        import numpy

        self.output = output
        self._row_offsets = cupy.ascontiguousarray(row_offsets)
        self._columns = column_indices
        self.vertices, self._arcs = len(row_offsets) - 1, len(column_indices)
        dtype = column_indices.dtype
        self._line_bytes = LINE * dtype.itemsize
        self._over_link = in_host_memory(column_indices)
        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        macros = {"VERTEX": vertex_macro(dtype), "TREE": self._labels.tree}
        self._kernel = load(SOURCE, **macros).get_function("search")
        self._launch = (resident_grid(self._kernel, block, blocks_per_processor),), (block,)

        words, self._line_words = -(-self.vertices // 32), -(-self._arcs // (LINE * LINES))
        first_rows = cupy.empty(self._line_words + 1, dtype)
        sizes = numpy.uint64(self.vertices), numpy.uint64(self._arcs)
        start(dtype, "find_first_rows", self._line_words + 1, self._row_offsets, *sizes, first_rows)
        kept = keep_lines(self._row_offsets, column_indices, keep)
        self.kept_bytes = kept.count * self._line_bytes if kept else 0
        first_heads = closed = waiting = None
        if heads:
            first_heads = cupy.full(self.vertices * heads, numpy.iinfo(dtype).max, dtype)
            rows = self._row_offsets, self._columns, first_rows
            ends = numpy.uint64(0), numpy.uint64(self._arcs), numpy.uint64(heads)
            start(dtype, "find_heads", self._arcs, *rows, *ends, first_heads)
            closed, waiting = cupy.zeros(words, cupy.uint32), cupy.zeros(words, cupy.uint32)
            start(dtype, "find_closed", self.vertices, self._row_offsets, numpy.uint64(self.vertices), closed)
        self._allocate_log(LOGGED_LEVELS)
        self._tables = (
            self._row_offsets,
            self._columns,
            first_rows,
            *kept_arguments(kept),
            _or_nothing(first_heads),
            _or_nothing(closed),
            *(cupy.zeros(max(1, words), cupy.uint32) for _ in range(3)),
            _or_nothing(waiting),
            cupy.zeros(max(1, self._line_words), cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.zeros(CONTROL_WORDS, cupy.uint64),
        )
        self._numbers = (
            cupy.zeros(1, cupy.uint64),
            *sizes,
            numpy.uint64(heads),
            numpy.float64(alpha),
            numpy.uint64(depth_limit(max_depth)),
        )
        cupy.cuda.Device().synchronize()


def _or_nothing(array: Any | None) -> Any:
    import numpy

    return numpy.uint64(0) if array is None else array
