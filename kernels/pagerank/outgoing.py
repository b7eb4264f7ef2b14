"""The weight of the arcs that leave each vertex, which PageRank divides by."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


def outgoing(row_offsets: NDArray[Any], weights: NDArray[Any] | None = None) -> NDArray[numpy.float64]:
    """Count the arcs of each row, or add up their weights: float64 (rows,).

    Raises ValueError for a weight that is negative or not finite.
    """
    if weights is None:
        return numpy.diff(row_offsets).astype(numpy.float64)
    found = numpy.empty(len(row_offsets) - 1)
    bad = _row_sums(row_offsets, weights, found)
    if bad >= 0:
        raise ValueError(
            f"an arc from vertex {bad} has a weight that is negative or not finite; PageRank takes neither"
        )
    return found


@serial
def _row_sums(row_offsets: NDArray[Any], weights: NDArray[Any], sums: NDArray[Any]) -> int:
    """Add up rows; returns the first with a weight that is negative or not finite, or -1."""
    bad = -1
    for v in range(len(sums)):
        total, least = 0.0, 0.0
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            weight = float(weights[arc])
            total += weight
            least = min(least, weight)
        sums[v] = total
        if bad < 0 and not (least >= 0.0 and total < numpy.inf):
            bad = v
    return bad
