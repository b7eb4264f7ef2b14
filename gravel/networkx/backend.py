"""The backend's interface to NetworkX: its functions, their limits and conversions."""

from __future__ import annotations

import importlib
from typing import Any

from gravel.networkx.graph import GravelGraph
from gravel.networkx.info import MODULE_OF
from gravel.networkx.limits import can_run, should_run


class Backend:
    """The target of the entry point `networkx.backends`; it imports functions at their first use."""

    can_run = staticmethod(can_run)
    should_run = staticmethod(should_run)

    def __getattr__(self, name: str) -> Any:
        if name not in MODULE_OF:
            raise AttributeError(f"the backend has no function {name!r}")
        function = getattr(importlib.import_module(f"gravel.networkx.{MODULE_OF[name]}"), name)
        setattr(self, name, function)
        return function

    @staticmethod
    def convert_from_nx(graph: Any, edge_attrs: Any = None, **_: Any) -> GravelGraph:
        """Convert a graph of NetworkX, with the weights that `edge_attrs` names, and their defaults."""
        return graph if isinstance(graph, GravelGraph) else GravelGraph.from_networkx(graph, edge_attrs)

    @staticmethod
    def convert_to_nx(result: Any, **_: Any) -> Any:
        """Return a result as it is, since it is made of Python objects; raises NetworkXError for a graph.

        NetworkX calls this for a function that gravel does not have, which might need the weights that the
        conversion left out.
        """
        if isinstance(result, GravelGraph):
            import networkx

            raise networkx.NetworkXError(
                "a graph that gravel converted has no attributes: call this function with the graph that it"
                " was made from, or with its `to_networkx()` if nodes and edges are enough"
            )
        return result


backend = Backend()
