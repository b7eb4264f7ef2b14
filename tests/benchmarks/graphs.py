"""Graphs of benchmarks by name, made where they are searched or read from files, and sources in them.

- `kron22`: a Graph500 graph of scale 22 with 16 edges a vertex; `rmat22:4` has 4
- `random20:3`: 2^20 vertices with 3 edges each between any two; `uniform`: 2^21 with 67 million edges
- `path1000`, `grid1000`, `mesh1000` (a grid with one diagonal), `scattered1000` (a grid numbered at random)
- `lattice100`, `box100`: a cube of side 100 with 7 or 27 points
- any other name: a file that `ingest` reads, also of `../shared/data`

An order behind a name numbers the vertices so: `kron22:degree`.
"""

from __future__ import annotations

import itertools
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy

from gravel.kernels import csr, order
from gravel.kernels.generate import generate
from tests.zoo import DATA

Edges = tuple[Any, Any, int]
"""Source, target, and how many vertices there are."""

STEPS: dict[str, list[tuple[int, ...]]] = {
    "path": [(1,)],
    "grid": [(0, 1), (1, 0)],
    "scattered": [(0, 1), (1, 0)],
    "mesh": [(0, 1), (1, 0), (1, 1)],
    "lattice": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "box": [step for step in itertools.product((-1, 0, 1), repeat=3) if step > (0, 0, 0)],
}
"""Directions in which vertices of a lattice are joined."""

_NAME = re.compile(r"([a-z]+)(\d*)(?::(\d+))?")


def edges_of(name: str, backend: str = "cuda") -> Edges:
    """Make or read the edges of a graph without an order."""
    xp: Any = import_module("cupy" if backend == "cuda" else "numpy")
    found = _NAME.fullmatch(name)
    kind, size, factor = found.groups() if found else ("", "", "")
    if kind in ("kron", "rmat"):
        asked = {"scale": int(size), "edge_factor": int(factor or 16), "seed": 1}
        return *generate("rmat", **asked, backend=backend), 1 << int(size)
    if kind == "random":
        n = 1 << int(size)
        pairs = numpy.random.default_rng(1).integers(0, n, (2, n * int(factor or 16))).astype(numpy.uint32)
        return *map(xp.asarray, pairs), n
    if kind == "uniform":
        xp.random.seed(1)
        return *xp.random.randint(0, 1 << 21, (2, 67_000_000), dtype=xp.uint32), 1 << 21
    if kind in STEPS:
        return _lattice(xp, int(size or 5000), STEPS[kind], scattered=kind == "scattered")
    return _edges_of_file(xp, name)


def _lattice(xp: Any, side: int, steps: list[tuple[int, ...]], *, scattered: bool) -> Edges:
    dimensions = len(steps[0])
    at = xp.arange(side**dimensions, dtype=xp.uint32)
    if scattered:
        xp.random.seed(1)
        at = xp.random.permutation(len(at)).astype(xp.uint32)
    at = at.reshape((side,) * dimensions)
    pairs = []
    for step in steps:
        near = tuple(slice(max(0, -each), side - max(0, each)) for each in step)
        far = tuple(slice(max(0, each), side - max(0, -each)) for each in step)
        pairs.append((at[near].ravel(), at[far].ravel()))
    return *(xp.concatenate(ends) for ends in zip(*pairs, strict=True)), at.size


def _edges_of_file(xp: Any, name: str) -> Edges:
    from gravel.stages.ingest import read_edges

    edges, _ = read_edges(str(name if Path(name).exists() else DATA / name))
    return *(xp.asarray(numpy.asarray(ends)) for ends in (edges.source, edges.target)), edges.vertex_count


def rows_of(name: str, backend: str = "cuda", *, direction: str = "both") -> tuple[Any, Any]:
    """Make the row offsets and columns of a graph, in its order."""
    base, _, method = name.rpartition(":")
    if not base or method.isdecimal():
        base, method = name, ""
    source, target, vertices = edges_of(base, backend)
    built = csr.build(source, target, vertices, direction=direction)
    del source, target
    rows = built.row_offsets, built.column_indices
    del built
    if method:
        rows = order.apply(*rows, order.permutation(method, *rows))
    return rows


def sources_of(row_offsets: Any, count: int) -> list[int]:
    """Draw at most so many vertices that have arcs."""
    degrees = numpy.diff(row_offsets if isinstance(row_offsets, numpy.ndarray) else row_offsets.get())
    with_arcs = numpy.flatnonzero(degrees)
    found = numpy.random.default_rng(7).choice(with_arcs, min(count, len(with_arcs)), replace=False)
    return list(map(int, found))
