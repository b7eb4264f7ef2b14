"""Afforest on CUDA, in one cooperative launch; see `kernels/components/afforest.cu`."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.components import ComponentsResult
from gravel.kernels.cuda import event_milliseconds, load, resident_blocks, vertex_macro

SOURCE = "kernels/components/afforest.cu"
HUB, MOST_TRACED = 4096, 16  # as in afforest.cu


def components(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    rounds: int = 1,
    block: int = 512,
    trace: Any = None,
) -> ComponentsResult:
    """Label every vertex with the smallest of its component; see `gravel.kernels.components.components`.

    Parameters
    ----------
    rounds : neighbours after the first that every vertex links before the largest component is sought.
    block : threads of a block, a multiple of 32 from 256 to 1024.
    trace : uint64 (16,) on the device, to get the processor's clock at the end of each phase.

    """
    import cupy

    if block % 32 or not 256 <= block <= 1024:
        raise ValueError(f"block is {block}; it must be a multiple of 32 from 256 to 1024")
    vertices, arcs = len(row_offsets) - 1, len(column_indices)
    component = cupy.empty(vertices, column_indices.dtype)
    if vertices == 0:
        return ComponentsResult(component, 0.0, "afforest")
    kernel = load(SOURCE, VERTEX=vertex_macro(column_indices.dtype)).get_function("afforest")
    grid = (resident_blocks(kernel, block),), (block,)
    trace = cupy.zeros(MOST_TRACED, cupy.uint64) if trace is None else trace
    arguments = (
        cupy.ascontiguousarray(row_offsets),
        cupy.ascontiguousarray(column_indices),
        numpy.uint64(vertices),
        numpy.uint64(symmetric),
        numpy.uint64(rounds),
        component,
        cupy.empty(arcs // HUB + 1, column_indices.dtype),
        cupy.zeros(1, cupy.uint64),
        trace,
        cupy.zeros(1, cupy.uint64),
    )
    taken = event_milliseconds(lambda: kernel(*grid, arguments))
    return ComponentsResult(component, taken, "afforest")
