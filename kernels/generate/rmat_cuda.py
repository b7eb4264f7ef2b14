"""RMAT edges made on the GPU; the kernel is `rmat.cu`."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.index import index_dtype


def make_edges(
    scale: int, first: int, count: int, constants: NDArray[Any], *, block: int = 256
) -> tuple[Any, Any]:
    """Make edges `first` to `first + count` with the constants of `edge_constants`; CuPy arrays (count,)."""
    import cupy

    dtype = index_dtype(1 << scale)
    source, target = cupy.empty(count, dtype), cupy.empty(count, dtype)
    if count:
        kernel = load("kernels/generate/rmat.cu", VERTEX=vertex_macro(dtype)).get_function("rmat_edges")
        numbers = (numpy.uint64(first), numpy.uint64(count), numpy.int32(scale))
        kernel((blocks_for(count, block),), (block,), (source, target, *numbers, cupy.asarray(constants)))
    return source, target
