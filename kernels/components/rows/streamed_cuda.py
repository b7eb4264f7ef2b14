"""Components of encoded rows that come in parts, on the GPU; see `streamed.cu` beside this."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.bfs.rows.cuda.search import with_units
from gravel.kernels.components.cuda.streamed import ShardForest
from gravel.kernels.components.cuda.streamed import components as of_columns
from gravel.kernels.cuda import load, vertex_macro
from gravel.kernels.layouts.device_parts import DeviceParts
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

if TYPE_CHECKING:
    from gravel.kernels.components import ComponentsResult
    from gravel.kernels.layouts import EncodedRows

SOURCE = "kernels/components/rows/streamed.cu"
BLOCK = 256


def prepare(
    rows: EncodedRows,
    *,
    symmetric: bool,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
) -> StreamedComponents:
    """Make rows ready whose stream is read while they are joined.

    Parameters
    ----------
    rows, buffer_bytes, buffers : as for `gravel.kernels.bfs.rows.cuda.streamed.prepare`.
    symmetric : whether every arc has its reverse, which halves what is joined.

    Raises ValueError as that function does.

    """
    started = time.perf_counter()
    search = StreamedComponents(rows, symmetric, buffer_bytes, buffers)
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


class StreamedComponents:
    """Rows made ready; each run reads all of them once. `notes` says what the system refused."""

    prepare_milliseconds = 0.0

    def __init__(self, rows: EncodedRows, symmetric: bool, buffer_bytes: int, buffers: int) -> None:
        import cupy

        self._symmetric, self._count = symmetric, rows.vertex_count
        self._dtype = numpy.dtype(rows.dtype)
        self._sizes = {"buffer_bytes": buffer_bytes, "buffers": buffers}
        self.notes: list[str] = []
        self._columns = with_units(rows).arrays if rows.layout == "csr" else None
        if self._columns is not None:
            return
        self._parts = DeviceParts(rows, buffer_bytes=buffer_bytes, buffers=buffers)
        self.notes = self._parts.notes
        module = load(SOURCE, LAYOUT=rows.layout, VERTEX=vertex_macro(self._dtype))
        self._join = module.get_function("join_part")
        self._tickets = cupy.zeros(max(1, self._parts.count), cupy.uint64)
        self._grid = int(cupy.cuda.Device().attributes["MultiProcessorCount"]) * 8
        cupy.cuda.Device().synchronize()

    def run(self) -> ComponentsResult:
        """Find the components; the time covers all reading. Raises whatever reading raises."""
        import cupy

        if self._columns is not None:
            given: Any = self._columns["row_offsets"], self._columns["column_indices"]
            return of_columns(*given, symmetric=self._symmetric, **self._sizes)
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        forest = ShardForest(self._count, self._dtype, self._symmetric)
        once = numpy.uint32(self._symmetric)
        self._tickets.fill(0)
        for part, arguments, _ in self._parts.each(range(self._parts.count)):
            ticket = self._tickets[part : part + 1]
            self._join((self._grid,), (BLOCK,), (*arguments, ticket, forest.component, once))
        return forest.result(started)
