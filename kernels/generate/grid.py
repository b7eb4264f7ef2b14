"""Lattices of two or three dimensions: 5 or 9 points in two, 7 or 27 in three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from gravel.kernels.generate.lattice import box_edges, box_offsets, star_offsets
from gravel.kernels.generate.sizes import part_size, size


def grid(
    dims: Sequence[int], points: int | None = None, *, first: int = 0, count: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count` of a lattice, the edges along the first dimension first.

    `points` is that of the stencil, its middle included: by default 5 or 7, where a vertex is joined to the
    next one along each dimension; with 9 or 27 also across corners. Vertices are numbered with the last
    dimension fastest. Returns source and target (count,), uint32 below 2^32 vertices, else uint64. Raises
    ValueError unless `dims` holds two or three positive lengths and `points` fits them.
    """
    count = part_size(size("grid", dims=dims, points=points).edges, first, count)
    offsets = box_offsets(len(dims)) if points == 3 ** len(dims) else star_offsets(len(dims))
    return box_edges(dims, offsets, first, count)
