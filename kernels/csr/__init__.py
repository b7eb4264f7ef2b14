"""Edges into compressed sparse rows: sorted, with duplicates and self-loops kept or removed.

NumPy arrays are built on the CPU (`gravel.kernels.csr.rows`), CuPy arrays on the GPU
(`gravel.kernels.csr.cuda`), with the same result.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from gravel.kernels.arrays import backend_of

__all__ = ["DIRECTIONS", "Choice", "Rows", "build", "degrees"]

DIRECTIONS = ("both", "as_given", "reverse")


class Rows(NamedTuple):
    """The rows of vertices `first_vertex` to `last_vertex`, where the edges live.

    `row_offsets` is int64 (rows + 1,) and starts at 0; `column_indices` (arcs,) has the dtype of the edges;
    `loop_count` counts the arcs v -> v that were kept.
    """

    row_offsets: Any
    column_indices: Any
    loop_count: int


class Choice(NamedTuple):
    """Which arcs edges make, and of which vertices the rows are built; see `build`."""

    direction: str = "both"
    keep_duplicates: bool = False
    keep_loops: bool = False
    first_vertex: int = 0
    last_vertex: int = 0


def _module(array: Any) -> Any:
    return importlib.import_module(
        "gravel.kernels.csr.cuda" if backend_of(array) == "cuda" else "gravel.kernels.csr.rows"
    )


def build(
    source: Any,
    target: Any,
    vertex_count: int,
    *,
    direction: str = "both",
    keep_duplicates: bool = False,
    keep_loops: bool = False,
    first_vertex: int = 0,
    last_vertex: int | None = None,
) -> Rows:
    """Build the sorted rows of vertices first_vertex <= v < last_vertex (all by default).

    Parameters
    ----------
    source, target : uint32 or uint64 (edges,), NumPy or CuPy, both alike.
    vertex_count : every index is below it.
    direction : "as_given" makes the arc source -> target of each edge, "reverse" the arc target -> source,
        "both" the two of them. A self-loop makes one arc in every direction.
    keep_duplicates : keep arcs that occur more than once as often as they occur.
    keep_loops : keep arcs v -> v.

    Raises ValueError for unequal lengths, a vertex outside 0..vertex_count-1, an unknown direction or a
    range outside the vertices.

    """
    vertex_count = int(vertex_count)
    last_vertex = vertex_count if last_vertex is None else last_vertex
    choice = Choice(direction, keep_duplicates, keep_loops, first_vertex, last_vertex)
    _check(source, target, vertex_count, choice)
    rows: Rows = _module(source).build(source, target, vertex_count, choice)
    return rows


def degrees(
    source: Any,
    target: Any,
    vertex_count: int,
    *,
    direction: str = "both",
    keep_loops: bool = False,
    out: Any = None,
) -> Any:
    """Count the arcs that `build` would start from, duplicates included: int64 (vertex_count,).

    With `out`, counts are added to it, so that edges may come in parts. Raises ValueError as `build` does.
    """
    choice = Choice(direction, keep_loops=keep_loops, last_vertex=vertex_count)
    _check(source, target, vertex_count, choice)
    return _module(source).degrees(source, target, choice, out)


def _check(source: Any, target: Any, vertex_count: int, choice: Choice) -> None:
    if choice.direction not in DIRECTIONS:
        raise ValueError(f"direction is {choice.direction!r}; it can be {', '.join(DIRECTIONS)}")
    if source.shape != target.shape or source.ndim != 1:
        raise ValueError(
            f"source has shape {source.shape}, target {target.shape}; they must be alike and flat"
        )
    if source.dtype != target.dtype:
        raise ValueError(f"source is {source.dtype}, target {target.dtype}; they must be alike")
    first, last = choice.first_vertex, choice.last_vertex
    if not 0 <= first <= last <= vertex_count:
        raise ValueError(f"rows {first} to {last} were asked for; there are {vertex_count} vertices")
