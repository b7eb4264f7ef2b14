"""Components of rows that come in parts, on the CPU; every arc is looked at once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult
from gravel.kernels.components.cpu.forest import compress, join_part
from gravel.kernels.placement.parts import PartReader
from gravel.kernels.placement.plan import BUFFER_BYTES, BUFFERS
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks


def components(
    row_offsets: NDArray[Any],
    column_indices: Any,
    *,
    symmetric: bool,
    buffer_bytes: int = BUFFER_BYTES,
    buffers: int = BUFFERS,
) -> ComponentsResult:
    """Label every vertex with the smallest of its component; the time covers all reading.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,).
    column_indices : uint32 or uint64 (arcs,); any array with a length and a dtype that can be sliced. Each
        part is read once.
    symmetric : whether every arc has its reverse, which halves what is joined.
    buffer_bytes, buffers : how much is read at once, and how many buffers there are, at least 2.

    Raises ValueError for a value that a parameter cannot have, and whatever reading raises.

    """
    length = part_length(buffer_bytes, buffers, column_indices.dtype.itemsize)
    held = [numpy.empty(min(length, len(column_indices)), column_indices.dtype) for _ in range(buffers)]
    reader = PartReader(column_indices, length, held)
    forest = ShardForest(len(row_offsets) - 1, column_indices.dtype, symmetric)
    started = time.perf_counter()
    for part, columns, _ in reader.read(range(reader.count)):
        forest.add_arcs(row_offsets, 0, columns, reader.bounds(part)[0])
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
        forest.add_arcs(row_offsets, first_row, columns, 0)
    forest.flatten()
    return ComponentsResult(forest.component, (time.perf_counter() - started) * 1e3, "streamed")


def part_length(buffer_bytes: int, buffers: int, item: int) -> int:
    """Columns of a part; raises ValueError for values that cannot be."""
    if buffers < 2:
        raise ValueError(f"buffers is {buffers}; it must be 2 or more")
    if buffer_bytes < item:
        raise ValueError(f"buffer_bytes is {buffer_bytes}; a column takes {item}")
    return buffer_bytes // item


class ShardForest:
    """Trees that grow with every shard; `component` holds the labels once they are flattened."""

    def __init__(self, vertex_count: int, dtype: Any, symmetric: bool) -> None:
        self.component = numpy.arange(vertex_count, dtype=dtype)
        self._once = symmetric
        nothing = numpy.zeros(1, numpy.int64), 0, 0, 0, self.component[:0], 0, self.component[:0], symmetric
        join_part(*nothing)
        compress(self.component[:0], 0, 0)

    def add_arcs(
        self, row_offsets: NDArray[Any], first_row: int, columns: NDArray[Any], first_arc: int
    ) -> None:
        """Join the arcs first_arc, first_arc + 1, ... of these rows, of which the first is `first_row`'s."""
        low = int(numpy.searchsorted(row_offsets, first_arc, side="right")) - 1
        high = int(numpy.searchsorted(row_offsets, first_arc + len(columns), side="left"))
        blocks = [(low + a, low + b) for a, b in row_blocks(row_offsets[low : high + 1])]
        run_blocks(
            lambda a, b: join_part(
                row_offsets, first_row, a, b, columns, first_arc, self.component, self._once
            ),
            blocks,
        )

    def flatten(self) -> None:
        """Point every vertex at its root."""
        run_blocks(lambda a, b: compress(self.component, a, b), even_blocks(len(self.component)))
