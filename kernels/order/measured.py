"""Numbers that tell how near neighbours are to each other in an order."""

from __future__ import annotations

from typing import NamedTuple


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
