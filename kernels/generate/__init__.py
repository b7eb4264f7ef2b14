"""Graphs made from a few numbers, in parts: edge k depends on k and the parameters alone.

`generate(name, ...)` makes edges `first` to `first + count` of a generator, `size(name, ...)` tells how many
vertices and edges it has without making any. Nothing heavy is imported before edges are made.

| name | parameters | vertices | edges |
|---|---|---|---|
| rmat | scale, edge_factor, seed, a, b, c | 2^scale | edge_factor * 2^scale |
| uniform | vertices, edges, seed | vertices | edges |
| grid | dims (two or three), points | their product | to the next ones; across corners with 9 or 27 points |
| mesh | dims (two), seed | their product | of the lattice, and a diagonal in each cell |
| irregular_grid | dims, share, degree, seed | of a grid, and hubs | of the grid, and `degree` a hub |
| communities | vertices, edges, seed, exponent, sizes, mixing, run, numbering | vertices | edges |
| path, star, cycle, complete, empty | vertices | vertices | n-1, n-1, n, n(n-1)/2, 0 |

All of them describe undirected graphs: each edge is listed once.
"""

from __future__ import annotations

import importlib
from typing import Any

from gravel.kernels.generate.shapes import GENERATORS, Size, part_size, shape_of, size

__all__ = ["GENERATORS", "ON_DEVICE", "Size", "generate", "size"]

ON_DEVICE = ("rmat", "communities")
"""Generators that have a CUDA implementation, with the same edges."""


def generate(
    name: str, *, first: int = 0, count: int | None = None, backend: str = "cpu", **parameters: Any
) -> tuple[Any, Any]:
    """Make edges `first` to `first + count` (all by default) of the named generator.

    Returns source and target (count,), uint32 below 2^32 vertices, else uint64; CuPy arrays for the backend
    "cuda", which those of `ON_DEVICE` have. Raises ValueError for a name or a parameter that cannot be.
    """
    shape = shape_of(name, **parameters)
    count = part_size(shape.size().edges, first, count)  # which refuses what cannot be
    if backend != "cpu" and name not in ON_DEVICE:
        raise ValueError(f"generator {name!r} has no {backend} implementation; {', '.join(ON_DEVICE)} have")
    module = importlib.import_module(f"gravel.kernels.generate.{GENERATORS[name]}")
    options = {"backend": backend} if name in ON_DEVICE else {}
    edges: tuple[Any, Any] = getattr(module, name)(shape, first, count, **options)
    return edges
