"""Graphs and settings in which racing claims are culled."""

from __future__ import annotations

from typing import Any

from gravel.kernels.csr import build
from gravel.kernels.generate import generate

SETTINGS: dict[str, Any] = {"claim": "racing", "tiles": "runs", "blocks": 14}
"""As in workflows/papers/merrill_culling.yaml."""

CULLINGS = {
    "off": {"warp_culling": False, "history_culling": False},
    "warp": {"warp_culling": True, "history_culling": False},
    "history": {"warp_culling": False, "history_culling": True},
    "both": {"warp_culling": True, "history_culling": True},
}

BOUND = 1.05

SPATIAL = ("grid7", "grid5", "mesh", "road")
"""Graphs whose duplicates lie together, so that without culling many are found more than once."""


def edges(name: str, size: int) -> tuple[Any, Any, int]:
    """Make a graph of about 2^size vertices: source, target and how many vertices."""
    side, cube = round(2 ** (size / 2)), round(2 ** (size / 3))
    if name == "grid7":
        return (*generate("grid", dims=(cube, cube, cube)), cube**3)
    if name == "grid5":
        return (*generate("grid", dims=(side, side)), side * side)
    if name == "mesh":
        return (*generate("mesh", dims=(side, side), seed=1), side * side)
    if name == "road":
        # A long mesh, as in the workflow: of as many levels as a road has.
        long, width = 8 * side, max(2, side // 8)
        return (*generate("mesh", dims=(long, width), seed=2), long * width)
    if name == "uniform":
        return (*generate("uniform", vertices=1 << size, edges=16 << size, seed=1), 1 << size)
    return (
        *generate("rmat", scale=size, edge_factor=16, seed=1, a=0.45, b=0.15, c=0.15, backend="cpu"),
        1 << size,
    )


NAMES = ("grid7", "grid5", "mesh", "road", "uniform", "rmat")


def rows_of(name: str, size: int) -> tuple[Any, Any]:
    """Rows of that graph, both directions of every edge."""
    source, target, vertices = edges(name, size)
    built = build(source, target, vertices)
    return built.row_offsets, built.column_indices


def factor(search: Any, degrees: Any, sources: Any) -> float:
    """Divide the arcs that searches gathered by those of the vertices that they reached."""
    gathered = logical = 0
    for source in sources:
        result = search.run(int(source))
        gathered += sum(result.expanded)
        logical += int(degrees[result.distance >= 0].sum())
    return gathered / logical
