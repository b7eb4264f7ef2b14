"""gravel: workflows that traverse very large graphs on GPUs, cached, verified and reported.

`graph` makes a graph of what you have, which is then searched; `run` carries out a workflow as the command
does, with the same cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.averages import Estimate
    from gravel.betweenness import EdgeMeasure
    from gravel.building import graph, load
    from gravel.components import Components
    from gravel.distances import Distances
    from gravel.errors import NotEnoughMemory, UnknownVertex
    from gravel.graphs import Graph
    from gravel.labels import Labels
    from gravel.measures import Measure
    from gravel.paths import Paths
    from gravel.running import Run, RunFailed, run
    from gravel.searches import Search
    from gravel.shortest_paths import ShortestPaths

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
    "Components": "components",
    "Distances": "distances",
    "EdgeMeasure": "betweenness",
    "Estimate": "averages",
    "Graph": "graphs",
    "Labels": "labels",
    "Measure": "measures",
    "NotEnoughMemory": "errors",
    "Paths": "paths",
    "Run": "running",
    "RunFailed": "running",
    "Search": "searches",
    "ShortestPaths": "shortest_paths",
    "UnknownVertex": "errors",
    "graph": "building",
    "load": "building",
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
