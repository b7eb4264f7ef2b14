"""A NetworkX graph as the rows that kernels take, and the list of its nodes.

Parallel edges make one arc, and self-loops stay. `gravel.networkx.weights` reads weights in the same order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype

SPARSE = 16
"""Range of the integers per node up to which a table is used, and not a binary search."""


class Rows(NamedTuple):
    """`row_offsets` int64 (vertices + 1,) and `column_indices` uint32 or uint64 (arcs,).

    Each row keeps the order of the graph's adjacency. It need not ascend: `gravel.kernels.inputs.csr` sorts.
    """

    row_offsets: NDArray[numpy.int64]
    column_indices: NDArray[Any]


def nodes_of(graph: Any) -> list[Hashable]:
    """List the nodes of a NetworkX graph in its order: vertex i of the rows is node i."""
    return list(graph)


def rows_of(graph: Any, nodes: list[Hashable] | None = None, *, reverse: bool = False) -> Rows:
    """Return the successors of each node, or with `reverse` the predecessors.

    Parameters
    ----------
    graph : a Graph, DiGraph, MultiGraph or MultiDiGraph of NetworkX, or a view of one. An undirected graph
        has each edge in both rows.
    nodes : what `nodes_of` returned for it, if it was called already.
    reverse : return the rows of a directed graph's predecessors, in the order of the graph.

    """
    nodes = nodes_of(graph) if nodes is None else nodes
    return _rows(adjacency_of(graph, reverse=reverse), nodes)


def adjacency_of(graph: Any, *, reverse: bool = False) -> Mapping[Hashable, Any]:
    """Return the mapping from each node to its neighbours, whose values are the attributes of the edges."""
    adjacency = graph.pred if reverse and graph.is_directed() else graph.adj
    # The dictionaries behind the views of NetworkX, which are several times as fast to read.
    found: Mapping[Hashable, Any] = adjacency._atlas if hasattr(adjacency, "_atlas") else adjacency
    return found


def is_range(nodes: list[Hashable]) -> bool:
    """Say whether the nodes are the integers 0, 1, 2, ... in this order, so that each is its own vertex."""
    return set(map(type, nodes)) <= {int} and nodes == list(range(len(nodes)))


def _rows(adjacency: Mapping[Hashable, Any], nodes: list[Hashable]) -> Rows:
    offsets = numpy.zeros(len(nodes) + 1, numpy.int64)
    # The length of a row of a view need not be the number of neighbours that it yields.
    lists = [row if isinstance(row, dict) else list(row) for row in adjacency.values()]
    numpy.cumsum(numpy.fromiter(map(len, lists), numpy.int64, len(nodes)), out=offsets[1:])
    columns = _of_integers(lists, nodes, int(offsets[-1]))
    if columns is None:
        vertex = dict(zip(nodes, range(len(nodes)), strict=True))
        neighbours = map(vertex.__getitem__, chain.from_iterable(lists))
        columns = numpy.fromiter(neighbours, index_dtype(len(nodes)), int(offsets[-1]))
    return Rows(offsets, columns)


def _of_integers(lists: Sequence[Iterable[Any]], nodes: list[Hashable], arcs: int) -> NDArray[Any] | None:
    """Return the neighbours' vertices if all nodes are integers of 64 bits, else None.

    A look-up of each neighbour in a dictionary would take several times as long.
    """
    if not set(map(type, nodes)) <= {int}:
        return None
    try:
        ids = numpy.array(nodes, numpy.int64)
        found = numpy.fromiter(chain.from_iterable(lists), numpy.int64, arcs)
    except (OverflowError, TypeError, ValueError):
        return None
    n, dtype = len(ids), index_dtype(len(ids))
    if is_range(nodes):
        return found.astype(dtype)
    low, high = int(ids.min()), int(ids.max())
    if high - low < SPARSE * n:
        table = numpy.zeros(high - low + 1, dtype)
        table[ids - low] = numpy.arange(n, dtype=dtype)
        return table[found - low]
    order = numpy.argsort(ids)
    return order[numpy.searchsorted(ids, found, sorter=order)].astype(dtype)
