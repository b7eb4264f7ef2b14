"""The ids of vertices on the GPU, where they are integers; the kernel is `names.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load

SOURCE = "kernels/ids/names.cu"
BLOCK = 256
MOST_BLOCKS = 1 << 14
LABELS = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}


def named(vertices: Any, first: int, values: Any | None, missing: int) -> Any:
    """Return the ids of vertices, int64 CuPy arrays both.

    Parameters
    ----------
    vertices : CuPy, of 32 or 64 bits; negative for none.
    first, values : the id of vertex v is `values[v]`, int64 CuPy, or `first + v` where that is None.
    missing : what stands for no vertex.

    """
    import cupy

    vertices = cupy.ascontiguousarray(vertices)
    ids = cupy.empty(len(vertices), numpy.int64)
    if len(vertices):
        load(SOURCE, LABEL=LABELS[vertices.dtype.name]).get_function("name_vertices")(
            (blocks_for(len(vertices), BLOCK, most=MOST_BLOCKS),),
            (BLOCK,),
            (
                vertices,
                numpy.uint64(len(vertices)),
                numpy.int64(first),
                numpy.uint64(0) if values is None else values,
                numpy.int64(missing),
                ids,
            ),
        )
    return ids
