"""Components of rows that come in parts, on the GPU; see `streamed.cu`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy

from gravel.kernels.components import ComponentsResult, Ready, RowComponents
from gravel.kernels.cuda import load, run_over, strided_blocks, vertex_macro
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.device_parts import DeviceParts
from gravel.kernels.layouts.host_parts import part_length
from gravel.kernels.placement.copied import CopiedParts
from gravel.kernels.placement.parts import even_ranges
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS

SOURCE = "kernels/components/cuda/streamed.cu"
BLOCK = 256
CHUNK = 1024  # as in arcs.cuh


def prepare(
    rows: EncodedRows, *, symmetric: bool, buffer_bytes: int = BUFFER_BYTES, buffers: int = BUFFERS
) -> RowComponents:
    """Make rows ready that are read while they are joined; the time of a run covers all reading.

    Parameters
    ----------
    rows : offsets on the device; else as for `gravel.kernels.components.cpu.streamed.StreamedForest`, or
        on the device.
    symmetric : whether every arc has its reverse, which halves what is joined.
    buffer_bytes, buffers : how much is read at once, and how many buffers there are, at least 2; each is
        pinned where the system allows it, and has its like on the device, so that parts are copied while
        others are read and joined.

    Raises ValueError for a value that a parameter cannot have, and whatever reading raises.

    """
    if rows.layout == "csr":
        return Ready(partial(_join_columns, rows, symmetric, buffer_bytes, buffers))
    return StreamedComponents(rows, symmetric, buffer_bytes, buffers)


class StreamedComponents:
    """Encoded rows made ready; each run reads all of them once. `notes` says what the system refused."""

    def __init__(self, rows: EncodedRows, symmetric: bool, buffer_bytes: int, buffers: int) -> None:
        import cupy

        started = time.perf_counter()
        self._rows, self._symmetric = rows, symmetric
        self._parts = DeviceParts(rows, buffer_bytes=buffer_bytes, buffers=buffers)
        self.notes = self._parts.notes
        self._tickets = cupy.zeros(max(1, self._parts.count), cupy.uint64)
        cupy.cuda.Device().synchronize()
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components; the time covers all reading. Raises whatever reading raises."""
        import cupy

        forest = ShardForest(self._rows.vertex_count, self._rows.dtype, self._symmetric, self._rows.layout)
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        self._tickets.fill(0)
        for part, arguments, _ in self._parts.each(range(self._parts.count)):
            forest.add_rows(arguments, self._tickets[part : part + 1])
        return forest.result(started)


def _join_columns(rows: EncodedRows, symmetric: bool, buffer_bytes: int, buffers: int) -> ComponentsResult:
    import cupy

    row_offsets, column_indices = rows.arrays["row_offsets"], rows.arrays["column_indices"]
    arcs, dtype = len(column_indices), column_indices.dtype
    length = part_length(buffer_bytes, buffers, dtype.itemsize)
    forest = ShardForest(len(row_offsets) - 1, dtype, symmetric)
    if isinstance(column_indices, cupy.ndarray):
        started = time.perf_counter()
        for first in range(0, arcs, length):
            forest.add_arcs(row_offsets, 0, column_indices[first : first + length], first)
        return forest.result(started)
    ranges = even_ranges(arcs, length)
    copied = CopiedParts(column_indices, ranges, min(length, arcs), buffers)
    cuts = numpy.array([first for first, _ in ranges] + [arcs], numpy.int64)
    # The rows that parts begin and end in are found at once: a search per part would wait for the device.
    lows = (cupy.searchsorted(row_offsets, cupy.asarray(cuts), side="right") - 1).get()
    highs = cupy.searchsorted(row_offsets, cupy.asarray(cuts), side="left").get()
    cupy.cuda.Device().synchronize()
    started = time.perf_counter()
    for part, there, _ in copied.each(range(len(ranges))):
        first, last = ranges[part]
        within = int(lows[part]), int(highs[part + 1])
        forest.add_arcs(row_offsets, 0, there[: last - first], first, rows=within)
    return forest.result(started)


def components_of_shards(
    shards: Iterable[tuple[int, Any, Any]], vertex_count: int, dtype: Any, *, symmetric: bool
) -> ComponentsResult:
    """Label every vertex of a graph whose rows come in shards, NumPy or CuPy arrays that are not kept.

    See `gravel.kernels.components.cpu.streamed.components_of_shards`.
    """
    import cupy

    forest = ShardForest(vertex_count, dtype, symmetric)
    started = time.perf_counter()
    for first_row, row_offsets, columns in shards:
        rows = 0, len(row_offsets) - 1
        forest.add_arcs(cupy.asarray(row_offsets), first_row, cupy.asarray(columns), 0, rows=rows)
    return forest.result(started)


class ShardForest:
    """Trees on the device that grow with every shard."""

    def __init__(self, vertex_count: int, dtype: Any, symmetric: bool, layout: str = "csr") -> None:
        import cupy

        dtype = numpy.dtype(dtype)
        self._module = load(SOURCE, LAYOUT=layout, VERTEX=vertex_macro(dtype))
        self._once = numpy.uint32(symmetric)
        self._vertices = vertex_count
        self.component = cupy.empty(vertex_count, dtype)
        self._most_blocks = strided_blocks()
        self._over_vertices("alone")

    def _over_vertices(self, name: str) -> None:
        kernel, count = self._module.get_function(name), numpy.uint64(self._vertices)
        run_over(kernel, self._vertices, self.component, count, most=self._most_blocks)

    def add_arcs(
        self,
        row_offsets: Any,
        first_row: int,
        columns: Any,
        first_arc: int,
        rows: tuple[int, int] | None = None,
    ) -> None:
        """Join the arcs first_arc, first_arc + 1, ... of these rows, of which the first is `first_row`'s.

        `rows` are those that hold the arcs, the first and one more than the last; all by default.
        """
        if not len(columns):
            return
        low, high = (0, len(row_offsets) - 1) if rows is None else rows
        numbers = first_row, low, high, first_arc, len(columns)
        first_row_, low_, high_, first_arc_, arcs = (numpy.uint64(number) for number in numbers)
        given = row_offsets, first_row_, low_, high_, columns, first_arc_, arcs, self.component, self._once
        kernel, threads = self._module.get_function("join_part"), -(-len(columns) // CHUNK) * 32
        run_over(kernel, threads, *given, most=self._most_blocks)

    def add_rows(self, part: tuple[Any, ...], ticket: Any) -> None:
        """Join a part of encoded rows, as `DeviceParts.each` yields it."""
        blocks = self._most_blocks // 4  # as many as run at the same time: warps take rows from the ticket
        arguments = *part, ticket, self.component, self._once
        self._module.get_function("join_part")((blocks,), (BLOCK,), arguments)

    def result(self, started: float) -> ComponentsResult:
        """Flatten, wait, and return the labels with the time since `started`."""
        import cupy

        self._over_vertices("flatten")
        cupy.cuda.get_current_stream().synchronize()
        return ComponentsResult(self.component, (time.perf_counter() - started) * 1e3, "streamed")
