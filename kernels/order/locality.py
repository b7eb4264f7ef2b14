"""What an order does to the lists: distances between numbers, and bits per arc under delta-varint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks


class OrderStatistics(NamedTuple):
    """Sums over arcs u -> v, so that parts of a graph add up.

    `bandwidth` is the largest |u - v|, `gap_sum` the sum of |u - v|, `varint_bytes` the length of all rows
    as the first neighbour and then differences, in groups of seven bits (Moschou, section 2.1).
    """

    arcs: int = 0
    bandwidth: int = 0
    gap_sum: int = 0
    varint_bytes: int = 0

    @property
    def mean_gap(self) -> float:
        """Mean |u - v|, 0 without arcs."""
        return self.gap_sum / self.arcs if self.arcs else 0.0

    @property
    def bits_per_arc(self) -> float:
        """Bits per arc under delta-varint, 0 without arcs."""
        return 8 * self.varint_bytes / self.arcs if self.arcs else 0.0

    def joined(self, other: OrderStatistics) -> OrderStatistics:
        """Both parts together."""
        return OrderStatistics(
            self.arcs + other.arcs,
            max(self.bandwidth, other.bandwidth),
            self.gap_sum + other.gap_sum,
            self.varint_bytes + other.varint_bytes,
        )


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
