"""Shortest paths between pairs of vertices, searched from both ends, many pairs side by side.

By arcs, or by weights as `gravel.kernels.sssp` takes them. Both ends search in buckets of distances, until no
shorter path can be left. On the CPU each thread has a pair of its own, on CUDA each block.

Lengths are int64, -1 where there is no path. With float32 weights they are float64 and inf, the sums of both
ends added up. A path is the same on every device: each vertex follows the smallest of those that its distance
may come from.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.point_to_point.interface import PairQueries
from gravel.kernels.sssp.weights import WeightedRows, checked

__all__ = ["WIDTH", "prepare"]

WIDTH = 8.0
"""Mean weights over the square of the mean degree that a bucket is wide: narrow buckets end a search soon.
A pair of Kronecker 16 (degree 28) took 0.37 ms with a hundredth of a mean weight, 2 with a twentieth and 34
with a quarter. One of USA-road-NY (degree 2.8) took 7.4 to 8 ms with any from half a mean weight to 8."""


def prepare(
    row_offsets: Any,
    column_indices: Any,
    weights: Any = None,
    *,
    reverse: tuple[Any, Any, Any] | None = None,
    width: float | None = None,
    at_once: int | None = None,
    **tuning: Any,
) -> PairQueries:
    """Check rows and make them ready.

    Parameters
    ----------
    row_offsets, column_indices, weights : as of `gravel.kernels.sssp.prepare`. Without weights, arcs count.
    reverse : the same with all arcs turned round; not needed where every arc has its reverse, of the
        same weight. Lengths of other rows are wrong without it; a path on the CPU that shows it is refused.
    width : how many mean weights a bucket is wide, above 0; by default `WIDTH` over the
        square of the mean degree.
    at_once : the most pairs side by side, each with about 60 bytes a vertex; by default as many as run.

    Raises ValueError as `gravel.kernels.sssp.prepare` does.

    """
    n = len(row_offsets) - 1
    backend = backend_of(column_indices)
    if width is not None and not width > 0:
        raise ValueError(f"width is {width}; it must be above 0")
    if at_once is not None and at_once < 1:
        raise ValueError(f"at_once is {at_once}; it must be 1 at least")
    forwards = (row_offsets, column_indices, weights)
    both = (forwards, forwards if reverse is None else reverse)
    for offsets, columns, lengths in both:
        if len(offsets) != n + 1 or len(columns) != len(column_indices):
            raise ValueError("rows and reverse rows differ in vertices or arcs")
        if (lengths is None) != (weights is None):
            raise ValueError("rows and reverse rows both have weights, or neither")
    rows: list[WeightedRows] = [
        WeightedRows(offsets, columns, None, numpy.dtype(numpy.uint32), 1.0)
        if lengths is None
        else checked(offsets, columns, lengths)
        for offsets, columns, lengths in both
    ]
    factor = WIDTH / rows[0].mean_degree ** 2 if width is None else width
    if backend == "cuda":
        from gravel.kernels.point_to_point.cuda import CudaPairs

        return CudaPairs(rows[0], rows[1], factor, at_once, **tuning)
    from gravel.kernels.point_to_point.cpu import CpuPairs

    return CpuPairs(rows[0], rows[1], factor, at_once, **tuning)
