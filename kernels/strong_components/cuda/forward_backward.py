"""Forward-backward search on CUDA, in one cooperative launch; see `forward_backward.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult
from gravel.kernels.cuda import event_milliseconds, load, refuse_block, resident_blocks, vertex_macro
from gravel.kernels.strong_components.buffers import forward_backward

SOURCE = "kernels/strong_components/cuda/forward_backward.cu"


def components(
    row_offsets: Any, column_indices: Any, back_offsets: Any, back_columns: Any, *, block: int = 512
) -> ComponentsResult:
    """Label every vertex; see `gravel.kernels.strong_components`.

    Parameters
    ----------
    row_offsets, column_indices, back_offsets, back_columns : the rows, CuPy.
    block : threads of a block, a multiple of 32 up to 1024.

    """
    import cupy

    refuse_block(block)
    vertices, arcs, dtype = len(row_offsets) - 1, len(column_indices), column_indices.dtype
    made = make(forward_backward(vertices, arcs, dtype.itemsize), cupy)
    component = made["component"]
    if vertices == 0:
        return ComponentsResult(component, 0.0, "forward_backward")
    kernel = load(SOURCE, VERTEX=vertex_macro(dtype)).get_function("forward_backward")
    grid = (resident_blocks(kernel, block),), (block,)
    arguments = (
        *map(cupy.ascontiguousarray, (row_offsets, column_indices, back_offsets, back_columns)),
        numpy.uint64(vertices),
        *made.values(),
    )
    milliseconds = event_milliseconds(lambda: kernel(*grid, arguments))
    return ComponentsResult(component, milliseconds, "forward_backward")
