"""A degree threshold from the graph itself."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.jit import serial
from kernels.row_blocks import row_blocks, run_blocks

LARGEST = 1 << 16
"""Degrees above this count as this: no threshold that large keeps any delegate worth having."""


@serial
def _busier_end(first, last, row_offsets, columns, cap):  # type: ignore[no-untyped-def]
    """Count arcs by the larger of their ends' degrees, degrees above `cap` counted as `cap`."""
    counts = numpy.zeros(cap + 1, numpy.int64)
    for u in range(first, last):
        degree_u = row_offsets[u + 1] - row_offsets[u]
        for arc in range(row_offsets[u], row_offsets[u + 1]):
            w = numpy.int64(columns[arc])
            degree = max(degree_u, row_offsets[w + 1] - row_offsets[w])
            counts[min(degree, cap)] += 1
    return counts


def suggest_threshold(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    ranks: int,
    *,
    delegates_per_local: float = 4.0,
    delegate_share: float = 1 / 16,
    nn_share: float = 0.1,
) -> int:
    """Choose the threshold in the middle of the range that the paper calls good (section VI-B).

    Parameters
    ----------
    row_offsets, column_indices : the whole graph, int64 and uint32 or uint64.
    delegates_per_local : most delegates for each vertex of a rank; the paper keeps d under 4 n / p.
    delegate_share : most delegates among all vertices. Not in the paper, whose graphs are scale-free: it
        keeps meshes and roads, where every vertex is as good as the next, from turning all into delegates.
    nn_share : most arcs between normal vertices; the paper wishes for less than a tenth.

    Returns the geometric middle of the thresholds that satisfy all three, or, where the two sides conflict,
    the smallest that keeps the delegates few.

    """
    n = len(row_offsets) - 1
    if n == 0 or len(column_indices) == 0:
        return 0
    degrees = numpy.diff(row_offsets)
    cap = int(min(degrees.max(), LARGEST))
    of_degree = numpy.bincount(numpy.minimum(degrees, cap), minlength=cap + 1)
    above = n - numpy.cumsum(of_degree)
    most = min(delegates_per_local * n / ranks, delegate_share * n)
    low = int(numpy.argmax(above <= most))
    parts = run_blocks(
        lambda a, b: _busier_end(a, b, row_offsets, column_indices, cap), row_blocks(row_offsets)
    )
    nn = numpy.cumsum(numpy.sum(parts, axis=0))
    high = int(numpy.searchsorted(nn, nn_share * len(column_indices), side="right")) - 1
    return low if high <= low else round((max(low, 1) * high) ** 0.5)
