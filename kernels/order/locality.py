"""What an order does to the lists: distances between numbers, and bits per arc under delta-varint."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.order.measured import OrderStatistics
from gravel.kernels.row_blocks import row_blocks, run_blocks


def statistics(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], first_vertex: int = 0
) -> OrderStatistics:
    """Measure rows whose lists are sorted.

    Row r belongs to vertex `first_vertex + r` and is column_indices[row_offsets[r] - row_offsets[0]:...], so
    that slices of a graph's arrays may be passed.
    """

    def measure(low: int, high: int) -> OrderStatistics:
        return OrderStatistics(*_measure(row_offsets, column_indices, low, high, first_vertex))

    whole = OrderStatistics()
    for part in run_blocks(measure, row_blocks(row_offsets)):
        whole = whole.joined(part)
    return whole


@serial
def _measure(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], low: int, high: int, first_vertex: int
) -> tuple[int, int, int, int]:
    base = row_offsets[0]
    bandwidth: Any = 0
    gap_sum: Any = 0
    size = 0
    for row in range(low, high):
        vertex = row + first_vertex
        previous: Any = 0
        for i in range(row_offsets[row] - base, row_offsets[row + 1] - base):
            neighbour = numpy.int64(column_indices[i])
            gap = abs(vertex - neighbour)
            bandwidth = max(bandwidth, gap)
            gap_sum += gap
            delta: Any = neighbour - previous
            size += 1
            while delta > 127:
                delta >>= 7
                size += 1
            previous = neighbour
    return row_offsets[high] - row_offsets[low], bandwidth, gap_sum, size
