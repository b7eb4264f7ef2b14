"""A lattice with a few vertices of high degree added, the irregular input of FlexBFS."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.generate.counter import draw
from gravel.kernels.generate.lattice import box_edges, star_offsets
from gravel.kernels.generate.shapes import Grid, IrregularGrid
from gravel.kernels.generate.uniform import random_targets

HUB_STREAM = 5


def irregular_grid(shape: IrregularGrid, first: int, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count`: those of the lattice, then those of each added vertex."""
    dims, degree, vertices = shape.dims, shape.degree, shape.size().vertices
    plain, regular = Grid(dims).size()
    low = min(first, regular)
    high = min(first + count, regular)
    source, target = box_edges(dims, star_offsets(len(dims)), low, high - low)
    dtype = index_dtype(vertices)
    edge = numpy.arange(max(0, first - regular), max(0, first + count - regular), dtype=numpy.int64)
    hub = (plain + edge // max(1, degree)).astype(dtype)
    joined = numpy.empty(len(edge), dtype)
    if len(edge):
        random_targets(joined, int(edge[0]), plain, draw(shape.seed, HUB_STREAM))
    return (
        numpy.concatenate([source.astype(dtype, copy=False), hub]),
        numpy.concatenate([target.astype(dtype, copy=False), joined]),
    )
