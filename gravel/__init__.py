"""gravel: workflows that traverse very large graphs on GPUs, cached, verified and reported.

`graph` makes a graph of what you have, which is then searched; `run` carries out a workflow as the command
does, with the same cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.errors import NotEnoughMemory, UnknownVertex
    from gravel.graphs.building import graph, load
    from gravel.graphs.graph import Graph
    from gravel.results.components import Components
    from gravel.results.labels import Labels
    from gravel.results.measures import Distances, EdgeMeasure, Estimate, Measure
    from gravel.results.run import Run, RunFailed
    from gravel.results.searches import Paths, Search, ShortestPaths
    from gravel.running import run

__all__ = [
    "Components",
    "Distances",
    "EdgeMeasure",
    "Estimate",
    "Graph",
    "Labels",
    "Measure",
    "NotEnoughMemory",
    "Paths",
    "Run",
    "RunFailed",
    "Search",
    "ShortestPaths",
    "UnknownVertex",
    "__version__",
    "graph",
    "load",
    "run",
]

__version__ = "0.1.0"

_MODULES = {
    "Components": "results.components",
    "Distances": "results.measures",
    "EdgeMeasure": "results.measures",
    "Estimate": "results.measures",
    "Graph": "graphs.graph",
    "Labels": "results.labels",
    "Measure": "results.measures",
    "NotEnoughMemory": "errors",
    "Paths": "results.searches",
    "Run": "results.run",
    "RunFailed": "results.run",
    "Search": "results.searches",
    "ShortestPaths": "results.searches",
    "UnknownVertex": "errors",
    "graph": "graphs.building",
    "load": "graphs.building",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: the command needs none of them to start."""
    if name in _MODULES:
        from importlib import import_module

        found = getattr(import_module(f"gravel.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
