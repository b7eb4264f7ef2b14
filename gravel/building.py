"""`gravel.graph`: a graph from whatever holds one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from gravel.conversion.converted import Edges, Rows
from gravel.files import from_path, is_list
from gravel.graphs import Graph
from gravel.memory import refuse, this_machine

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.stages.sizes import Machine

SMALLER = "Use a machine with more memory, fewer edges, or a workflow, which builds graphs in parts"


def graph(
    data: Any,
    *,
    directed: bool | None = None,
    sources: str | None = None,
    targets: str | None = None,
    cache: str | os.PathLike[str] | Literal[False] | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
    host_memory: str | int | None = None,
    weights: Any = None,
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
    sources, targets : the columns of a table that hold the ends. Columns with the usual names, such as
        `source` and `target`, or the only two need not be named.
    cache : for a path or URL, the cache's folder or URL, by default the one that the command uses: the file
        is read once, and a workflow that reads it shares the result. False reads the file without a cache.
    backend : "cuda" builds and searches the graph on a GPU; "auto" does so where there is one.
    host_memory : how much may be used, such as "8GiB"; by default what the machine has.
    weights : of the edges, for `shortest_paths`: an array of one number for each edge, the name of a table's
        column or of NetworkX's attribute, or True for the values of a sparse matrix, or for what is called
        "weight" or is the third column of a file. Integers of 32 bits are kept, others become float32.
    duplicates : the weight of an edge that occurs more than once; with "error" its weights must be equal.

    Duplicate edges and self-loops are removed. The graph has memory of its own: changing the data afterwards
    does not change it. Raises TypeError and ValueError for data that holds no ids or no edges, KeyError for a
    column that is not there, and NotEnoughMemory, before anything is allocated, for what cannot fit.
    """
    if isinstance(data, Graph):
        return data
    if isinstance(data, str | os.PathLike) or is_list(data):
        paths = [os.fspath(each) for each in (data if isinstance(data, list) else [data])]

        if weights is not None and weights is not True:
            raise TypeError("a file has its weights in its third column: give weights=True")
        merge = None if weights is None else duplicates
        return from_path(paths, bool(directed), cache, _backend(backend, data), host_memory, merge)
    machine = this_machine(_backend(backend, data), host_memory)
    count = _edge_count(data)
    if count:
        # Numbered ends and the rows of both directions; the ids come on top when they are known.
        refuse(f"a graph of {count:,} edges", 16 * count, machine, host_memory, SMALLER)
    if weights is not None:
        return _weighted(data, weights, directed, sources, targets, duplicates, machine, host_memory)
    converted = _converted(data, directed, sources, targets, machine)
    asked = converted.directed if directed is None else directed
    return _built(converted, bool(asked), machine, host_memory)


def _weighted(
    data: Any,
    weights: Any,
    directed: bool | None,
    sources: str | None,
    targets: str | None,
    duplicates: str,
    machine: Machine,
    host_memory: str | int | None,
) -> Graph:
    from gravel.weighted import from_weighted, weighted_edges

    edges, values = weighted_edges(data, weights, sources, targets, machine)
    # Edges of an undirected NetworkX graph lead both ways whatever is asked for, as its rows do.
    asked = bool(edges.directed if directed is None or edges.directed is False else directed)
    stored = from_weighted(edges, values, asked, duplicates, machine, host_memory)
    return Graph(stored, edges.ids, machine=machine, host_memory=host_memory)


def _backend(backend: str, data: Any) -> str:
    from gravel.kernels.arrays import backend_of

    if backend != "auto":
        if backend == "cuda":
            from gravel.graphs import demand_gpu

            demand_gpu()
        return backend
    inner = data[0] if isinstance(data, tuple | list) and len(data) else data
    if backend_of(inner) == "cuda":
        return "cuda"
    from importlib.util import find_spec

    from gravel.pipeline.core.devices import find_devices

    devices = find_devices()
    usable = devices and not devices[0].fake and devices[0].refusal is None
    return "cuda" if usable and find_spec("cupy") else "cpu"


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


def _converted(
    data: Any, directed: bool | None, sources: str | None, targets: str | None, machine: Machine
) -> Edges | Rows:
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data)
    from gravel.conversion import arrays, arrow, scipy

    if scipy.is_sparse(data):
        return scipy.from_sparse(data, directed=bool(directed))
    if sources is not None or arrow.is_table(data):
        if not arrow.is_table(data):
            raise TypeError(f"a {type(data).__name__} has no columns for `sources` and `targets` to name")
        return arrow.from_table(data, sources, targets, machine)
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


def load(path: str | os.PathLike[str] | Path) -> Graph:
    """Read a graph that `Graph.save` wrote.

    Raises FileNotFoundError for a folder without one, and ValueError for a damaged one.
    """
    from gravel.saving import load_graph

    return load_graph(path)
