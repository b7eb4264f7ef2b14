"""Lattices of two or three dimensions: each vertex joined to the next one along each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.generate.sizes import size
from kernels.index import index_dtype
from kernels.jit import serial
from kernels.row_blocks import even_blocks, run_blocks


def grid(
    dims: Sequence[int], *, first: int = 0, count: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count` of a lattice, the edges along the first dimension first.

    Vertices are numbered with the last dimension fastest. Returns source and target (count,), uint32 below
    2^32 vertices, else uint64. Raises ValueError unless `dims` holds two or three positive lengths.
    """
    vertices, total = size("grid", dims=dims)
    count = total - first if count is None else count
    if first < 0 or count < 0 or first + count > total:
        raise ValueError(f"edges {first} to {first + count} were asked for; there are {total}")
    dtype = index_dtype(vertices)
    source, target = numpy.empty(count, dtype), numpy.empty(count, dtype)
    begin = 0
    stride = vertices
    for length in dims:
        stride //= length
        end = begin + vertices // length * (length - 1)
        low, high = max(first, begin), min(first + count, end)
        if low < high:
            place = slice(low - first, high - first)
            _dimension(source[place], target[place], low - begin, length, stride)
        begin = end
    return source, target


def _dimension(source: NDArray[Any], target: NDArray[Any], first: int, length: int, stride: int) -> None:
    def make(low: int, high: int) -> None:
        _along(source[low:high], target[low:high], first + low, (length - 1) * stride, stride)

    run_blocks(make, even_blocks(len(source)))


@serial
def _along(source: NDArray[Any], target: NDArray[Any], first: int, block: int, stride: int) -> None:
    # A block of (length - 1) * stride edges leaves out the last `stride` vertices of its stretch.
    for i in range(len(source)):
        edge = first + i
        vertex = edge + edge // block * stride
        source[i] = vertex
        target[i] = vertex + stride
