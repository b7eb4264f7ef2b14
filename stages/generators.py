"""Generated graphs as a source of edges: their parameters as a workflow writes them, their edges in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from gravel.kernels.generate.shapes import COMMUNITY_MIXING, COMMUNITY_SIZES, HUB_DEGREE, HUB_SHARE
from gravel.stages.stage import Parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gravel.stages.context import Context
    from gravel.stages.stage import Machine

Natural = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]

LARGEST_PART = 1 << 22
"""Edges made at once: 32 MiB in 32-bit indices, enough that starting a part does not count."""


class Rmat(Parameters):
    """Graph500's Kronecker edges: 2^scale vertices, `edge_factor` edges for each."""

    scale: Annotated[int, Field(ge=0, le=48, strict=True)]
    """Logarithm of the number of vertices to base 2."""
    edge_factor: Natural = 16
    """Edges per vertex."""
    seed: Natural = 1
    """Equal seeds give equal graphs."""
    a: Annotated[float, Field(ge=0, le=1)] = 0.57
    """Chance of the quadrant (0, 0)."""
    b: Annotated[float, Field(ge=0, le=1)] = 0.19
    """Chance of the quadrant (0, 1)."""
    c: Annotated[float, Field(ge=0, le=1)] = 0.19
    """Chance of the quadrant (1, 0); the rest is that of (1, 1)."""


class Uniform(Parameters):
    """Edges between vertices drawn uniformly; self-loops and duplicates occur."""

    vertices: Natural
    """Number of vertices."""
    edges: Natural | None = None
    """Number of edges; or give `degree`."""
    degree: Natural | None = None
    """Mean degree: half as many edges per vertex."""
    seed: Natural = 1
    """Equal seeds give equal graphs."""

    @model_validator(mode="after")
    def _one_count(self) -> Uniform:
        if (self.edges is None) == (self.degree is None):
            raise ValueError("exactly one of 'edges' and 'degree' is needed")
        return self


class Grid(Parameters):
    """A lattice of two or three dimensions."""

    dimensions: Annotated[tuple[Positive, ...], Field(min_length=2, max_length=3)]
    """Lengths of the sides, in vertices."""
    points: Natural | None = None
    """Of the stencil: 5 or 9 in two dimensions, 7 or 27 in three; the fewer by default."""


class Mesh(Parameters):
    """A triangulated plane: a lattice with a diagonal in each cell, either of the two by chance."""

    dimensions: Annotated[tuple[Positive, ...], Field(min_length=2, max_length=2)]
    """Lengths of the sides, in vertices."""
    seed: Natural = 1
    """Equal seeds give equal graphs."""


class IrregularGrid(Parameters):
    """A lattice with vertices of high degree added, as FlexBFS was measured on."""

    dimensions: Annotated[tuple[Positive, ...], Field(min_length=2, max_length=3)]
    """Lengths of the sides, in vertices."""
    share: Annotated[float, Field(ge=0, le=1)] = HUB_SHARE
    """Vertices added for each vertex of the lattice, at least one."""
    degree: Natural = HUB_DEGREE
    """Edges of each of them, to vertices of the lattice."""
    seed: Natural = 1
    """Equal seeds give equal graphs."""


class Communities(Parameters):
    """Nested communities with degrees by a power law, numbered as a crawl would: near pages are linked."""

    vertices: Annotated[int, Field(ge=2, strict=True)]
    """Number of vertices."""
    edges: Natural | None = None
    """Number of edges; or give `degree`."""
    degree: Natural | None = None
    """Mean degree: half as many edges per vertex."""
    exponent: Annotated[float, Field(gt=2)] = 2.5
    """Degrees d occur as d^-exponent."""
    sizes: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=16)] = COMMUNITY_SIZES
    """Vertices of a community of each level, innermost first: ascending powers of two."""
    mixing: Annotated[tuple[float, ...], Field(min_length=2, max_length=17)] = COMMUNITY_MIXING
    """Shares of the edges that stay within an innermost community, within one of the next level, and so on,
    up to the whole graph. They sum to 1."""
    run: Annotated[float, Field(ge=1, le=8)] = 2.0
    """Mean length of runs of consecutive numbers among a vertex's targets."""
    numbering: Literal["crawl", "random"] = "crawl"
    """`crawl` numbers communities one after the other, hubs first; `random` shuffles these numbers."""
    seed: Natural = 1
    """Equal seeds give equal graphs."""

    @model_validator(mode="after")
    def _one_count(self) -> Communities:
        if (self.edges is None) == (self.degree is None):
            raise ValueError("exactly one of 'edges' and 'degree' is needed")
        return self


class Some(Parameters):
    """A family of graphs that has one of each size."""

    vertices: Natural
    """Number of vertices."""


class GeneratorSource(Parameters):
    """One generator, by its name."""

    rmat: Rmat | None = None
    """Graph500's Kronecker graph: 2^scale vertices, `edge_factor` edges for each."""
    uniform: Uniform | None = None
    """Random pairs; self-loops and duplicates occur."""
    grid: Grid | None = None
    """A lattice of two or three dimensions."""
    mesh: Mesh | None = None
    """A triangulated plane: a lattice with a diagonal in each cell, either of the two by chance."""
    irregular_grid: IrregularGrid | None = None
    """A lattice with a few vertices of high degree, as FlexBFS was measured on."""
    communities: Communities | None = None
    """Nested communities with degrees by a power law, numbered as a crawl would: near pages are linked."""
    path: Some | None = None
    """Vertices in a row."""
    star: Some | None = None
    """One vertex joined to all others."""
    cycle: Some | None = None
    """Vertices in a ring."""
    complete: Some | None = None
    """Every pair joined."""
    empty: Some | None = None
    """No edge at all."""

    @model_validator(mode="after")
    def _check(self) -> GeneratorSource:
        from gravel.kernels.generate import size

        chosen = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(chosen) != 1:
            names = ", ".join(type(self).model_fields)
            found = " and ".join(chosen) or "none"
            raise ValueError(f"found {found}; a source is exactly one of {names}")
        size(chosen[0], **self.arguments())
        return self

    @property
    def name(self) -> str:
        """The generator's name."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    def arguments(self) -> dict[str, Any]:
        """Return the generator's parameters under the names that `gravel.kernels.generate` uses."""
        values: dict[str, Any] = getattr(self, self.name).model_dump()
        if "dimensions" in values:
            values["dims"] = list(values.pop("dimensions"))
        degree = values.pop("degree", None) if self.name in ("uniform", "communities") else None
        if degree is not None:
            values["edges"] = values["vertices"] * degree // 2
        return values


TABLE_BYTES = 1 << 19
"""Of the device: tables of `communities`, of at most 17 levels with bins for each of at most 48 octaves."""


def part_edges(memory: int, threads: int) -> int:
    """Edges made at once: two arrays of at most 8 bytes, a part for each thread and as many on their way."""
    return max(1 << 12, min(LARGEST_PART, memory // (64 * (threads + 1))))


def generated_parts(context: Context, source: GeneratorSource, memory: int) -> Iterator[tuple[Any, Any]]:
    """Yield source and target indices of all edges, in order, in parts made side by side."""
    from gravel.kernels.generate import size

    arguments = source.arguments()
    total = size(source.name, **arguments).edges
    part = part_edges(memory, context.machine.threads)
    items = [(source.name, arguments, first, min(part, total - first)) for first in range(0, total, part)]
    done = 0
    for edges in context.map(_make, items):
        done += len(edges[0])
        context.progress(done, total, "edges")
        yield edges


def generated_device_bytes(source: GeneratorSource) -> int:
    """Return the bytes that all edges take where a GPU makes them, 0 for generators without that."""
    from gravel.kernels.generate import ON_DEVICE, size

    if source.name not in ON_DEVICE:
        return 0
    vertices, edges = size(source.name, **source.arguments())
    return 2 * (4 if vertices < 1 << 32 else 8) * edges + table_device_bytes(source)


def table_device_bytes(source: GeneratorSource) -> int:
    """Return the bytes that a GPU takes beside the edges that it makes."""
    return TABLE_BYTES if source.name == "communities" else 0


def fits_device(source: GeneratorSource, machine: Machine) -> bool:
    """Say whether all edges can be made at once on the GPU of a machine."""
    return machine.backend == "cuda" and 0 < generated_device_bytes(source) <= machine.device_memory


def _make(item: tuple[str, dict[str, Any], int, int]) -> tuple[Any, Any]:
    from gravel.kernels.generate import generate

    name, arguments, first, count = item
    return generate(name, first=first, count=count, **arguments)
