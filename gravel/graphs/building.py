"""`gravel.graph`: graphs from data in memory, from files and from URLs."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gravel.conversion.converted import Rows
from gravel.errors import memory_errors
from gravel.graphs.graph import Graph
from gravel.memory import refuse, this_machine, usable_backend
from gravel.progress import shown

if TYPE_CHECKING:
    from collections.abc import Hashable

NAME = "python"
"""The name of the workflow in the list of runs."""

MERGES = ("minimum", "sum", "error")

SMALLER = "Use a machine with more memory, fewer edges, or a workflow, which builds graphs in parts"


@memory_errors
@shown("gravel.graph")
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
        asked_of_file = _of_ingest(weights, of_columns | of_files)
        merge = duplicates if _weighted(weights, duplicates) else None
        return _from_path(
            paths, bool(directed), cache, _backend(backend, data), host_memory, merge, asked_of_file
        )
    weighted = _weighted(weights, duplicates)
    if isinstance(data, Graph):
        _refuse(
            data, of_columns | of_files | _given(directed=directed, weights=weights if weighted else None)
        )
        return data
    from gravel.conversion.edges import checked_weights, of_data, of_table
    from gravel.graphs.stage_calls import from_edges, from_rows

    is_table = hasattr(data, "__arrow_c_stream__")
    _refuse(data, of_files | _given(cache=cache or None) | ({} if is_table else of_columns))
    machine = this_machine(_backend(backend, data), host_memory)
    count = _edge_count(data)
    if count:
        # Numbered ends and the rows of both directions; the ids come on top when they are known.
        refuse(f"a graph of {count:,} edges", 16 * count, machine, host_memory, SMALLER)
    asked = weights if weighted else None
    converted, values = (
        of_table(data, of_columns, asked, directed, machine)
        if is_table
        else of_data(data, asked, directed, machine)
    )
    one_way = bool(converted.directed if directed is None else directed)
    if isinstance(converted, Rows):
        stored = from_rows(converted, one_way)
    elif values is None:
        stored = from_edges(converted, one_way, machine, host_memory)
    else:
        # Edges of an undirected NetworkX graph lead both ways whatever is asked for, as its rows do.
        one_way = one_way and converted.directed is not False
        values = checked_weights(converted, values)
        stored = from_edges(converted, one_way, machine, host_memory, values, duplicates)
    return Graph(stored, converted.ids, machine=machine, host_memory=host_memory)


def _weighted(weights: Any, duplicates: str) -> bool:
    asked = weights is not None and weights is not False
    if duplicates != "minimum" and not asked:
        raise TypeError("duplicates= says how weights are merged, and no weights are asked for")
    return asked


def _given(**asked: Any) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _refuse(data: Any, given: dict[str, Any]) -> None:
    """Raise TypeError for an argument that does not apply to the data."""
    for name in given:
        raise TypeError(f"a {type(data).__name__} has no use for {name}=: leave it out")


def _paths(data: Any) -> list[str]:
    """Return a path, or a list of paths, as strings; an empty list for other data."""
    given = data if isinstance(data, list) else [data]
    named = all(isinstance(each, str | os.PathLike) for each in given)
    return [os.fspath(each) for each in given] if named else []


def _backend(backend: str, data: Any) -> str:
    from gravel.kernels.arrays import backend_of

    if backend != "auto":
        if backend == "cuda":
            from gravel.memory import demand_gpu

            demand_gpu()
        return backend
    inner = data[0] if isinstance(data, tuple | list) and len(data) else data
    return "cuda" if backend_of(inner) == "cuda" else usable_backend()


def _edge_count(data: Any) -> int:
    """Return the number of edges in data, 0 where it is unknown before reading."""
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


def _from_path(
    locations: list[str],
    directed: bool,
    cache: str | os.PathLike[str] | Literal[False] | None,
    backend: str,
    host_memory: str | int | None,
    weights: str | None = None,
    asked: dict[str, Any] | None = None,
) -> Graph:
    """Read a file, or files, folders and patterns that are one graph, with the cache unless that is False.

    `weights` says how those of duplicates are merged, `asked` are parameters of ingest.

    Raises FileNotFoundError for a file that is not there, `RequestError` for what is refused before anything
    is read, and ValueError for a file that holds no graph.
    """
    from gravel.graphs.stored import RECORD, ids_of, in_memory
    from gravel.pipeline.datasets.file_lists import located

    path = Path(locations[0]).expanduser()
    if len(locations) == 1 and path.is_dir() and (path / RECORD).exists():
        if asked or weights:
            raise TypeError(f"{locations[0]!r} is a graph that was saved: it has no columns to choose")
        return Graph.load(path)
    files = located(locations)
    given = {"files": files} if len(files) > 1 else {"file": files[0]}
    stored, ids = (_read if cache is False else _computed)(
        _checked({**given, **(asked or {})}),
        {"direction": "as_given" if directed else "both", "weights": weights or "leave_out"},
        cache,
        backend,
        host_memory,
    )
    machine = this_machine(backend, host_memory)
    return Graph(in_memory(stored), ids_of(ids), machine=machine, host_memory=host_memory)


def _of_ingest(weights: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of ingest for what is asked of a file."""
    from gravel.conversion.arrow import as_label, end_of

    columns: dict[str, Any] = {name: end_of(given, name) for name in ("source", "target") if name in given}
    if weights is False:
        given = {**given, "weights": False}
    elif weights is not None and weights is not True:
        columns["weight"] = as_label(weights)
        if columns["weight"] is None:
            raise TypeError("the weights of a file are a column: give its name, or weights=True")
    for name, label in columns.items():
        if isinstance(label, int) and label < 1:
            raise ValueError(f"the {name} is column {label}; positions in a file count from 1")
    asked = {name: value for name, value in given.items() if name not in columns}
    return {**asked, "columns": columns} if columns else asked


def _checked(asked: dict[str, Any]) -> dict[str, Any]:
    """Return valid parameters of ingest; raises ValueError with the first fault."""
    from pydantic import ValidationError

    from gravel.stages.ingest_parameters import IngestParameters

    try:
        IngestParameters(**asked)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise ValueError(f"{place}: {fault['msg'].removeprefix('Value error, ')}") from None
    return asked


def _warn(remarks: Sequence[str]) -> None:
    """Warn of doubtful contents of a file, at the line that calls `gravel.graph`."""
    for remark in remarks:
        warnings.warn(remark, stacklevel=_level_of_caller())


def _read(
    given: dict[str, Any], asked: dict[str, Any], cache: Any, backend: str, host_memory: str | int | None
) -> tuple[Any, Any]:
    """Run the two stages in this process, without a cache."""
    from gravel.graphs.stage_calls import InMemory, called
    from gravel.stages.ingest import ingest
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize

    machine = this_machine(backend, host_memory)
    context = InMemory(machine)
    edges, ids = called(ingest, context, IngestParameters(**given))
    _warn(context.remarks)
    parameters = SymmetrizeParameters(**asked)
    return called(symmetrize, InMemory(machine), parameters, input=edges), ids


def _computed(
    given: dict[str, Any], asked: dict[str, Any], cache: Any, backend: str, host_memory: str | int | None
) -> tuple[Any, Any]:
    """Run the two stages as a workflow, whose recipes any other workflow shares."""
    from gravel.pipeline.plugins.packages import known_stages
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache
    from gravel.pipeline.workflow.loader import read_workflow
    from gravel.pipeline.workflow.nodes import Text
    from gravel.results.run import RunFailed
    from gravel.running import carry_out

    stages = {
        "edges": {"stage": "ingest", **given},
        "graph": {"stage": "symmetrize", "input": "edges", **asked},
    }
    text = json.dumps({"workflow": NAME, "stages": stages})
    workflow = read_workflow(Text(f"{NAME}.yaml", text), Path(f"{NAME}.yaml"), {}, known_stages())
    root = find_cache(None if cache is None else os.fspath(cache))
    memory = None if host_memory is None else str(host_memory)
    try:
        outcome = carry_out(workflow, root, cluster="inline", backend=backend, host_memory=memory)
    except RunFailed as error:
        raise ValueError(str(error)) from error
    read = next(stage for stage in outcome.record["stages"] if stage["key"] == "edges")
    _warn([remark for remark in read.get("remarks", ()) if not remark.startswith("read ")])
    store = Cache(root)
    return store.open(outcome.outputs("graph")[0]), store.open(outcome.outputs("edges")[1])


@memory_errors
def load(path: str | os.PathLike[str] | Path) -> Graph:
    """Read a graph that `Graph.save` wrote.

    Raises FileNotFoundError for a folder without one, and ValueError for a damaged one.
    """
    return Graph.load(path)


def _level_of_caller() -> int:
    """Count the frames up to the first one outside gravel, from the function that calls this one."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] in ("gravel", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
