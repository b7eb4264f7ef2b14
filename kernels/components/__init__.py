"""Connected components: the label of a vertex is the smallest vertex of its component.

Arcs are taken as undirected, so a directed graph yields its weakly connected components. Rows come as
columns, or encoded in any layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gravel.kernels.arrays import backend_of
from gravel.kernels.strategy import ENCODED, strategies_in

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

__all__ = ["ComponentsResult", "RowComponents", "components", "components_of_rows", "prepare_rows"]


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


class RowComponents(Protocol):
    """Rows made ready, whose components may be found any number of times."""

    prepare_milliseconds: float

    def run(self) -> ComponentsResult:
        """Find the components; the labels are valid until the next call."""
        ...


class Ready:
    """Rows that a function finds the components of, with nothing to make ready before it."""

    prepare_milliseconds = 0.0

    def __init__(self, find: Callable[[], ComponentsResult]) -> None:
        self._find = find

    def run(self) -> ComponentsResult:
        """Find the components."""
        return self._find()


def refuse_giant(giant: str) -> None:
    """Raise ValueError for no way to choose the component whose arcs are skipped."""
    if giant not in ("sampled", "first"):
        raise ValueError(f"giant is {giant!r}; it must be sampled or first")


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
        integers are taken as `gravel.kernels.inputs.as_csr` does; "streamed" takes what can be sliced.
    symmetric : whether every arc has its reverse, which lets a strategy skip half of the work.
    strategy : a name from this package, or "auto" (Afforest, by `default_on`).

    """
    known = strategies_in("gravel.kernels.components")
    if strategy not in known and strategy != "auto":
        raise ValueError(f"unknown components strategy {strategy!r}; there are {', '.join(sorted(known))}")
    if strategy != "streamed":
        from gravel.kernels.inputs import as_csr  # which imports NumPy

        row_offsets, column_indices = as_csr(row_offsets, column_indices)
    name = default_on(backend_of(row_offsets), len(row_offsets) - 1) if strategy == "auto" else strategy
    run = known[name].load(backend_of(row_offsets))
    if known[name].encoded:
        from gravel.kernels.layouts import columns_as_rows

        made: RowComponents = run(columns_as_rows(row_offsets, column_indices), symmetric=symmetric, **tuning)
        return made.run()
    result: ComponentsResult = run(row_offsets, column_indices, symmetric=symmetric, **tuning)
    return result


def prepare_rows(
    rows: EncodedRows, *, symmetric: bool, strategy: str = "afforest", **tuning: Any
) -> RowComponents:
    """Make rows ready as they are stored: each is decoded where it is read, and kept nowhere.

    Parameters
    ----------
    rows : a square graph in one of `gravel.kernels.layouts.LAYOUTS`; labels live where its arrays do.
    symmetric : whether every arc has its reverse.
    strategy : one that reads encoded rows, of which `streamed` takes any array that can be sliced.
    tuning : as the strategy's function takes it.

    Raises ValueError for a name that is none, for a value that a parameter cannot have, and on the CPU for
    bytes that are no rows.

    """
    from gravel.kernels.layouts import side_of
    from gravel.kernels.layouts.units import check_columns

    known = strategies_in("gravel.kernels.components", ENCODED)
    if strategy not in known:
        raise ValueError(f"strategy {strategy!r} does not read encoded rows; there are {', '.join(known)}")
    check_columns(rows)
    search: RowComponents = known[strategy].load(side_of(rows))(rows, symmetric=symmetric, **tuning)
    return search


def components_of_rows(rows: EncodedRows, *, symmetric: bool, **tuning: Any) -> ComponentsResult:
    """Label every vertex of encoded rows with the smallest of its component, once; see `prepare_rows`."""
    return prepare_rows(rows, symmetric=symmetric, **tuning).run()
