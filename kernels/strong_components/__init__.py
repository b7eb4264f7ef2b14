"""Strongly connected components: the label of a vertex is the smallest vertex of its component.

Two vertices are in one component if each reaches the other along the arcs.
"""

from __future__ import annotations

from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.components import ComponentsResult
from gravel.kernels.strategy import strategies_in

__all__ = ["PACKAGE", "default_on", "strong_components"]

PACKAGE = "gravel.kernels.strong_components"


def default_on(backend: str) -> str:
    """Name the strategy for "cpu" or "cuda"."""
    return "forward_backward" if backend == "cuda" else "tarjan"


def strong_components(
    row_offsets: Any,
    column_indices: Any,
    back_offsets: Any = None,
    back_columns: Any = None,
    *,
    strategy: str = "auto",
    **tuning: Any,
) -> ComponentsResult:
    """Label every vertex of a CSR graph with the smallest vertex of its strongly connected component.

    Parameters
    ----------
    row_offsets, column_indices : rows of successors, int64 (vertices + 1,) and uint32 or uint64 (arcs,),
        NumPy or CuPy. Parallel arcs and loops are allowed.
    back_offsets, back_columns : rows of predecessors, on the same side; those of an undirected graph are the
        same. They are made where a strategy needs them and they are not given, which is not timed.
    strategy : a name from this package, or "auto" (by `default_on`).

    Raises ValueError for an unknown strategy and for rows that are not of one graph.

    """
    known = strategies_in(PACKAGE)
    if strategy not in known and strategy != "auto":
        raise ValueError(
            f"unknown strategy {strategy!r} of strong components; there are {', '.join(sorted(known))}"
        )
    backend = backend_of(column_indices)
    name = default_on(backend) if strategy == "auto" else strategy
    run = known[name].load(backend)
    rows = row_offsets, column_indices
    if name == "tarjan":
        return run(*rows, **tuning)  # type: ignore[no-any-return]
    if back_offsets is None:
        from gravel.kernels.csr.reversed import reversed_rows

        back_offsets, back_columns, _ = reversed_rows(*rows)
    if len(row_offsets) != len(back_offsets) or len(column_indices) != len(back_columns):
        raise ValueError(
            f"there are {len(row_offsets) - 1} rows with {len(column_indices)} successors, and "
            f"{len(back_offsets) - 1} with {len(back_columns)} predecessors; both are of one graph"
        )
    return run(*rows, back_offsets, back_columns, **tuning)  # type: ignore[no-any-return]
