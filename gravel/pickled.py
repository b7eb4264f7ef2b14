"""Graphs and results as pickles and copies: host arrays and ids, without searches and what a GPU holds."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of, on_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from gravel.graphs import Graph
    from gravel.vertex_ids import Ids

Parts = tuple["Callable[..., Any]", tuple[Any, ...]]
"""What makes an object again: a function and its arguments."""


def parts_of_graph(graph: Graph) -> Parts:
    """Return what makes a graph again, with its arrays in host memory."""
    stored = graph._stored
    arrays = {
        field.name: on_host(value)
        for field in fields(stored)
        if hasattr(value := getattr(stored, field.name), "__array__") or backend_of(value) == "cuda"
    }
    return _graph, (replace(stored, **arrays), graph._ids, graph._host_memory)


def _graph(stored: Any, ids: Ids, host_memory: str | int | None) -> Graph:
    """Make a graph for this machine, as `gravel.graph` places it here."""
    from gravel.graphs import Graph
    from gravel.memory import this_machine, usable_backend

    return Graph(stored, ids, machine=this_machine(usable_backend(), host_memory), host_memory=host_memory)


def labels_read(distance: Any, predecessor: Any) -> Callable[[], tuple[Any, Any]]:
    """Return a function, which can be pickled, that gives labels in host memory."""
    return partial(_labels, on_host(distance), on_host(predecessor))


def _labels(distance: Any, predecessor: Any) -> tuple[Any, Any]:
    return distance, predecessor
