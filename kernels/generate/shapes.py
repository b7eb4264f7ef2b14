"""What describes the graph of each generator, and how many vertices and edges it has, without making any."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


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


class Shape(Protocol):
    """What describes a generator's graph: its parameters, and the size that comes of them."""

    def size(self) -> Size:
        """Count vertices and edges; raises ValueError for parameters that cannot be."""
        ...


def shape_of(name: str, **parameters: Any) -> Shape:
    """Give the description of a generator's graph.

    Raises ValueError for an unknown name, and an unknown or missing parameter.
    """
    if name not in GENERATORS:
        raise ValueError(f"unknown generator {name!r}; there are {', '.join(GENERATORS)}")
    made = _SHAPES[name]
    try:
        inspect.signature(made).bind(**parameters)
    except TypeError as error:
        raise ValueError(f"generator {name!r}: {error}") from None
    shape: Shape = made(**parameters)
    return shape


def size(name: str, **parameters: Any) -> Size:
    """Count the vertices and edges of a generator.

    Raises ValueError for an unknown name, an unknown or missing parameter, and a value that cannot be.
    """
    return shape_of(name, **parameters).size()


def part_size(total: int, first: int, count: int | None) -> int:
    """Count the edges of the part that starts at `first`: `count`, or all that are left.

    Raises ValueError where the part does not lie within the generator's `total` edges.
    """
    count = total - first if count is None else count
    if first < 0 or count < 0 or first + count > total:
        raise ValueError(f"edges {first} to {first + count} were asked for; there are {total}")
    return count


@dataclass(frozen=True)
class RMAT:
    """2^scale vertices, edge_factor edges for each.

    Parameters
    ----------
    scale : 2^scale vertices, 0 to 48.
    edge_factor : edges per vertex.
    seed : 0 or more.
    a, b, c : chances of the quadrants (0,0), (0,1), (1,0); the rest is (1,1)'s.
    scramble : relabel the vertices; without it, vertex 0 tends to have the highest degree.

    """

    scale: int
    edge_factor: int
    seed: int = 0
    a: float = 0.57
    b: float = 0.19
    c: float = 0.19
    scramble: bool = True

    def size(self) -> Size:
        """Count them."""
        _at_least("scale", self.scale, 0)
        _at_least("edge_factor", self.edge_factor, 0)
        _at_least("seed", self.seed, 0)
        a, b, c = self.a, self.b, self.c
        if self.scale > 48:
            raise ValueError(f"scale is {self.scale}; it can be at most 48")
        if min(a, b, c) < 0 or a + b + c > 1 + 1e-9:
            raise ValueError(f"a, b and c are {a}, {b} and {c}; they must be 0 or more and sum to at most 1")
        return Size(1 << self.scale, self.edge_factor << self.scale)


@dataclass(frozen=True)
class Uniform:
    """So many random pairs of so many vertices; loops and duplicates occur."""

    vertices: int
    edges: int
    seed: int = 0

    def size(self) -> Size:
        """Count as asked for."""
        _at_least("vertices", self.vertices, 0)
        _at_least("edges", self.edges, 0)
        _at_least("seed", self.seed, 0)
        if self.edges and not self.vertices:
            raise ValueError(f"{self.edges} edges need at least one vertex")
        return Size(self.vertices, self.edges)


@dataclass(frozen=True)
class Grid:
    """A lattice of two or three dimensions, `dims`; each vertex is joined to the next one along each.

    `points` is that of the stencil, its middle included: by default 5 or 7; with 9 or 27 vertices are joined
    across corners too. Vertices are numbered with the last dimension fastest.
    """

    dims: Sequence[int]
    points: int | None = None

    @property
    def across_corners(self) -> bool:
        """Whether all points of the stencil are joined."""
        return self.points is not None and self.points == int(3 ** len(self.dims))

    def size(self) -> Size:
        """Count vertices, and the edges along dimensions or of the whole stencil."""
        dims = self.dims
        if len(dims) not in (2, 3):
            raise ValueError(f"dims has {len(dims)} numbers; a grid has 2 or 3 dimensions")
        for length in dims:
            _at_least("every number of dims", length, 1)
        vertices = math.prod(dims)
        star, box = 2 * len(dims) + 1, 3 ** len(dims)
        if self.points not in (None, star, box):
            raise ValueError(f"points is {self.points}; in {len(dims)} dimensions it can be {star} or {box}")
        if self.across_corners:
            # Ordered pairs at most one apart along each dimension, without those of a vertex with itself.
            return Size(vertices, (math.prod(3 * length - 2 for length in dims) - vertices) // 2)
        return Size(vertices, sum(vertices // length * (length - 1) for length in dims))


@dataclass(frozen=True)
class Mesh:
    """A plane of triangles: a lattice of two dimensions, `dims`, with a diagonal in each cell.

    Inner vertices have 4 to 8 neighbours, 6 on average, as in a triangulation.
    """

    dims: Sequence[int]
    seed: int = 0

    def size(self) -> Size:
        """Count the vertices and edges of the lattice, and the diagonals."""
        dims = self.dims
        if len(dims) != 2:
            raise ValueError(f"dims has {len(dims)} numbers; a mesh has 2 dimensions")
        _at_least("seed", self.seed, 0)
        vertices, edges = Grid(dims).size()
        return Size(vertices, edges + (dims[0] - 1) * (dims[1] - 1))


@dataclass(frozen=True)
class IrregularGrid:
    """A lattice and, for each of its vertices, `share` vertices more with `degree` edges; at least one.

    FlexBFS adds 0.1 % vertices of high degree to a regular grid (poster, section 3) and states neither their
    degree nor their neighbours; here each is joined to `degree` vertices of the lattice, drawn uniformly with
    repetition. They come after the lattice's vertices.
    """

    dims: Sequence[int]
    share: float = HUB_SHARE
    degree: int = HUB_DEGREE
    seed: int = 0

    def size(self) -> Size:
        """Count those of the lattice, and what is added."""
        vertices, edges = Grid(self.dims).size()
        _at_least("degree", self.degree, 0)
        _at_least("seed", self.seed, 0)
        if not 0 <= self.share <= 1:
            raise ValueError(f"share is {self.share}; it must be from 0 to 1")
        hubs = max(1, round(self.share * vertices)) if self.share else 0
        return Size(vertices + hubs, edges + hubs * self.degree)


@dataclass(frozen=True)
class Communities:
    """A graph with nested communities.

    Parameters
    ----------
    vertices, edges : how many; below 2^48. Duplicates occur, self-loops do not.
    seed : 0 or more.
    exponent : of the degrees' power law, above 2.
    sizes : vertices of a community of each level, ascending powers of two.
    mixing : share of the edges at each level, and across the whole graph as the last; they sum to 1.
    run : mean length of a run of consecutive targets, 1 to 8.
    numbering : "crawl", or "random" to shuffle the numbers by the seed.

    """

    vertices: int
    edges: int
    seed: int = 0
    exponent: float = 2.5
    sizes: Sequence[int] = COMMUNITY_SIZES
    mixing: Sequence[float] = COMMUNITY_MIXING
    run: float = 2.0
    numbering: str = "crawl"

    def size(self) -> Size:
        """Count as asked for."""
        _at_least("vertices", self.vertices, 2)
        _at_least("edges", self.edges, 0)
        _at_least("seed", self.seed, 0)
        sizes, mixing = list(self.sizes), list(self.mixing)
        if max(self.vertices, self.edges) >= 1 << 48:
            raise ValueError(f"{self.vertices} vertices and {self.edges} edges; both must be below 2^48")
        if not 2 < self.exponent < math.inf:
            raise ValueError(f"exponent is {self.exponent}; it must be above 2, so that degrees have a mean")
        if not sizes or any(each < 2 or each & (each - 1) for each in sizes) or sizes != sorted(set(sizes)):
            raise ValueError(f"sizes are {sizes}; they must be ascending powers of two")
        if sizes[-1] >= 1 << 48:
            raise ValueError(f"a community of {sizes[-1]} vertices; they must be below 2^48")
        if len(mixing) != len(sizes) + 1 or min(mixing) < 0 or abs(sum(mixing) - 1) > 1e-6:
            raise ValueError(
                f"mixing is {mixing}; it must be {len(sizes) + 1} shares that sum to 1: one for each of "
                "sizes, and one across the whole graph"
            )
        if not 1 <= self.run <= 8:
            raise ValueError(f"run is {self.run}; it must be from 1 to 8")
        if self.numbering not in ("crawl", "random"):
            raise ValueError(f"numbering is {self.numbering!r}; it can be crawl or random")
        return Size(self.vertices, self.edges)


@dataclass(frozen=True)
class Small:
    """So many vertices; what joins them is the subclass's."""

    vertices: int


class Path(Small):
    """A row of vertices, or a star, which has as many edges."""

    def size(self) -> Size:
        """Count one edge less than vertices."""
        _at_least("vertices", self.vertices, 1)
        return Size(self.vertices, self.vertices - 1)


class Cycle(Small):
    """A ring of vertices; below three there is no ring without loops or duplicates."""

    def size(self) -> Size:
        """Count as many edges as vertices."""
        _at_least("vertices", self.vertices, 3)
        return Size(self.vertices, self.vertices)


class Complete(Small):
    """Every pair."""

    def size(self) -> Size:
        """Count the pairs."""
        _at_least("vertices", self.vertices, 1)
        return Size(self.vertices, self.vertices * (self.vertices - 1) // 2)


class Empty(Small):
    """No edge."""

    def size(self) -> Size:
        """Count none."""
        _at_least("vertices", self.vertices, 0)
        return Size(self.vertices, 0)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")


_SHAPES: dict[str, type] = {
    "rmat": RMAT,
    "uniform": Uniform,
    "grid": Grid,
    "mesh": Mesh,
    "irregular_grid": IrregularGrid,
    "communities": Communities,
    "path": Path,
    "star": Path,
    "cycle": Cycle,
    "complete": Complete,
    "empty": Empty,
}
