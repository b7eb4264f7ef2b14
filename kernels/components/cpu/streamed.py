"""Components of rows that come in parts, on the CPU; every arc is looked at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.cpu.forest import compress, join_part
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.host_parts import PartOfColumns, host_parts
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks


class StreamedForest:
    """Rows made ready that are read while they are joined: all of them once in each run.

    Parameters
    ----------
    rows, buffer_bytes, buffers : as for `gravel.kernels.bfs.cpu.streamed.StreamedSearch`.
    symmetric : whether every arc has its reverse, which halves what is joined.

    Raises ValueError as that class does.

    """

    def __init__(
        self, rows: EncodedRows, *, symmetric: bool, buffer_bytes: int = BUFFER_BYTES, buffers: int = BUFFERS
    ) -> None:
        started = time.perf_counter()
        self._rows, self._symmetric = rows, symmetric
        self.advance: Callable[[int, int], None] | None = None
        self._parts = host_parts(rows, buffer_bytes, buffers)
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self) -> ComponentsResult:
        """Find the components; the time covers all reading. `advance` gets parts read and their number.

        Raises ValueError for a row that is damaged, and whatever reading raises.
        """
        forest = ShardForest(self._rows.vertex_count, self._rows.dtype, self._symmetric)
        started = time.perf_counter()
        for done, (part, low, high) in enumerate(self._parts.read(range(self._parts.count)), 1):
            forest.add(part, 0, low, high)
            if self.advance is not None:
                self.advance(done, self._parts.count)
        forest.flatten()
        return ComponentsResult(forest.component, (time.perf_counter() - started) * 1e3, "streamed")


def components_of_shards(
    shards: Iterable[tuple[int, NDArray[Any], NDArray[Any]]],
    vertex_count: int,
    dtype: Any,
    *,
    symmetric: bool,
) -> ComponentsResult:
    """Label every vertex of a graph whose rows come in shards; each is taken once and not kept.

    Parameters
    ----------
    shards : (first row, row_offsets, columns) of row ranges in any order, offsets int64 (rows + 1,) from 0.
    dtype : of the columns, uint32 or uint64.
    symmetric : whether every arc has its reverse.

    """
    forest = ShardForest(vertex_count, dtype, symmetric)
    started = time.perf_counter()
    for first_row, row_offsets, columns in shards:
        forest.add(PartOfColumns(row_offsets, columns, 0), first_row, 0, len(row_offsets) - 1)
    forest.flatten()
    return ComponentsResult(forest.component, (time.perf_counter() - started) * 1e3, "streamed")


class ShardForest:
    """Trees that grow with every shard; `component` holds the labels once they are flattened."""

    def __init__(self, vertex_count: int, dtype: Any, symmetric: bool) -> None:
        self.component = numpy.arange(vertex_count, dtype=dtype)
        self._once = symmetric
        compress(self.component[:0], 0, 0)

    def add(self, rows: Any, first_row: int, low: int, high: int) -> None:
        """Join what a part has of rows `low` to below `high`; row 0 is that of vertex `first_row`."""
        blocks = [(low + a, low + b) for a, b in row_blocks(_offsets_of(rows)[low : high + 1])]
        bad = run_blocks(lambda a, b: join_part(rows, first_row, a, b, self.component, self._once), blocks)
        if broken := [row for row in bad if row >= 0]:
            from gravel.kernels.layouts.streams import BROKEN, refuse

            refuse(min(broken), BROKEN)

    def flatten(self) -> None:
        """Point every vertex at its root."""
        run_blocks(lambda a, b: compress(self.component, a, b), even_blocks(len(self.component)))


def _offsets_of(rows: Any) -> NDArray[Any]:
    """The offsets of all rows, which a part has as its first field."""
    offsets: NDArray[Any] = rows[0]
    return offsets
