"""Graphs with a known answer, for tests and first tries: path, star, cycle, complete, empty."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.generate.sizes import part_size, size

Edges = tuple[NDArray[Any], NDArray[Any]]
"""Source and target (count,), uint32 below 2^32 vertices, else uint64."""


def path(vertices: int, *, first: int = 0, count: int | None = None) -> Edges:
    """Join 0 - 1 - 2 - ... in a row."""
    edge = _numbers("path", vertices, first, count)
    return _typed(edge, edge + 1, vertices)


def star(vertices: int, *, first: int = 0, count: int | None = None) -> Edges:
    """Join vertex 0 to all others."""
    edge = _numbers("star", vertices, first, count)
    return _typed(numpy.zeros_like(edge), edge + 1, vertices)


def cycle(vertices: int, *, first: int = 0, count: int | None = None) -> Edges:
    """Join the vertices in a ring."""
    edge = _numbers("cycle", vertices, first, count)
    return _typed(edge, (edge + 1) % vertices, vertices)


def complete(vertices: int, *, first: int = 0, count: int | None = None) -> Edges:
    """Join every pair, ordered by its larger vertex."""
    edge = _numbers("complete", vertices, first, count)
    larger = ((1 + numpy.sqrt(1 + 8 * edge.astype(numpy.float64))) / 2).astype(numpy.int64)
    # The root rounds, so that it may be one off either way.
    larger -= larger * (larger - 1) // 2 > edge
    larger += larger * (larger + 1) // 2 <= edge
    return _typed(edge - larger * (larger - 1) // 2, larger, vertices)


def empty(vertices: int, *, first: int = 0, count: int | None = None) -> Edges:
    """Join nothing."""
    edge = _numbers("empty", vertices, first, count)
    return _typed(edge, edge, vertices)


def _numbers(name: str, vertices: int, first: int, count: int | None) -> NDArray[numpy.int64]:
    count = part_size(size(name, vertices=vertices).edges, first, count)
    return numpy.arange(first, first + count, dtype=numpy.int64)


def _typed(source: NDArray[Any], target: NDArray[Any], vertices: int) -> Edges:
    dtype = index_dtype(vertices)
    return source.astype(dtype), target.astype(dtype)
