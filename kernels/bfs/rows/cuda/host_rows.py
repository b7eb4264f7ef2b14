"""Search of encoded rows in host memory in one launch; see `kernels/bfs/rows/host_rows.cu`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gravel.kernels.bfs.cuda.host_rows import HEAD_GROUP
from gravel.kernels.bfs.cuda.host_rows import HostRowsSearch as ColumnsSearch
from gravel.kernels.bfs.cuda.host_rows import prepare as prepare_columns
from gravel.kernels.bfs.cuda.host_search import (
    CONTROL_WORDS,
    LOGGED_LEVELS,
    HostSearch,
    in_host_memory,
    resident_grid,
)
from gravel.kernels.bfs.cuda.kept_lines import keep_lines, kept_arguments
from gravel.kernels.bfs.cuda.labels import NARROW, Labels
from gravel.kernels.bfs.cuda.level_loop import depth_limit
from gravel.kernels.bfs.rows.cuda.search import with_units
from gravel.kernels.bfs.rows.parts import ROOM, cut_rows, long_rows
from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.parts import LINE

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

SOURCE, PREPARATION = "kernels/bfs/rows/host_rows.cu", "kernels/bfs/rows/host_rows_prepare.cu"
LINES = 32  # of a word, as there


def prepare(
    rows: EncodedRows,
    *,
    output: str,
    symmetric: bool,
    max_depth: int | None = None,
    heads: int = 0,
    keep: int = 0,
    alpha: float = 4.0,
    room: int = ROOM,
    block: int = 256,
    blocks_per_processor: int | None = None,
    narrow: int = NARROW,
) -> HostRowsSearch | ColumnsSearch:
    """Make encoded rows ready whose stream may lie in pinned host memory, all else on the device.

    Parameters
    ----------
    rows : of a square graph; CuPy arrays. Columns (`csr`) are searched as `gravel.kernels.bfs` does.
    output, symmetric, max_depth : as for `gravel.kernels.bfs.prepare`.
    heads, keep, alpha : as for `gravel.kernels.bfs.cuda.host_rows.prepare`, but `heads` may be any up to 32,
        and bytes stand for arcs.
    room : bytes of each of two buffers on the device; more where 32 rows take more.
    block, blocks_per_processor : threads of a block, a multiple of 32 up to 256, and how many of them run on
        a multiprocessor at most; None for as many as fit.
    narrow : vertices from which predecessors take 64 bits.

    Raises ValueError for a value that a parameter cannot have.

    """
    started = time.perf_counter()
    if block % 32 or not 32 <= block <= 256:
        raise ValueError(f"block is {block}; it must be a multiple of 32 up to 256")
    if not 0 <= heads <= 32:
        raise ValueError(f"heads is {heads}; it can be 0 to 32")
    if rows.layout == "csr":
        whole = with_units(rows).arrays
        return prepare_columns(
            whole["row_offsets"],
            whole["column_indices"],
            output=output,
            symmetric=symmetric,
            max_depth=max_depth,
            heads=-(-heads // HEAD_GROUP) * HEAD_GROUP,
            keep=keep,
            alpha=alpha,
            block=block,
            blocks_per_processor=blocks_per_processor,
            narrow=narrow,
        )
    search = HostRowsSearch(
        rows,
        output=output,
        max_depth=max_depth,
        heads=heads if symmetric else 0,
        keep=keep,
        alpha=alpha,
        room=room,
        block=block,
        blocks_per_processor=blocks_per_processor,
        narrow=narrow,
    )
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


class HostRowsSearch(HostSearch):
    """Rows made ready: two buffers for lines, and what `kernels/bfs/host_rows.cuh` keeps on the device."""

    def __init__(
        self,
        rows: EncodedRows,
        *,
        output: str,
        max_depth: int | None,
        heads: int,
        keep: int,
        alpha: float,
        room: int,
        block: int,
        blocks_per_processor: int | None,
        narrow: int,
    ) -> None:
        import cupy
        import numpy

        self.output = output
        self.vertices = rows.vertex_count
        self._rows = with_units(rows)
        dtype = numpy.dtype(rows.dtype)
        self._line_bytes = LINE
        stream = self._rows.arrays["stream"]
        self._over_link = in_host_memory(stream)
        offsets = cupy.asnumpy(self._rows.arrays["byte_offsets"])
        cuts, room = cut_rows(offsets, room)
        long, before = long_rows(offsets, cuts, dtype)
        line_words = -(-int(offsets[-1]) // (LINE * LINES))
        del offsets

        self._labels = Labels.allocate(self.vertices, output, narrow=narrow)
        macros = {"LAYOUT": rows.layout, "VERTEX": vertex_macro(dtype)}
        self._kernel = load(SOURCE, TREE=self._labels.tree, **macros).get_function("search")
        self._launch = (resident_grid(self._kernel, block, blocks_per_processor),), (block,)

        # A line of 128 bytes is one of 32 words, and a row is about the words that it begins and ends in.
        kept = keep_lines(self._rows.arrays["byte_offsets"] >> 2, stream.view(cupy.uint32), keep)
        self.kept_bytes = kept.count * LINE if kept else 0
        given = device_rows(self._rows)
        words = max(1, -(-self.vertices // 32))
        nothing = numpy.uint64(0)
        first = longer = closed = waiting = nothing
        if heads and self.vertices:
            first = cupy.empty(self.vertices * heads, dtype)
            longer, closed, waiting = (cupy.zeros(words, cupy.uint32) for _ in range(3))
            numbers = numpy.uint64(self.vertices), numpy.uint64(heads)
            load(PREPARATION, **macros).get_function("find_heads")(
                (blocks_for(self.vertices, 256, most=1024),),
                (256,),
                (*given, *numbers, first, longer, closed),
            )
        self._allocate_log(LOGGED_LEVELS)
        self._tables = (
            *given,
            numpy.uint64(len(stream)),
            cupy.asarray(cuts),
            cupy.asarray(long) if len(long) else cupy.empty(1, dtype),
            cupy.asarray(before),
            cupy.empty(2 * room, cupy.uint8),
            numpy.uint64(len(cuts) - 1),
            numpy.uint64(room),
            *kept_arguments(kept),
            first,
            longer,
            closed,
            *(cupy.zeros(words, cupy.uint32) for _ in range(3)),
            waiting,
            cupy.zeros(max(1, line_words), cupy.uint32),
            self._labels.distance_argument(),
            self._labels.keys,
            self._labels.predecessor_argument(),
            cupy.zeros(CONTROL_WORDS, cupy.uint64),
        )
        self._numbers = (
            cupy.zeros(1, cupy.uint64),
            numpy.uint64(self.vertices),
            numpy.uint64(heads),
            numpy.float64(alpha),
            numpy.uint64(depth_limit(max_depth)),
        )
        cupy.cuda.Device().synchronize()
