"""Graphs with a known answer, for tests and first tries: path, star, cycle, complete, empty."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.generate.shapes import Small

Edges = tuple[NDArray[Any], NDArray[Any]]
"""Source and target (count,), uint32 below 2^32 vertices, else uint64."""


def path(shape: Small, first: int, count: int) -> Edges:
    """Join 0 - 1 - 2 - ... in a row."""
    edge = numpy.arange(first, first + count, dtype=numpy.int64)
    return _typed(edge, edge + 1, shape.vertices)


def star(shape: Small, first: int, count: int) -> Edges:
    """Join vertex 0 to all others."""
    edge = numpy.arange(first, first + count, dtype=numpy.int64)
    return _typed(numpy.zeros_like(edge), edge + 1, shape.vertices)


def cycle(shape: Small, first: int, count: int) -> Edges:
    """Join the vertices in a ring."""
    edge = numpy.arange(first, first + count, dtype=numpy.int64)
    return _typed(edge, (edge + 1) % shape.vertices, shape.vertices)


def complete(shape: Small, first: int, count: int) -> Edges:
    """Join every pair, ordered by its larger vertex."""
    edge = numpy.arange(first, first + count, dtype=numpy.int64)
    larger = ((1 + numpy.sqrt(1 + 8 * edge.astype(numpy.float64))) / 2).astype(numpy.int64)
    # The root rounds, so that it may be one off either way.
    larger -= larger * (larger - 1) // 2 > edge
    larger += larger * (larger + 1) // 2 <= edge
    return _typed(edge - larger * (larger - 1) // 2, larger, shape.vertices)


def empty(shape: Small, first: int, count: int) -> Edges:
    """Join nothing."""
    edge = numpy.arange(first, first + count, dtype=numpy.int64)
    return _typed(edge, edge, shape.vertices)


def _typed(source: NDArray[Any], target: NDArray[Any], vertices: int) -> Edges:
    dtype = index_dtype(vertices)
    return source.astype(dtype), target.astype(dtype)
