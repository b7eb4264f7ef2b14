"""Connected components: the label of a vertex is the smallest vertex of its component.

Arcs are taken as undirected, so a directed graph yields its weakly connected components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gravel.kernels.strategy import backend_of, strategies_in

__all__ = ["ComponentsResult", "components"]


TILES_FROM = 1 << 19
"""Vertices from which on components are found by tiles."""


@dataclass(frozen=True)
class ComponentsResult:
    """Labels (vertices,) of the dtype of `column_indices`, where the graph lives, and the time they took.

    `converged` is False where a strategy that does not finish the job left a component in parts; `passes`
    counts how often all arcs were looked at, where that is how a strategy works.
    """

    component: Any
    milliseconds: float
    strategy: str
    converged: bool = True
    passes: int | None = None


def default_on(backend: str, vertices: int) -> str:
    """Name the strategy that finds components soonest on "cpu" or "cuda".

    On an H200 tiles took 0.10, 0.29, 1.01 and 0.48 ms on Kronecker graphs of scale 22, 24 and 26 and on a
    grid of 25 M vertices, where plain Afforest took 0.26, 0.92, 3.23 and 2.6. With fewer than `TILES_FROM`
    vertices they gain nothing (0.039 and 0.037 on Kronecker 18, 0.35 and 0.18 on cnr-2000), nor do they on
    USA-road-NE (0.27 and 0.20), which nothing here tells from grids of its size.
    """
    return "afforest_tiles" if backend == "cuda" and vertices >= TILES_FROM else "afforest"


def components(
    row_offsets: Any, column_indices: Any, *, symmetric: bool, strategy: str = "auto", **tuning: Any
) -> ComponentsResult:
    """Label every vertex of a CSR graph with the smallest vertex of its component.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,), NumPy or CuPy.
    column_indices : uint32 or uint64 (arcs,), ascending within rows. Arrays of other libraries and other
        integers are taken as `gravel.kernels.inputs.sides` does; "streamed" takes what can be sliced.
    symmetric : whether every arc has its reverse, which lets a strategy skip half of the work.
    strategy : a name from this package, or "auto" (Afforest, by `default_on`).

    """
    known = strategies_in("gravel.kernels.components")
    if strategy not in known and strategy != "auto":
        raise ValueError(f"unknown components strategy {strategy!r}; there are {', '.join(sorted(known))}")
    if strategy != "streamed":
        from gravel.kernels.inputs import sides  # which imports NumPy

        row_offsets, column_indices = sides(row_offsets, column_indices)
    name = default_on(backend_of(row_offsets), len(row_offsets) - 1) if strategy == "auto" else strategy
    run = known[name].load(backend_of(row_offsets))
    result: ComponentsResult = run(row_offsets, column_indices, symmetric=symmetric, **tuning)
    return result
