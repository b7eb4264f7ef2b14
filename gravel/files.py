"""A file or URL as a graph, through the stages and the cache that a workflow uses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gravel.pipeline.datasets.file_lists import located

if TYPE_CHECKING:
    from gravel.graphs import Graph

NAME = "python"
"""What the workflow is called in the list of runs."""


def is_list(data: Any) -> bool:
    """Say whether data is a list of paths and nothing else."""
    return isinstance(data, list) and bool(data) and all(isinstance(each, str | os.PathLike) for each in data)


def from_path(
    locations: list[str],
    directed: bool,
    cache: str | os.PathLike[str] | Literal[False] | None,
    backend: str,
    host_memory: str | int | None,
    weights: str | None = None,
) -> Graph:
    """Read a file, or files, folders and patterns that are one graph, with the cache unless that is False.

    `weights` says how those of duplicates are merged.

    Raises FileNotFoundError for a file that is not there, `RequestError` for what is refused before anything
    is read, and ValueError for a file that holds no graph.
    """
    path = Path(locations[0]).expanduser()
    if len(locations) == 1 and path.is_dir() and (path / "graph.json").exists():
        from gravel.saving import load_graph

        return load_graph(path)
    files = located(locations)
    made = (_read if cache is False else _computed)(
        {"files": files} if len(files) > 1 else {"file": files[0]},
        {"direction": "as_given" if directed else "both"} | _asked(weights),
        cache,
        backend,
        host_memory,
    )
    return _graph(*made, backend, host_memory)


def _asked(weights: str | None) -> dict[str, str]:
    """Return the parameters of symmetrize for weights; none without, so that recipes are those of before."""
    return {} if weights is None else {"weights": weights}


def _graph(stored: Any, ids: Any, backend: str, host_memory: str | int | None) -> Graph:
    from gravel.graphs import Graph
    from gravel.memory import this_machine
    from gravel.stored import ids_of, in_memory

    machine = this_machine(backend, host_memory)
    return Graph(in_memory(stored), ids_of(ids), machine=machine, host_memory=host_memory)


def _read(
    given: dict[str, Any], asked: dict[str, Any], cache: Any, backend: str, host_memory: str | int | None
) -> tuple[Any, Any]:
    """Call the stages here."""
    from gravel.memory import this_machine
    from gravel.rows import called, context_for
    from gravel.stages.ingest import ingest
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.symmetrize import symmetrize
    from gravel.stages.symmetrize_parameters import SymmetrizeParameters

    machine = this_machine(backend, host_memory)
    edges, ids = called(ingest, context_for(machine), IngestParameters(**given))
    parameters = SymmetrizeParameters(**asked)
    return called(symmetrize, context_for(machine), parameters, input=edges), ids


def _computed(
    given: dict[str, Any], asked: dict[str, Any], cache: Any, backend: str, host_memory: str | int | None
) -> tuple[Any, Any]:
    """Run the two stages as a workflow of these two does, so that recipes are the same."""
    from gravel.pipeline.plugins.installed import known_stages
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.location import find_cache
    from gravel.pipeline.workflow.loading import read_workflow
    from gravel.pipeline.workflow.nodes import Text
    from gravel.running import RunFailed, carry_out

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
    store = Cache(root)
    return store.open(outcome.outputs("graph")[0]), store.open(outcome.outputs("edges")[1])
