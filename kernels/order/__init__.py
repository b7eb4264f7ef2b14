"""Vertex orders: a permutation old -> new, its application to a graph, and what it does to the lists.

Permutations are deterministic. CuPy graphs are ordered by degree and renumbered on the GPU
(`kernels.order.cuda`), with the result of the CPU.
"""

from __future__ import annotations

import importlib
from typing import Any

from kernels.order.locality import OrderStatistics, statistics
from kernels.strategy import backend_of

__all__ = ["METHODS", "OrderStatistics", "apply", "permutation", "statistics"]

METHODS = ("original", "random", "degree", "rcm")


def permutation(method: str, row_offsets: Any, column_indices: Any, *, seed: int = 0) -> Any:
    """Compute an order of the vertices: `permutation[old] = new`, uint32 or uint64 (vertices,).

    Parameters
    ----------
    method : "original" keeps the numbering, "random" shuffles it by `seed`, "degree" puts high degrees
        first and equal ones by vertex, "rcm" is reverse Cuthill-McKee (the graph must be symmetric).
    row_offsets : int64 (vertices + 1,), NumPy; CuPy too for "degree".
    column_indices : uint32 or uint64 (arcs,), sorted lists; only "rcm" reads them.

    Raises ValueError for an unknown method.

    """
    if method not in METHODS:
        raise ValueError(f"unknown order {method!r}; there are {', '.join(METHODS)}")
    if method == "degree" and backend_of(row_offsets) == "cuda":
        return importlib.import_module("kernels.order.cuda").degree(row_offsets)
    if method == "rcm":
        return importlib.import_module("kernels.order.rcm").rcm(row_offsets, column_indices)
    module = importlib.import_module(f"kernels.order.{method}")
    compute = getattr(module, method)
    return compute(row_offsets, seed) if method == "random" else compute(row_offsets)


def apply(row_offsets: Any, column_indices: Any, permutation: Any) -> tuple[Any, Any]:
    """Renumber a graph: row_offsets and column_indices of the new numbering, lists sorted.

    `permutation[old] = new` must be a permutation of all vertices; it has the dtype of `column_indices`.
    """
    backend = backend_of(column_indices)
    module = importlib.import_module("kernels.order.cuda" if backend == "cuda" else "kernels.order.renumber")
    renumbered: tuple[Any, Any] = module.apply(row_offsets, column_indices, permutation)
    return renumbered
