"""Connected components: the label of a vertex is the smallest vertex of its component.

Arcs are taken as undirected, so a directed graph yields its weakly connected components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.strategy import backend_of, strategies_in

__all__ = ["ComponentsResult", "components"]


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


def components(
    row_offsets: Any, column_indices: Any, *, symmetric: bool, strategy: str = "auto", **tuning: Any
) -> ComponentsResult:
    """Label every vertex of a CSR graph with the smallest vertex of its component.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,), NumPy or CuPy.
    column_indices : uint32 or uint64 (arcs,), ascending within rows. Arrays of other libraries and other
        integers are taken as `kernels.inputs.sides` does; "streamed" takes what can be sliced.
    symmetric : whether every arc has its reverse, which lets a strategy skip half of the work.
    strategy : a name from this package, or "auto" (Afforest).

    """
    known = strategies_in("kernels.components")
    name = "afforest" if strategy == "auto" else strategy
    if name not in known:
        raise ValueError(f"unknown components strategy {name!r}; there are {', '.join(sorted(known))}")
    if name != "streamed":
        from kernels.inputs import sides  # which imports NumPy

        row_offsets, column_indices = sides(row_offsets, column_indices)
    run = known[name].load(backend_of(row_offsets))
    result: ComponentsResult = run(row_offsets, column_indices, symmetric=symmetric, **tuning)
    return result
