"""Vertex orders: a permutation old -> new, its application to a graph, and what it does to the lists.

Permutations are deterministic, and the same on the CPU and on a GPU; `gravel.kernels.order.methods` lists
them.
"""

from __future__ import annotations

import importlib
from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.order.measured import OrderStatistics
from gravel.kernels.order.methods import METHODS, Method

__all__ = ["METHODS", "Method", "OrderStatistics", "apply", "permutation", "statistics"]


def permutation(method: str, row_offsets: Any, column_indices: Any, *, seed: int = 0, **tuning: Any) -> Any:
    """Compute an order of the vertices: `permutation[old] = new`, uint32 or uint64 (vertices,).

    The result is a CuPy array where `row_offsets` is one. A method without a CUDA implementation then reads
    copies on the host.

    Parameters
    ----------
    method : a name of `METHODS`.
    row_offsets : int64 (vertices + 1,), NumPy or CuPy.
    column_indices : uint32 or uint64 (arcs,), sorted lists; read where `METHODS[method].reads_columns`,
        else it may be None. Of a symmetric graph where `METHODS[method].symmetric`.
    seed : of "random".
    tuning : further arguments of the method's function.

    Raises ValueError for an unknown method.

    """
    if method not in METHODS:
        raise ValueError(f"unknown order {method!r}; there are {', '.join(METHODS)}")
    chosen = METHODS[method]
    arguments = [row_offsets, *([column_indices] if chosen.reads_columns else [])]
    on_device = backend_of(row_offsets) == "cuda"
    target = chosen.cuda if on_device and chosen.cuda else chosen.cpu
    moved = on_device and not chosen.cuda
    if moved:
        arguments = [each.get() for each in arguments]
    if chosen.seeded:
        arguments.append(seed)
    module, function = target.split(":")
    found = getattr(importlib.import_module(module), function)(*arguments, **tuning)
    return importlib.import_module("cupy").asarray(found) if moved else found


def apply(row_offsets: Any, column_indices: Any, permutation: Any) -> tuple[Any, Any]:
    """Renumber a graph: row_offsets and column_indices of the new numbering, lists sorted.

    `permutation[old] = new` must be a permutation of all vertices; it has the dtype of `column_indices`.
    """
    backend = backend_of(column_indices)
    module = importlib.import_module(
        "gravel.kernels.order.renumber_cuda" if backend == "cuda" else "gravel.kernels.order.renumber"
    )
    renumbered: tuple[Any, Any] = module.apply(row_offsets, column_indices, permutation)
    return renumbered


def statistics(row_offsets: Any, column_indices: Any, first_vertex: int = 0) -> OrderStatistics:
    """Measure what an order does to the lists, which are sorted.

    Row r belongs to vertex `first_vertex + r` and is column_indices[row_offsets[r] - row_offsets[0]:...], so
    that slices of a graph's arrays may be passed, NumPy's or CuPy's.
    """
    backend = backend_of(column_indices)
    module = importlib.import_module(
        "gravel.kernels.order.locality_cuda" if backend == "cuda" else "gravel.kernels.order.locality"
    )
    measured: OrderStatistics = module.statistics(row_offsets, column_indices, first_vertex)
    return measured
