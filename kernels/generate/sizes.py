"""How many vertices and edges a generator makes, without making them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Size(NamedTuple):
    """Vertices and listed edges (each undirected edge once)."""

    vertices: int
    edges: int


GENERATORS = {
    "rmat": "rmat",
    "uniform": "uniform",
    "grid": "grid",
    "path": "small",
    "star": "small",
    "cycle": "small",
    "complete": "small",
    "empty": "small",
}
"""Every generator's name, with the module of this package that holds it."""


def size(name: str, **parameters: Any) -> Size:
    """Count the vertices and edges of a generator.

    Raises ValueError for an unknown name, an unknown or missing parameter, and a value that cannot be.
    """
    if name not in GENERATORS:
        raise ValueError(f"unknown generator {name!r}; there are {', '.join(GENERATORS)}")
    measure = _SIZES[name]
    try:
        inspect.signature(measure).bind(**parameters)
    except TypeError as error:
        raise ValueError(f"generator {name!r}: {error}") from None
    return measure(**parameters)


def rmat_size(
    scale: int,
    edge_factor: int,
    seed: int = 0,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    scramble: bool = True,
) -> Size:
    """2^scale vertices, edge_factor edges for each."""
    _at_least("scale", scale, 0)
    _at_least("edge_factor", edge_factor, 0)
    _at_least("seed", seed, 0)
    if scale > 48:
        raise ValueError(f"scale is {scale}; it can be at most 48")
    if min(a, b, c) < 0 or a + b + c > 1 + 1e-9:
        raise ValueError(f"a, b and c are {a}, {b} and {c}; they must be 0 or more and sum to at most 1")
    return Size(1 << scale, edge_factor << scale)


def uniform_size(vertices: int, edges: int, seed: int = 0) -> Size:
    """As asked for."""
    _at_least("vertices", vertices, 0)
    _at_least("edges", edges, 0)
    _at_least("seed", seed, 0)
    if edges and not vertices:
        raise ValueError(f"{edges} edges need at least one vertex")
    return Size(vertices, edges)


def grid_size(dims: Sequence[int]) -> Size:
    """A lattice of two or three dimensions; each vertex is joined to the next one along each."""
    if len(dims) not in (2, 3):
        raise ValueError(f"dims has {len(dims)} numbers; a grid has 2 or 3 dimensions")
    for length in dims:
        _at_least("every number of dims", length, 1)
    vertices = math.prod(dims)
    return Size(vertices, sum(vertices // length * (length - 1) for length in dims))


def path_size(vertices: int) -> Size:
    """A row of vertices."""
    _at_least("vertices", vertices, 1)
    return Size(vertices, vertices - 1)


def cycle_size(vertices: int) -> Size:
    """A ring of vertices; below three there is no ring without loops or duplicates."""
    _at_least("vertices", vertices, 3)
    return Size(vertices, vertices)


def complete_size(vertices: int) -> Size:
    """Every pair."""
    _at_least("vertices", vertices, 1)
    return Size(vertices, vertices * (vertices - 1) // 2)


def empty_size(vertices: int) -> Size:
    """No edge."""
    _at_least("vertices", vertices, 0)
    return Size(vertices, 0)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")


_SIZES: dict[str, Callable[..., Size]] = {
    "rmat": rmat_size,
    "uniform": uniform_size,
    "grid": grid_size,
    "path": path_size,
    "star": path_size,
    "cycle": cycle_size,
    "complete": complete_size,
    "empty": empty_size,
}
