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
    "mesh": "mesh",
    "irregular_grid": "irregular_grid",
    "communities": "communities",
    "path": "small",
    "star": "small",
    "cycle": "small",
    "complete": "small",
    "empty": "small",
}
"""Every generator's name, with the module of this package that holds it."""


HUB_SHARE = 0.001
"""Added vertices of high degree for each vertex of an irregular grid (FlexBFS, section 3)."""

HUB_DEGREE = 512
"""Arcs of each of them; gravel's, since FlexBFS states none."""

COMMUNITY_SIZES = (1 << 10, 1 << 15, 1 << 20)
"""Vertices of a community at each level, as sites, hosts and domains of a crawl nest; gravel's."""

COMMUNITY_MIXING = (0.7, 0.18, 0.08, 0.04)
"""Share of the edges within each of these levels and across the whole graph; gravel's."""


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


def part_size(total: int, first: int, count: int | None) -> int:
    """Count the edges of the part that starts at `first`: `count`, or all that are left.

    Raises ValueError where the part does not lie within the generator's `total` edges.
    """
    count = total - first if count is None else count
    if first < 0 or count < 0 or first + count > total:
        raise ValueError(f"edges {first} to {first + count} were asked for; there are {total}")
    return count


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


def grid_size(dims: Sequence[int], points: int | None = None) -> Size:
    """A lattice of two or three dimensions; each vertex is joined to the next one along each.

    With all the points of the stencil (9 or 27) it is joined across corners too.
    """
    if len(dims) not in (2, 3):
        raise ValueError(f"dims has {len(dims)} numbers; a grid has 2 or 3 dimensions")
    for length in dims:
        _at_least("every number of dims", length, 1)
    vertices = math.prod(dims)
    star, box = 2 * len(dims) + 1, 3 ** len(dims)
    if points not in (None, star, box):
        raise ValueError(f"points is {points}; in {len(dims)} dimensions it can be {star} or {box}")
    if points == box:
        # Ordered pairs at most one apart along each dimension, without those of a vertex with itself.
        return Size(vertices, (math.prod(3 * length - 2 for length in dims) - vertices) // 2)
    return Size(vertices, sum(vertices // length * (length - 1) for length in dims))


def mesh_size(dims: Sequence[int], seed: int = 0) -> Size:
    """A plane of triangles: a lattice of two dimensions with a diagonal in each cell."""
    if len(dims) != 2:
        raise ValueError(f"dims has {len(dims)} numbers; a mesh has 2 dimensions")
    _at_least("seed", seed, 0)
    vertices, edges = grid_size(dims)
    return Size(vertices, edges + (dims[0] - 1) * (dims[1] - 1))


def irregular_grid_size(
    dims: Sequence[int], share: float = HUB_SHARE, degree: int = HUB_DEGREE, seed: int = 0
) -> Size:
    """A lattice and, for each of its vertices, `share` vertices more with `degree` edges; at least one."""
    vertices, edges = grid_size(dims)
    _at_least("degree", degree, 0)
    _at_least("seed", seed, 0)
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}; it must be from 0 to 1")
    hubs = max(1, round(share * vertices)) if share else 0
    return Size(vertices + hubs, edges + hubs * degree)


def communities_size(
    vertices: int,
    edges: int,
    seed: int = 0,
    exponent: float = 2.5,
    sizes: Sequence[int] = COMMUNITY_SIZES,
    mixing: Sequence[float] = COMMUNITY_MIXING,
    run: float = 2.0,
    numbering: str = "crawl",
) -> Size:
    """As asked for."""
    _at_least("vertices", vertices, 2)
    _at_least("edges", edges, 0)
    _at_least("seed", seed, 0)
    if max(vertices, edges) >= 1 << 48:
        raise ValueError(f"{vertices} vertices and {edges} edges; both must be below 2^48")
    if not 2 < exponent < math.inf:
        raise ValueError(f"exponent is {exponent}; it must be above 2, so that degrees have a mean")
    if not sizes or any(each < 2 or each & (each - 1) for each in sizes) or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"sizes are {list(sizes)}; they must be ascending powers of two")
    if sizes[-1] >= 1 << 48:
        raise ValueError(f"a community of {sizes[-1]} vertices; they must be below 2^48")
    if len(mixing) != len(sizes) + 1 or min(mixing) < 0 or abs(sum(mixing) - 1) > 1e-6:
        raise ValueError(
            f"mixing is {list(mixing)}; it must be {len(sizes) + 1} shares that sum to 1: one for each of "
            "sizes, and one across the whole graph"
        )
    if not 1 <= run <= 8:
        raise ValueError(f"run is {run}; it must be from 1 to 8")
    if numbering not in ("crawl", "random"):
        raise ValueError(f"numbering is {numbering!r}; it can be crawl or random")
    return Size(vertices, edges)


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
    "mesh": mesh_size,
    "irregular_grid": irregular_grid_size,
    "communities": communities_size,
    "path": path_size,
    "star": path_size,
    "cycle": cycle_size,
    "complete": complete_size,
    "empty": empty_size,
}
