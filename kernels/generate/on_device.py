"""Edges made on the GPU, each from its number alone."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import Kernels

MAX_BLOCKS = 1 << 20


def make_edges(
    file: str, kernel: str, vertices: int, first: int, count: int, bits: int, *tables: NDArray[Any]
) -> tuple[Any, Any]:
    """Make edges `first` to `first + count` with a kernel; CuPy arrays (count,).

    `bits` of a vertex and `tables` are what the kernel takes beside the edges' numbers.
    """
    import cupy

    dtype = index_dtype(vertices)
    source, target = cupy.empty(count, dtype), cupy.empty(count, dtype)
    given = [cupy.asarray(each) for each in tables]
    kernels = Kernels(file, most=MAX_BLOCKS, VERTEX=vertex_macro(dtype))
    kernels.run(kernel, count, source, target, first, count, numpy.int32(bits), *given)
    return source, target
