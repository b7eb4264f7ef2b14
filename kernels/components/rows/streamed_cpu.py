"""Components of encoded rows that come in parts, on the CPU; every row is decoded once."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.rows.cpu.streamed import PartSource
from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.cpu.forest import compress, link
from gravel.kernels.components.cpu.streamed import components as of_columns
from gravel.kernels.jit import serial
from gravel.kernels.layouts.readers import columns_of, count_row, read_row
from gravel.kernels.layouts.streams import BROKEN, refuse
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows,
    *,
    symmetric: bool,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
) -> StreamedForest:
    """Make rows ready whose stream is read while they are joined.

    Parameters
    ----------
    rows, buffer_bytes, buffers : as for `gravel.kernels.bfs.rows.cpu.streamed.prepare`.
    symmetric : whether every arc has its reverse, which halves what is joined.

    Raises ValueError as that function does.

    """
    started = time.perf_counter()
    search = StreamedForest(rows, symmetric, buffer_bytes, buffers)
    search.prepare_milliseconds = (time.perf_counter() - started) * 1e3
    return search


class StreamedForest:
    """Rows made ready; each run reads all of them once, and grows the forest anew."""

    prepare_milliseconds = 0.0

    def __init__(self, rows: EncodedRows, symmetric: bool, buffer_bytes: int, buffers: int) -> None:
        self._symmetric = symmetric
        self._sizes: dict[str, Any] = {"buffer_bytes": buffer_bytes, "buffers": buffers}
        self._count, self._dtype = rows.vertex_count, rows.dtype
        self._columns = columns_of(rows) if rows.layout == "csr" else None
        if self._columns is None:
            self._source = PartSource(rows, buffer_bytes, buffers)

    def run(self) -> ComponentsResult:
        """Find the components; the time covers all reading.

        Raises ValueError for a row that is damaged, and whatever reading raises.
        """
        if self._columns is not None:
            return of_columns(*self._columns, symmetric=self._symmetric, **self._sizes)
        started = time.perf_counter()
        component = numpy.arange(self._count, dtype=self._dtype)
        offsets, rows = self._source.byte_offsets, self._source.parts.rows
        for part, there in self._source.read(list(range(self._source.parts.count))):
            low, high = int(rows[part]), int(rows[part + 1])
            blocks = [(low + a, low + b) for a, b in row_blocks(offsets[low : high + 1])]
            bad = run_blocks(partial(self._join, there, component), blocks)
            if broken := [row for row in bad if row >= 0]:
                refuse(min(broken), BROKEN)
        run_blocks(lambda a, b: compress(component, a, b), even_blocks(self._count))
        return ComponentsResult(component, (time.perf_counter() - started) * 1e3, "streamed")

    def _join(self, rows: Any, component: NDArray[Any], first: int, last: int) -> int:
        return int(_join_part(rows, first, last, component, self._symmetric))


@serial
def _join_part(rows: Any, first: int, last: int, component: NDArray[Any], once: bool) -> Any:
    """Join these rows, without arcs to larger vertices if `once`; returns a row that is damaged, or -1."""
    neighbours = numpy.empty(1 << 12, rows.dtype.dtype)
    for row in range(first, last):
        count = count_row(rows, row)
        if count < 0:
            return row
        if count > len(neighbours):
            neighbours = numpy.empty(2 * count, rows.dtype.dtype)
        if count != read_row(rows, row, neighbours):
            return row
        v = numpy.uint64(row)
        for k in range(count):
            u = neighbours[k]
            if once and u >= v:
                break
            if component[u] != component[v]:
                link(component, v, u)
    return -1
