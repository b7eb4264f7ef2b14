"""Labels of a search on the device, taken out of its workspace; see `taken.cu`."""

from __future__ import annotations

from typing import Any

from gravel.kernels.cuda import load, run_over

SOURCE = "kernels/bfs/cuda/taken.cu"
MAX_BLOCKS = 1 << 11


def taken(labels: Any) -> Any:
    """Copy labels, int32 (vertices,) of any stride, or contiguous ones of any type.

    CuPy compiles a kernel of its own for a stride.
    """
    import cupy
    import numpy

    if labels.flags.c_contiguous or labels.dtype != numpy.int32:
        return labels.copy()
    out = cupy.empty(len(labels), labels.dtype)
    address, stride = numpy.uint64(labels.data.ptr), numpy.int64(labels.strides[0] // labels.itemsize)
    given = address, stride, numpy.uint64(len(labels)), out
    run_over(load(SOURCE).get_function("take"), len(labels), *given, most=MAX_BLOCKS)
    return out
