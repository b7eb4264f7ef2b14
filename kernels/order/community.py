"""Communities kept together, at every scale at once; alone, and with Cuthill-McKee inside each.

Communities come from rounds of merging (`gravel.kernels.order.community_tree`). `community` numbers them by a
depth-first walk of the tree of merges and then makes gaps small by recursive bisection
(`gravel.kernels.order.community_bisection`). `community_rcm` places communities of some dozens of vertices by
the same walk and orders each by reverse Cuthill-McKee over the arcs within, the hybrid that Moschou (Adaptive
BFS & Afforest) leaves open.

Both depend on the graph and its numbering alone, not on the number of threads; ties are decided so that
vertices stay near to where they were.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.order.community_bisection import ROUNDS, refine
from gravel.kernels.order.community_tree import aggregate, communities, number
from gravel.kernels.order.rcm import Graph, rcm
from gravel.kernels.row_blocks import row_blocks, run_blocks

COMMUNITY_SIZE = 64
"""Vertices of a community in the mean, at most, that Cuthill-McKee orders (docs/tuning.md)."""


def community(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], *, rounds: int = ROUNDS
) -> NDArray[Any]:
    """Order a symmetric graph by its communities; returns (vertices,), permutation[old] = new.

    `rounds` exchanges are made at each level of the bisection; 0 leaves the walk of the tree as it is.
    """
    return refine(
        row_offsets,
        column_indices,
        number(aggregate(row_offsets, column_indices), row_offsets),
        rounds=rounds,
    )


def community_rcm(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], *, size: int = COMMUNITY_SIZE
) -> NDArray[Any]:
    """Order a symmetric graph with sorted lists by communities, and each by reverse Cuthill-McKee.

    `size` is the most vertices that communities have in the mean. Returns (vertices,),
    permutation[old] = new.
    """
    tree = aggregate(row_offsets, column_indices)
    cluster = communities(tree, row_offsets, size)
    walk = number(tree, row_offsets)
    inner = rcm(*within(row_offsets, column_indices, cluster))
    # A community is a range of the walk. Its vertices take that range's places by their inner numbers.
    start = numpy.full(int(cluster.max(initial=0)) + 1, len(walk), numpy.int64)
    order = numpy.empty_like(walk)
    _place(cluster, walk, inner, start, numpy.empty_like(walk), order)
    return order


def within(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any], cluster: NDArray[Any]
) -> tuple[NDArray[numpy.int64], NDArray[Any]]:
    """Keep the arcs whose ends are in the same cluster."""
    graph, blocks = (row_offsets, column_indices), row_blocks(row_offsets)
    offsets = numpy.zeros_like(row_offsets)
    run_blocks(partial(_count_within, graph, cluster, offsets), blocks)
    numpy.cumsum(offsets, out=offsets)
    columns = numpy.empty(int(offsets[-1]), column_indices.dtype)
    run_blocks(partial(_keep_within, graph, cluster, offsets, columns), blocks)
    return offsets, columns


@serial
def _count_within(
    graph: Graph, cluster: NDArray[Any], offsets: NDArray[numpy.int64], low: int, high: int
) -> None:
    row_offsets, columns = graph
    for row in range(low, high):
        kept: Any = 0
        for i in range(row_offsets[row], row_offsets[row + 1]):
            kept += cluster[numpy.int64(columns[i])] == cluster[row]
        offsets[row + 1] = kept


@serial
def _keep_within(
    graph: Graph,
    cluster: NDArray[Any],
    offsets: NDArray[numpy.int64],
    kept: NDArray[Any],
    low: int,
    high: int,
) -> None:
    row_offsets, columns = graph
    for row in range(low, high):
        place = offsets[row]
        for i in range(row_offsets[row], row_offsets[row + 1]):
            if cluster[numpy.int64(columns[i])] == cluster[row]:
                kept[place] = columns[i]
                place += 1


@serial
def _place(
    cluster: NDArray[Any],
    walk: NDArray[Any],
    inner: NDArray[Any],
    start: NDArray[numpy.int64],
    by_inner: NDArray[Any],
    order: NDArray[Any],
) -> None:
    for vertex in range(len(walk)):
        mine = numpy.int64(cluster[vertex])
        start[mine] = min(start[mine], numpy.int64(walk[vertex]))
        by_inner[numpy.int64(inner[vertex])] = vertex
    for i in range(len(by_inner)):
        member = numpy.int64(by_inner[i])
        mine = numpy.int64(cluster[member])
        order[member] = start[mine]
        start[mine] += 1
