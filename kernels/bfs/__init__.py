"""Breadth-first search: `prepare` a graph once, `run` it from many sources; `bfs` does both for one.

`prepare_rows` and `bfs_rows` take rows as they are stored, in any layout: each is decoded where it is read,
and kept nowhere. `gravel.kernels.bfs.strategies` is the table of strategies.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.bfs.choice import Choice, choose, choose_for_rows
from gravel.kernels.bfs.query import Query
from gravel.kernels.bfs.result import BatchResult, BatchSearch, BFSResult, Search
from gravel.kernels.strategy import Strategy, strategies_in

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

__all__ = [
    "BFSResult",
    "BatchResult",
    "BatchSearch",
    "Choice",
    "Query",
    "Search",
    "bfs",
    "bfs_rows",
    "choose",
    "choose_for_rows",
    "prepare",
    "prepare_rows",
]


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
        other integers are taken as `gravel.kernels.inputs.as_csr` does.
    strategy : a registered name, "auto", or what `choose` returned for this graph.
    output, symmetric, max_depth, statistics : as for `Query`.
    tuning : the strategy's own constants, for example `alpha` and `beta`.

    """
    query = Query(output=output, symmetric=symmetric, max_depth=max_depth, statistics=statistics)
    choice = strategy
    # Rows that are streamed may be anything that can be sliced.
    if "streamed" not in (choice, getattr(choice, "strategy", None)):
        from gravel.kernels.inputs import as_csr  # which imports NumPy

        row_offsets, column_indices = as_csr(row_offsets, column_indices)
    backend = backend_of(row_offsets)
    if isinstance(choice, str):
        choice = choose(row_offsets, column_indices, symmetric=symmetric, strategy=choice)
    chosen = strategies_in("gravel.kernels.bfs")[choice.strategy]
    graph: tuple[Any, ...] = row_offsets, column_indices
    if chosen.encoded:
        from gravel.kernels.layouts import columns_as_rows

        graph = (columns_as_rows(row_offsets, column_indices),)
    return _prepared(chosen, backend, choice, (*graph, query), tuning)


def prepare_rows(
    rows: EncodedRows, *, strategy: str | Choice = "auto", symmetric: bool, **options: Any
) -> Search:
    """Make rows ready for searches with one strategy, as they are stored.

    Parameters
    ----------
    rows : a square graph in one of `gravel.kernels.layouts.LAYOUTS`; the result lives where its arrays do, on
        the device if any of them is CuPy's.
    strategy : a strategy that reads encoded rows, "auto", or what `choose_for_rows` returned.
    symmetric, options : as for `prepare`: the other fields of the query, and the strategy's constants.

    Raises ValueError for a strategy that there is not, and for offsets that do not ascend.

    """
    from gravel.kernels.layouts import side_of
    from gravel.kernels.layouts.units import check_columns

    others = {each.name: options.pop(each.name) for each in fields(Query) if each.name in options}
    query = Query(symmetric=symmetric, **others)
    choice = strategy
    if isinstance(choice, str):
        choice = choose_for_rows(rows, symmetric=symmetric, strategy=choice)
    chosen, side = strategies_in("gravel.kernels.bfs")[choice.strategy], side_of(rows)
    check_columns(rows)
    return _prepared(chosen, side, choice, (rows, query), options)


def bfs(row_offsets: Any, column_indices: Any, source: int, *, symmetric: bool, **options: Any) -> BFSResult:
    """Search a CSR graph from one vertex; see `prepare` for the options."""
    return prepare(row_offsets, column_indices, symmetric=symmetric, **options).run(source)


def bfs_rows(rows: EncodedRows, source: int, *, symmetric: bool, **options: Any) -> BFSResult:
    """Search encoded rows from one vertex; see `prepare_rows` for the options."""
    return prepare_rows(rows, symmetric=symmetric, **options).run(source)


def _prepared(
    chosen: Strategy,
    side: str,
    choice: Choice,
    given: tuple[Any, ...],
    tuning: dict[str, Any],
) -> Search:
    search: Search = chosen.load(side)(*given, **tuning)
    search.strategy, search.reason = choice.strategy, choice.reason
    search.ran = chosen.ran(side, tuning, search)
    search.prepare_milliseconds += choice.milliseconds
    return search
