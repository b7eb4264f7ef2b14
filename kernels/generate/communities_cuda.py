"""Edges of a graph with communities made on the GPU; the kernel is `communities.cu`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.generate.communities_tables import vertex_bits
from gravel.kernels.index import index_dtype


def make_edges(
    vertices: int,
    first: int,
    count: int,
    tables: Sequence[NDArray[Any]],
    *,
    block: int = 256,
) -> tuple[Any, Any]:
    """Make edges `first` to `first + count` from those of `community_tables`; CuPy arrays (count,)."""
    import cupy

    dtype = index_dtype(vertices)
    source, target = cupy.empty(count, dtype), cupy.empty(count, dtype)
    if count:
        kernel = load("kernels/generate/communities.cu", VERTEX=vertex_macro(dtype))
        given = [cupy.asarray(each) for each in tables]
        bits = numpy.int32(vertex_bits(vertices))
        kernel.get_function("community_edges")(
            (blocks_for(count, block),),
            (block,),
            (source, target, numpy.uint64(first), numpy.uint64(count), bits, *given),
        )
    return source, target
