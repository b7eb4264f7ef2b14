"""The light orders on the GPU: the kernels are in `renumber.cu`, the sort CuPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.arrays import index_bits, index_dtype
from gravel.kernels.buffers import vertex_type
from gravel.kernels.cuda import vertex_macro
from gravel.kernels.cuda.launch import BLOCK, Kernels
from gravel.kernels.order import buffers
from gravel.kernels.order.groups import above_mean, eight_groups

SOURCE = "kernels/order/renumber.cu"
MAX_BLOCKS = 1 << 16


def degree(row_offsets: Any, *, block: int = BLOCK) -> Any:
    """Number the vertices by descending degree; see `gravel.kernels.order.light.degree`."""
    return _sorted_from(row_offsets, 0, block)


def hub_sort(row_offsets: Any, *, block: int = BLOCK) -> Any:
    """Number hubs by descending degree, then the others; see `gravel.kernels.order.light.hub_sort`."""
    return _sorted_from(row_offsets, above_mean(*_counts(row_offsets)), block)


def hub_cluster(row_offsets: Any, *, block: int = BLOCK) -> Any:
    """Number hubs first; see `gravel.kernels.order.light.hub_cluster`."""
    return _grouped(row_offsets, [above_mean(*_counts(row_offsets))], block)


def degree_groups(row_offsets: Any, *, block: int = BLOCK) -> Any:
    """Number eight groups of falling degree; see `gravel.kernels.order.light.degree_groups`."""
    return _grouped(row_offsets, eight_groups(*_counts(row_offsets)), block)


def _counts(row_offsets: Any) -> tuple[int, int]:
    return len(row_offsets) - 1, int(row_offsets[-1])


def _sorted_from(row_offsets: Any, least: int, block: int) -> Any:
    """Number vertices of `least` arcs or more by descending degree, then the others."""
    import cupy

    vertices = len(row_offsets) - 1
    if vertices == 0:
        return cupy.empty(0, index_dtype(0))
    longest, bits = max(least, int(cupy.diff(row_offsets).max())), index_bits(vertices)
    if (longest - least + 1).bit_length() + bits > 64:
        classes = longest - cupy.diff(row_offsets)
        classes[classes > longest - least] = longest - least + 1
        order = cupy.empty(vertices, index_dtype(vertices))
        order[cupy.argsort(classes, kind="stable")] = cupy.arange(vertices, dtype=order.dtype)
        return order
    return _numbered(row_offsets, "hub_keys", (numpy.int64(least), numpy.int64(longest)), block)


def _grouped(row_offsets: Any, least: Sequence[int], block: int) -> Any:
    import cupy

    bounds = cupy.array(least, cupy.int64)
    return _numbered(row_offsets, "group_keys", (bounds, numpy.uint32(len(least))), block)


def _numbered(row_offsets: Any, kernel: str, classes: tuple[Any, ...], block: int) -> Any:
    """Number all vertices by the classes that a kernel has for them, those of one class as they were."""
    import cupy

    vertices = len(row_offsets) - 1
    order = buffers.order(vertices, vertex_type(vertices)).make(cupy)
    if vertices:
        keys, bits = buffers.keys(vertices).make(cupy), numpy.uint32(index_bits(vertices))
        kernels = Kernels(SOURCE, block=block, most=MAX_BLOCKS, VERTEX=vertex_macro(order.dtype))
        kernels.run(kernel, vertices, row_offsets, vertices, *classes, bits, keys)
        keys.sort()
        kernels.run("ranks", vertices, keys, vertices, bits, order)
    return order
