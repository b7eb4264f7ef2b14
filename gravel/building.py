"""`gravel.graph`: a graph from whatever holds one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from gravel.conversion.converted import Edges, Rows
from gravel.graphs import Graph
from gravel.memory import refuse, this_machine, usable_backend
from gravel.out_of_memory import memory_errors
from gravel.weighted import MERGES, checked_weights, from_weighted, kept_weights, weighted_edges

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from gravel.stages.sizes import Machine

SMALLER = "Use a machine with more memory, fewer edges, or a workflow, which builds graphs in parts"


@memory_errors
def graph(
    data: Any,
    *,
    directed: bool | None = None,
    source: Hashable | None = None,
    target: Hashable | None = None,
    weights: Any = None,
    delimiter: str | None = None,
    header: bool | None = None,
    comment: str | None = None,
    filter: str | None = None,  # noqa: A002
    ids: Literal["auto", "integer", "text"] | None = None,
    format: str | None = None,  # noqa: A002
    cache: str | os.PathLike[str] | Literal[False] | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
    host_memory: str | int | None = None,
    duplicates: Literal["minimum", "sum", "error"] = "minimum",
) -> Graph:
    """Make a graph; its vertices keep the ids that the data has.

    Parameters
    ----------
    data : two lists or arrays of ends `(sources, targets)`, an array of two columns or a list of pairs; a
        table of pandas, Polars, DuckDB, cuDF or PyArrow, or anything with the Arrow PyCapsule interface; a
        sparse matrix of SciPy or CuPy; a graph of NetworkX; arrays of CuPy, or any that speak DLPack; or the
        path or URL of a file that `ingest` reads, or a list of paths, a folder or a pattern of many files
        that are one graph. Ids are integers, strings, UUIDs, dates or times.
    directed : whether an edge leads from source to target alone. By default as the data says (NetworkX does),
        else False.
    source, target : the columns of a table that hold the ends, or of a file's; a whole number is a column's
        label in a table, and a position from 1 in a text file. Columns with the usual names, such as `source`
        and `target`, or the only two need not be named.
    weights : of the edges, for `shortest_paths`: a column, NetworkX's attribute or an array of one number for
        each edge; True for the column that is known as the weight, NetworkX's "weight", or the values of a
        sparse matrix. False reads a file without them. Integers of 32 bits are kept, others become float32.
    delimiter, header, comment, ids, format : of a file, as in `ingest`.
    filter : which rows of a table or file are edges, such as "kind == 'paid' and amount > 0".
    cache : for a path or URL, the cache's folder or URL, by default the one that the command uses: the file
        is read once, and a workflow that reads it shares the result. False reads the file without a cache.
    backend : "cuda" builds and searches the graph on a GPU; "auto" does so where there is one.
    host_memory : how much may be used, such as "8GiB"; by default what the machine has.
    duplicates : the weight of an edge that occurs more than once; with "error" its weights must be equal.

    Duplicate edges and self-loops are removed. The graph has memory of its own: changing the data afterwards
    does not change it. Raises TypeError and ValueError for data that holds no ids or no edges, or has no use
    for an argument, KeyError for a column that is not there, and NotEnoughMemory, before anything is
    allocated, for what cannot fit.
    """
    if duplicates not in MERGES:
        raise ValueError(f"duplicates is {duplicates!r}; it can be {', '.join(MERGES)}")
    of_columns = _given(source=source, target=target, filter=filter)
    of_files = _given(delimiter=delimiter, header=header, comment=comment, ids=ids, format=format)
    if isinstance(data, str | os.PathLike | list) and (paths := _paths(data)):
        from gravel.files import from_path, of_ingest

        asked_of_file = of_ingest(weights, of_columns | of_files)
        merge = duplicates if _weighted(weights, duplicates) else None
        return from_path(
            paths, bool(directed), cache, _backend(backend, data), host_memory, merge, asked_of_file
        )
    weighted = _weighted(weights, duplicates)
    if isinstance(data, Graph):
        _refuse(
            data, of_columns | of_files | _given(directed=directed, weights=weights if weighted else None)
        )
        return data
    from gravel.conversion import arrow

    table = arrow.is_table(data)
    _refuse(data, of_files | _given(cache=cache or None) | ({} if table else of_columns))
    machine = this_machine(_backend(backend, data), host_memory)
    count = _edge_count(data)
    if count:
        # Numbered ends and the rows of both directions; the ids come on top when they are known.
        refuse(f"a graph of {count:,} edges", 16 * count, machine, host_memory, SMALLER)
    converted: Edges | Rows
    if table:
        converted, values = _of_table(data, of_columns, weights if weighted else None, directed, machine)
    elif weighted:
        converted, values = weighted_edges(data, weights, machine)
    else:
        converted, values = _converted(data, directed, machine), None
    if values is None or isinstance(converted, Rows):
        return _built(
            converted, bool(converted.directed if directed is None else directed), machine, host_memory
        )
    # Edges of an undirected NetworkX graph lead both ways whatever is asked for, as its rows do.
    asked = bool(converted.directed if directed is None or converted.directed is False else directed)
    values = checked_weights(converted, values)
    stored = from_weighted(converted, values, asked, duplicates, machine, host_memory)
    return Graph(stored, converted.ids, machine=machine, host_memory=host_memory)


def _weighted(weights: Any, duplicates: str) -> bool:
    asked = weights is not None and weights is not False
    if duplicates != "minimum" and not asked:
        raise TypeError("duplicates= says how weights are merged, and no weights are asked for")
    return asked


def _given(**asked: Any) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _refuse(data: Any, given: dict[str, Any]) -> None:
    """Raise for what is asked of data that has no use for it."""
    for name in given:
        raise TypeError(f"a {type(data).__name__} has no use for {name}=: leave it out")


def _of_table(
    data: Any, asked: dict[str, Any], weights: Any, directed: bool | None, machine: Machine
) -> tuple[Edges, Any]:
    """Return the edges of a table, and their weights where these are asked for."""
    from gravel.conversion import arrow
    from gravel.stages.edge_columns import Columns
    from gravel.stages.filters import parse

    of_column = arrow.as_label(weights, data)
    columns = Columns(arrow.end_of(asked, "source", data), arrow.end_of(asked, "target", data), of_column)
    rows = parse(asked["filter"]) if "filter" in asked else None
    found = arrow.from_table(
        data,
        columns,
        weights=weights is True or of_column is not None,
        directed=bool(directed),
        rows=rows,
        machine=machine,
    )
    if weights is None or found.weights is not None:
        return found.edges, found.weights
    return found.edges, weights if found.kept is None else kept_weights(weights, found.kept)


def _paths(data: Any) -> list[str]:
    """Return a path, or a list of nothing but paths, as texts; empty for other data."""
    given = data if isinstance(data, list) else [data]
    named = all(isinstance(each, str | os.PathLike) for each in given)
    return [os.fspath(each) for each in given] if named else []


def _backend(backend: str, data: Any) -> str:
    from gravel.kernels.arrays import backend_of

    if backend != "auto":
        if backend == "cuda":
            from gravel.graphs import demand_gpu

            demand_gpu()
        return backend
    inner = data[0] if isinstance(data, tuple | list) and len(data) else data
    return "cuda" if backend_of(inner) == "cuda" else usable_backend()


def _edge_count(data: Any) -> int:
    """Return how many edges data will make, or 0 where only reading it tells."""
    if hasattr(data, "nnz"):
        return int(data.nnz)
    if isinstance(data, tuple | list):
        first = data[0] if len(data) == 2 and hasattr(data[0], "__len__") else data
        return len(first)
    if hasattr(data, "number_of_edges"):
        return int(data.number_of_edges())
    try:
        return len(data)
    except TypeError:
        return 0


def _converted(data: Any, directed: bool | None, machine: Machine) -> Edges | Rows:
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data)
    from gravel.conversion import arrays, scipy

    if scipy.is_sparse(data):
        return scipy.from_sparse(data, directed=bool(directed))
    if arrays.is_pair(data):
        return arrays.from_arrays(data, machine)
    shape = getattr(data, "shape", None)
    what = f"{type(data).__name__}{'' if shape is None else f' of shape {shape}'}"
    raise TypeError(
        f"cannot make a graph of {what}: give (sources, targets), a list of pairs, an array of two columns, "
        "a table, a sparse matrix, a NetworkX graph, or the path of a file"
    )


def _from_networkx(data: Any) -> Rows:
    from gravel.conversion.networkx import is_range, nodes_of, rows_of
    from gravel.encoded_ids import Integers
    from gravel.kernels.inputs import csr
    from gravel.vertex_ids import Objects

    nodes = nodes_of(data)
    rows = csr(tuple(rows_of(data, nodes)))
    ids = Integers(len(nodes)) if is_range(nodes) else Objects(nodes)
    directed = bool(data.is_directed())
    return Rows(rows.row_offsets, rows.column_indices, ids, directed=directed, symmetric=not directed)


def _built(converted: Edges | Rows, directed: bool, machine: Machine, host_memory: str | int | None) -> Graph:
    from gravel.rows import from_edges, from_rows

    if isinstance(converted, Rows):
        stored = from_rows(converted, directed)
    else:
        stored = from_edges(converted, directed, machine, host_memory)
    return Graph(stored, converted.ids, machine=machine, host_memory=host_memory)


@memory_errors
def load(path: str | os.PathLike[str] | Path) -> Graph:
    """Read a graph that `Graph.save` wrote.

    Raises FileNotFoundError for a folder without one, and ValueError for a damaged one.
    """
    from gravel.saving import load_graph

    return load_graph(path)
