"""The light orders on the GPU: keys by `groups.cu`, sorted by CuPy, numbered by `renumber.cu`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, vertex_macro
from gravel.kernels.index import index_dtype
from gravel.kernels.order.degree_groups import GROUPS, HIGHEST
from gravel.kernels.order.groups import above_mean, groups_of_mean

SOURCE = "kernels/order/groups.cu"
RANKS = "kernels/order/renumber.cu"
MOST_BLOCKS = 1 << 16


def hub_cluster(row_offsets: Any, *, block: int = 256) -> Any:
    """Number hubs first; see `gravel.kernels.order.hub_cluster`."""
    return _grouped(row_offsets, [above_mean(*_counts(row_offsets))], block)


def degree_groups(row_offsets: Any, *, block: int = 256) -> Any:
    """Number eight groups of falling degree; see `gravel.kernels.order.degree_groups`."""
    return _grouped(row_offsets, groups_of_mean(*_counts(row_offsets), HIGHEST, GROUPS), block)


def hub_sort(row_offsets: Any, *, block: int = 256) -> Any:
    """Number hubs by descending degree, then the others; see `gravel.kernels.order.hub_sort`."""
    import cupy

    vertices, arcs = _counts(row_offsets)
    least, bits = above_mean(vertices, arcs), _bits(vertices)
    longest = max(least, int(cupy.diff(row_offsets).max())) if vertices else least
    if (longest - least + 1).bit_length() + bits > 64:
        classes = longest - cupy.diff(row_offsets)
        classes[classes > longest - least] = longest - least + 1
        order = cupy.empty(vertices, index_dtype(vertices))
        order[cupy.argsort(classes, kind="stable")] = cupy.arange(vertices, dtype=order.dtype)
        return order
    keys = cupy.empty(vertices, cupy.uint64)
    if vertices:
        load(SOURCE).get_function("hub_keys")(
            *_grid(vertices, block),
            (
                row_offsets,
                numpy.uint64(vertices),
                numpy.int64(least),
                numpy.int64(longest),
                numpy.uint32(bits),
                keys,
            ),
        )
    return _numbered(keys, bits, block)


def _counts(row_offsets: Any) -> tuple[int, int]:
    return len(row_offsets) - 1, int(row_offsets[-1])


def _bits(vertices: int) -> int:
    return max(1, (vertices - 1).bit_length())


def _grid(vertices: int, block: int) -> tuple[tuple[int], tuple[int]]:
    return (blocks_for(vertices, block, most=MOST_BLOCKS),), (block,)


def _grouped(row_offsets: Any, least: Sequence[int], block: int) -> Any:
    import cupy

    vertices = len(row_offsets) - 1
    keys = cupy.empty(vertices, cupy.uint64)
    bits = _bits(vertices)
    if vertices:
        bounds = cupy.array(least, cupy.int64)
        load(SOURCE).get_function("group_keys")(
            *_grid(vertices, block),
            (row_offsets, numpy.uint64(vertices), bounds, numpy.uint32(len(least)), numpy.uint32(bits), keys),
        )
    return _numbered(keys, bits, block)


def _numbered(keys: Any, bits: int, block: int) -> Any:
    """Sort the keys of all vertices and number them in that order."""
    import cupy

    vertices = len(keys)
    dtype = index_dtype(vertices)
    order = cupy.empty(vertices, dtype)
    if vertices:
        keys.sort()
        load(RANKS, VERTEX=vertex_macro(dtype)).get_function("ranks")(
            *_grid(vertices, block), (keys, numpy.uint64(vertices), numpy.uint32(bits), order)
        )
    return order
