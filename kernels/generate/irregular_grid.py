"""A lattice with a few vertices of high degree added, the irregular input of FlexBFS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.generate.counter import draw
from gravel.kernels.generate.lattice import box_edges, star_offsets
from gravel.kernels.generate.sizes import HUB_DEGREE, HUB_SHARE, part_size, size
from gravel.kernels.generate.uniform import random_targets

HUB_STREAM = 5


def irregular_grid(
    dims: Sequence[int],
    share: float = HUB_SHARE,
    degree: int = HUB_DEGREE,
    seed: int = 0,
    *,
    first: int = 0,
    count: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count`: those of the lattice, then those of each added vertex.

    FlexBFS adds 0.1 % vertices of high degree to a regular grid (poster, section 3) and states neither their
    degree nor their neighbours; here each is joined to `degree` vertices of the lattice, drawn uniformly with
    repetition. They come after the lattice's vertices. Returns source and target (count,), uint32 below 2^32
    vertices, else uint64. Raises ValueError for parameters that cannot be.
    """
    vertices, total = size("irregular_grid", dims=dims, share=share, degree=degree, seed=seed)
    count = part_size(total, first, count)
    plain, regular = size("grid", dims=dims)
    low = min(first, regular)
    high = min(first + count, regular)
    source, target = box_edges(dims, star_offsets(len(dims)), low, high - low)
    dtype = index_dtype(vertices)
    edge = numpy.arange(max(0, first - regular), max(0, first + count - regular), dtype=numpy.int64)
    hub = (plain + edge // max(1, degree)).astype(dtype)
    joined = numpy.empty(len(edge), dtype)
    if len(edge):
        random_targets(joined, int(edge[0]), plain, draw(seed, HUB_STREAM))
    return (
        numpy.concatenate([source.astype(dtype, copy=False), hub]),
        numpy.concatenate([target.astype(dtype, copy=False), joined]),
    )
