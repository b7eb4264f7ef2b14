"""Breadth-first search: `prepare` a graph once, `run` it from many sources; `bfs` does both for one.

`gravel.kernels.bfs.strategies` is the table of strategies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gravel.kernels.bfs.choice import Choice, choose
from gravel.kernels.bfs.result import BatchResult, BatchSearch, BFSResult, Search
from gravel.kernels.strategy import backend_of, strategies_in
from gravel.kernels.tuned import applied

__all__ = ["BFSResult", "BatchResult", "BatchSearch", "Choice", "Search", "bfs", "choose", "prepare"]


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    strategy: str | Choice = "auto",
    output: str = "both",
    symmetric: bool,
    max_depth: int | None = None,
    statistics: bool = False,
    **tuning: Any,
) -> Search:
    """Make a CSR graph ready for searches with one strategy.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,), NumPy or CuPy; the result lives on the same side.
    column_indices : uint32 or uint64 (arcs,); lists must be sorted ascending. Arrays of other libraries and
        other integers are taken as `gravel.kernels.inputs.sides` does.
    strategy : a registered name, "auto", or what `choose` returned for this graph.
    output : "distance", "predecessor" or "both".
    symmetric : whether every arc has its reverse.
    max_depth : do not expand beyond this distance.
    statistics : count the arcs that every level gathers, where the strategy can (`Strategy.counts`).
    tuning : the strategy's own constants, for example `alpha` and `beta`. Others are as this machine measured
        them (`gravel.kernels.tuned`), else by default.

    """
    if output not in ("distance", "predecessor", "both"):
        raise ValueError(f"output is {output!r}; it can be 'distance', 'predecessor' or 'both'")
    choice = strategy
    # Rows that are streamed may be anything that can be sliced.
    if "streamed" not in (choice, getattr(choice, "strategy", None)):
        from gravel.kernels.inputs import sides  # which imports NumPy

        row_offsets, column_indices = sides(row_offsets, column_indices)
    backend = backend_of(row_offsets)
    if isinstance(choice, str):
        choice = choose(row_offsets, column_indices, symmetric=symmetric, strategy=choice)
    chosen = strategies_in("gravel.kernels.bfs")[choice.strategy]
    if statistics and backend in chosen.counts:
        tuning["statistics"] = True
    measured = applied(choice.strategy, backend)
    constants = {**measured.values, **tuning}
    search: Search = chosen.load(backend)(
        row_offsets, column_indices, output=output, symmetric=symmetric, max_depth=max_depth, **constants
    )
    search.strategy, search.reason = choice.strategy, choice.reason
    search.ran = replace(chosen.ran(backend, constants, search), tuned=measured.record(tuning))
    search.prepare_milliseconds += choice.milliseconds
    return search


def bfs(row_offsets: Any, column_indices: Any, source: int, *, symmetric: bool, **options: Any) -> BFSResult:
    """Search a CSR graph from one vertex; see `prepare` for the options."""
    return prepare(row_offsets, column_indices, symmetric=symmetric, **options).run(source)
