"""Lattices of two or three dimensions: 5 or 9 points in two, 7 or 27 in three."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from gravel.kernels.generate.lattice import box_edges, box_offsets, star_offsets
from gravel.kernels.generate.shapes import Grid


def grid(shape: Grid, first: int, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count`, those along the first dimension first."""
    dims = shape.dims
    offsets = box_offsets(len(dims)) if shape.across_corners else star_offsets(len(dims))
    return box_edges(dims, offsets, first, count)
