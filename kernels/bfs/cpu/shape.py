"""A graph's shape, measured on the host from a sample of its degrees, without anything to compile."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.shape import BINS, Shape, top_share

SAMPLE = 1 << 18
"""Vertices whose degrees are looked at: 2^18 take about 10 ms."""


def measure(row_offsets: NDArray[Any], column_indices: NDArray[Any], *, symmetric: bool) -> Shape:
    """Measure a graph by evenly spaced degrees.

    No search is made: the CPU searches choose level by level what depth would tell beforehand.
    """
    started = time.perf_counter()
    n = len(row_offsets) - 1
    step = max(1, n // SAMPLE)
    rows = numpy.arange(0, n, step)
    degrees = row_offsets[rows + 1] - row_offsets[rows]
    bits = numpy.frexp(degrees.astype(numpy.float64))[1]
    vertices = numpy.bincount(bits, minlength=BINS)
    arcs = numpy.bincount(bits, weights=degrees, minlength=BINS)
    return Shape(
        vertices=n,
        arcs=len(column_indices),
        symmetric=symmetric,
        linked=min(n, int(vertices[1:].sum()) * step),
        largest_degree=int(degrees.max(initial=0)),
        top_share=top_share(vertices.tolist(), arcs.tolist()),
        growth=None,
        milliseconds=(time.perf_counter() - started) * 1e3,
    )
