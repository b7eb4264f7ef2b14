"""Component labels of a renumbered graph, brought back on the GPU; the kernels are `relabel.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, event_milliseconds, load, vertex_macro

SOURCE = "kernels/components/cuda/relabel.cu"
BLOCK = 256
MAX_BLOCKS = 1 << 16


def components_back(permutation: Any, component: Any) -> tuple[Any, float]:
    """Label each old vertex with the smallest old vertex of its component.

    Parameters
    ----------
    permutation : (vertices,) vertex index, NumPy or CuPy, `permutation[old] = new`.
    component : CuPy (vertices,), the label of each new vertex.

    Returns labels of the dtype of `component` on the device, and the milliseconds taken there.

    """
    import cupy

    vertices = len(component)
    labels = cupy.empty_like(component)
    if vertices == 0:
        return labels, 0.0
    order = cupy.asarray(permutation).astype(component.dtype, copy=False)
    smallest = cupy.full(vertices, numpy.iinfo(component.dtype).max, component.dtype)
    module = load(SOURCE, VERTEX=vertex_macro(component.dtype))
    grid = (blocks_for(vertices, BLOCK, most=MAX_BLOCKS),), (BLOCK,)
    given = order, component, numpy.uint64(vertices), smallest

    def run() -> None:
        module.get_function("find_smallest")(*grid, given)
        module.get_function("label_back")(*grid, (*given, labels))

    return labels, event_milliseconds(run)
