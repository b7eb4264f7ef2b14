"""Breadth-first search on rows as they are stored: each is decoded where it is read, and kept nowhere.

`prepare` takes `gravel.kernels.layouts.EncodedRows` in any layout; strategies are named as those of
`gravel.kernels.bfs` that search columns in the same way, and what comes back is the same, predecessors
included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.choice import Choice
from gravel.kernels.bfs.result import BFSResult, Search
from gravel.kernels.strategy import ENCODED, backend_of, strategies_in

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

__all__ = ["bfs", "choose", "prepare", "side_of"]


def prepare(
    rows: EncodedRows,
    *,
    strategy: str | Choice = "auto",
    output: str = "both",
    symmetric: bool,
    max_depth: int | None = None,
    **tuning: Any,
) -> Search:
    """Make encoded rows ready for searches with one strategy.

    Parameters
    ----------
    rows : a square graph in one of `gravel.kernels.layouts.LAYOUTS`; the result lives where its arrays do, on
        the device if any of them is CuPy's.
    strategy : a strategy of this package, "auto", or what `choose` returned.
    output, symmetric, max_depth, tuning : as for `gravel.kernels.bfs.prepare`.

    Raises ValueError for a strategy that there is not, and for offsets that do not ascend.

    """
    if output not in ("distance", "predecessor", "both"):
        raise ValueError(f"output is {output!r}; it can be 'distance', 'predecessor' or 'both'")
    choice = choose(symmetric=symmetric, strategy=strategy) if isinstance(strategy, str) else strategy
    chosen, side = strategies_in("gravel.kernels.bfs", ENCODED)[choice.strategy], side_of(rows)
    search: Search = chosen.load(side)(
        rows, output=output, symmetric=symmetric, max_depth=max_depth, **tuning
    )
    search.strategy, search.reason = choice.strategy, choice.reason
    search.ran = chosen.ran(side, tuning, search)
    return search


def bfs(rows: EncodedRows, source: int, *, symmetric: bool, **options: Any) -> BFSResult:
    """Search encoded rows from one vertex; see `prepare` for the options."""
    return prepare(rows, symmetric=symmetric, **options).run(source)


def side_of(rows: EncodedRows) -> str:
    """`cuda` where an array of the rows is CuPy's, else `cpu`."""
    return "cuda" if any(backend_of(array) == "cuda" for array in rows.arrays.values()) else "cpu"


def choose(*, symmetric: bool, strategy: str = "auto") -> Choice:
    """Name the strategy that `auto` stands for on encoded rows, and why; a given name is checked and kept.

    Raises ValueError for a name that does not search encoded rows, or not those of a directed graph.
    """
    known = strategies_in("gravel.kernels.bfs", ENCODED)
    if strategy == "auto":
        if symmetric:
            reason = "the graph is symmetric, so levels that pay for it may be searched bottom-up"
            return Choice("direction_optimizing", reason, 0.0)
        return Choice("top_down", "the graph is directed, so only out-neighbours are known", 0.0)
    if strategy not in known:
        raise ValueError(
            f"strategy {strategy!r} does not search encoded rows; there are {', '.join(sorted(known))}"
        )
    if not symmetric and not known[strategy].directed:
        raise ValueError(f"strategy {strategy!r} needs a symmetric graph")
    return Choice(strategy, "asked for", 0.0)
