"""A file or URL as a graph, through the stages and the cache that a workflow uses."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from gravel.graphs.graph import Graph
from gravel.graphs.stored import RECORD, ids_of, in_memory
from gravel.memory import this_machine
from gravel.pipeline.datasets.file_lists import located

NAME = "python"
"""What the workflow is called in the list of runs."""


def from_path(
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


def of_ingest(weights: Any, given: dict[str, Any]) -> dict[str, Any]:
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
    """Return parameters of ingest if they are right; raises ValueError with the first fault."""
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
    """Warn of what is doubtful about a file, at the line that calls `gravel.graph`."""
    for remark in remarks:
        warnings.warn(remark, stacklevel=6)


def _read(
    given: dict[str, Any], asked: dict[str, Any], cache: Any, backend: str, host_memory: str | int | None
) -> tuple[Any, Any]:
    """Call the stages here."""
    from gravel.graphs.stage_calls import InMemory, called
    from gravel.stages.ingest import ingest
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.symmetrize import symmetrize
    from gravel.stages.symmetrize_parameters import SymmetrizeParameters

    machine = this_machine(backend, host_memory)
    context = InMemory(machine)
    edges, ids = called(ingest, context, IngestParameters(**given))
    _warn(context.remarks)
    parameters = SymmetrizeParameters(**asked)
    return called(symmetrize, InMemory(machine), parameters, input=edges), ids


def _computed(
    given: dict[str, Any], asked: dict[str, Any], cache: Any, backend: str, host_memory: str | int | None
) -> tuple[Any, Any]:
    """Run the two stages as a workflow of these two does, so that recipes are the same."""
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
