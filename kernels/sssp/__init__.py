"""Single-source shortest paths over weighted rows: distances and a tree of predecessors.

Weights are uint32, int32 or float32, none of them negative, NaN or infinite. Distances of integers are exact:
int32 where every path fits, else int64, with -1 for unreached. Those of float32 weights are float64, with
inf for unreached: each is the smallest of all paths' sums, added up from the source on, so that every
strategy finds the same.

The predecessor of a vertex is its smallest among those that are strictly nearer to the source. A vertex that
only arcs of length zero reach has none: it gets the smallest of the equally near vertices that have theirs by
the fewest such arcs. So predecessors form a tree whatever the weights, and do not differ between runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from gravel.kernels.arrays import backend_of
from gravel.kernels.strategy import Ran, strategies_in

__all__ = ["SSSPResult", "ShortestPaths", "prepare", "sssp"]


@dataclass(frozen=True)
class SSSPResult:
    """One search. The arrays live where the graph lives, in the graph's numbering, and are the caller's.

    `distance` is int32, int64 or float64 (vertices,), -1 or inf for unreached. `predecessor` is int32 below
    2^31 vertices, else int64, -1 for the source and unreached vertices; None where it was not asked for.
    `rounds` counts the frontiers that were expanded, None where there are none.
    """

    source: int
    distance: Any
    predecessor: Any | None
    milliseconds: float
    rounds: int | None = None


class ShortestPaths(Protocol):
    """Weighted rows made ready for many searches."""

    strategy: str
    reason: str
    prepare_milliseconds: float
    ran: Ran

    def run(self, source: int) -> SSSPResult:
        """Search from one vertex; raises ValueError for one that is not in the graph."""
        ...


def prepare(
    row_offsets: Any,
    column_indices: Any,
    weights: Any,
    *,
    strategy: str = "auto",
    predecessor: bool = True,
    symmetric: bool | None = None,
    **tuning: Any,
) -> ShortestPaths:
    """Check weighted rows and make them ready.

    Parameters
    ----------
    row_offsets, column_indices : int64 (vertices + 1,) and uint32 or uint64 (arcs,), NumPy or CuPy. Rows need
        not ascend; parallel arcs and loops are allowed.
    weights : uint32, int32 or float32 (arcs,), where the rows are.
    strategy : a name from this package, or "auto" (delta-stepping).
    predecessor : whether the tree is wanted.
    symmetric : whether every arc has one back with its weight. By default a CPU compares each arc with the
        one back, in rows that ascend, where that pays; a GPU takes the rows for directed ones.

    Raises ValueError for arrays that do not belong together, for a weight that is negative, NaN or infinite,
    naming its arc, for paths that may be longer than int64 holds, and for an unknown strategy or constant.

    """
    from gravel.kernels.sssp.weights import checked

    known = strategies_in("gravel.kernels.sssp")
    if strategy not in known and strategy != "auto":
        raise ValueError(f"unknown sssp strategy {strategy!r}; there are {', '.join(sorted(known))}")
    chosen = known["delta_stepping" if strategy == "auto" else strategy]
    backend = backend_of(column_indices)
    weighted = checked(row_offsets, column_indices, weights, symmetric)
    search: ShortestPaths = chosen.load(backend)(weighted, predecessor=predecessor, **tuning)
    search.strategy = chosen.name
    search.reason = "it is the default" if strategy == "auto" else "asked for"
    search.ran = chosen.ran(backend, tuning, search)
    return search


def sssp(row_offsets: Any, column_indices: Any, weights: Any, source: int, **options: Any) -> SSSPResult:
    """Search once; see `prepare` for the parameters and `SSSPResult` for what is found."""
    return prepare(row_offsets, column_indices, weights, **options).run(source)
