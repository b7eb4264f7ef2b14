"""The ids of vertices on the GPU, where they are integers; the kernel is `names.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda.launch import Kernels

SOURCE = "kernels/ids/names.cu"
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
    kernels = Kernels(SOURCE, LABEL=LABELS[vertices.dtype.name])
    names = numpy.int64(first), values, numpy.int64(missing)
    kernels.run("name_vertices", len(vertices), vertices, len(vertices), *names, ids)
    return ids
