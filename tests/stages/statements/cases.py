"""The cases: every stage, in each variant with a statement of its own, on graphs of three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCALES = (14, 16, 18)
"""Of R-MAT graphs with 16 edges for each vertex: up to 4 M edges, where arrays outweigh what is fixed."""


@dataclass(frozen=True)
class Case:
    """A stage with parameters and inputs by the names of other cases; `{scale}` and `{folder}` are filled in.

    `gpu` says that the stage is measured on a GPU, too.
    """

    stage: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    gpu: bool = False


def _bfs(graph: str, **parameters: Any) -> Case:
    return Case("traverse", {"sources": {"random": 2}, **parameters}, {"input": graph}, gpu=graph == "graph")


def _components(graph: str) -> Case:
    return Case("traverse", {"algorithm": "components"}, {"input": graph}, gpu=graph == "graph")


GRAPH = {"input": "graph"}

CASES: dict[str, Case] = {
    "edges": Case("ingest", {"source": {"rmat": {"scale": "{scale}"}}}),
    "text": Case("ingest", {"file": "{folder}/{scale}.txt"}, gpu=True),
    "numpy": Case("ingest", {"file": "{folder}/{scale}.npy"}),
    "saved": Case("saved", {"folder": "{folder}/{scale}.graph"}),
    "graph": Case("symmetrize", {}, {"input": "edges"}, gpu=True),
    "directed": Case("symmetrize", {"direction": "as_given"}, {"input": "edges"}),
    **{
        f"reorder {method}": Case("reorder", {"method": method}, GRAPH, gpu=method in ("degree", "rcm"))
        for method in ("original", "random", "degree", "rcm", "community")
    },
    **{
        f"compress {codec}": Case("compress", {"codec": codec}, GRAPH, gpu=codec == "varint")
        for codec in ("csr", "varint", "blocks", "elias_fano", "auto")
    },
    "partition": Case("partition", {"ranks": 4}, GRAPH),
    "partition striped": Case("partition", {"ranks": 4, "scheme": "striped"}, GRAPH),
    "distribute": Case("distribute", {"source": {"rmat": {"scale": "{scale}"}}, "ranks": 2}),
    "bfs": _bfs("graph"),
    "bfs varint": _bfs("compress varint"),
    "bfs partition": _bfs("partition"),
    "bfs striped": _bfs("partition striped"),
    "components": _components("graph"),
    "components varint": _components("compress varint"),
    "components partition": _components("partition"),
    "verify bfs": Case("verify", {}, {"graph": "graph", "traversal": "bfs"}, gpu=True),
    "verify components": Case("verify", {}, {"graph": "graph", "traversal": "components"}, gpu=True),
    "report": Case("report", {}, {"inputs": ("graph", "components")}),
    "probe": Case("probe", {}, GRAPH, gpu=True),
    "counters": Case("counters", {"tool": "none"}, GRAPH, gpu=True),
    "links": Case("links", {"largest": "{bytes}", "total": "{bytes}", "transports": ["wire"]}),
    "graph500": Case("graph500", {"scale": "{scale}", "searches": 2}, gpu=True),
}


def filled(value: Any, scale: int, folder: str) -> Any:
    """Return parameters with the size and the folder of files in their places."""
    if isinstance(value, Mapping):
        return {key: filled(each, scale, folder) for key, each in value.items()}
    if isinstance(value, str):
        whole = {"{scale}": scale, "{bytes}": 1 << (scale + 4)}
        return whole.get(value, value.replace("{scale}", str(scale)).replace("{folder}", folder))
    return value
