"""What a search of rows in host memory reads: columns where they lie, or encoded rows through two buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.cuda.kept_lines import LINE, LINES, keep_lines, start
from gravel.kernels.cuda import load, run_over, vertex_macro
from gravel.kernels.layouts import device_rows
from gravel.kernels.layouts.parts import LINE as LINE_BYTES
from gravel.kernels.layouts.parts import cut_rows, long_rows
from gravel.kernels.layouts.units import with_units

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

PREPARATION = "kernels/bfs/cuda/host_rows_prepare_encoded.cu"
HEAD_GROUP = 4  # heads of columns that are read at once, as in sources/host_columns.cuh
MAX_HEADS = 32  # of encoded rows, which a warp decodes in one visit


class HostColumns:
    """Columns, whose lines are walked where they lie."""

    MAX_THREADS = 512

    def __init__(self, rows: EncodedRows, *, heads: int, keep: int, room: int) -> None:
        import cupy
        import numpy

        if heads < 0 or heads % HEAD_GROUP:
            raise ValueError(f"heads is {heads}; it must be 0 or a multiple of {HEAD_GROUP}")
        offsets = cupy.ascontiguousarray(rows.arrays["row_offsets"])
        self.body = rows.arrays["column_indices"]
        dtype, arcs, n = self.body.dtype, len(self.body), rows.vertex_count
        self.line_bytes = LINE * dtype.itemsize
        self.line_words, words = -(-arcs // (LINE * LINES)), -(-n // 32)
        first_rows = cupy.empty(self.line_words + 1, dtype)
        self.sizes = numpy.uint64(n), numpy.uint64(arcs)
        start(dtype, "find_first_rows", self.line_words + 1, offsets, *self.sizes, first_rows)
        self.arguments = offsets, self.body, first_rows
        self.kept = keep_lines(offsets, self.body, keep)
        self.heads: tuple[Any, ...] = (numpy.uint64(0),) * 2
        if heads:
            first, closed = (
                cupy.full(n * heads, numpy.iinfo(dtype).max, dtype),
                cupy.zeros(words, cupy.uint32),
            )
            ends = numpy.uint64(0), numpy.uint64(arcs), numpy.uint64(heads)
            start(dtype, "find_heads", arcs, *self.arguments, *ends, first)
            start(dtype, "find_closed", n, offsets, numpy.uint64(n), closed)
            self.heads = first, closed


class HostStream:
    """Encoded rows, whose lines are copied into one of two buffers while rows in the other are decoded."""

    MAX_THREADS = 256

    def __init__(self, rows: EncodedRows, *, heads: int, keep: int, room: int) -> None:
        import cupy
        import numpy

        if not 0 <= heads <= MAX_HEADS:
            raise ValueError(f"heads is {heads}; it can be 0 to {MAX_HEADS}")
        self._rows = with_units(rows)  # which keeps the arrays alive
        dtype, n = numpy.dtype(rows.dtype), rows.vertex_count
        self.body, device_offsets = self._rows.arrays["stream"], self._rows.arrays["byte_offsets"]
        self.line_bytes = LINE_BYTES
        offsets = cupy.asnumpy(device_offsets)
        cuts, room = cut_rows(offsets, room)
        long, before = long_rows(offsets, cuts, dtype)
        self.line_words, words = -(-int(offsets[-1]) // (LINE_BYTES * LINES)), max(1, -(-n // 32))
        given = device_rows(self._rows)
        self.arguments = (
            *given,
            numpy.uint64(len(self.body)),
            cupy.asarray(cuts),
            cupy.asarray(long) if len(long) else cupy.empty(1, dtype),
            cupy.asarray(before),
            cupy.empty(2 * room, cupy.uint8),
            numpy.uint64(len(cuts) - 1),
            numpy.uint64(room),
        )
        self.sizes = (numpy.uint64(n),)
        # A line of 128 bytes is one of 32 words, and a row is about the words that it begins and ends in.
        self.kept = keep_lines(device_offsets >> 2, self.body.view(cupy.uint32), keep)
        self.heads: tuple[Any, ...] = (numpy.uint64(0),) * 3
        if heads and n:
            first = cupy.empty(n * heads, dtype)
            longer, closed = cupy.zeros(words, cupy.uint32), cupy.zeros(words, cupy.uint32)
            self.heads = first, longer, closed
            module = load(PREPARATION, LAYOUT=rows.layout, VERTEX=vertex_macro(dtype))
            arguments = *given, numpy.uint64(n), numpy.uint64(heads), *self.heads
            run_over(module.get_function("find_heads"), n, *arguments, most=1024)
