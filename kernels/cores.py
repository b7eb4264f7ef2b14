"""Core numbers: the largest k such that a vertex belongs to a subgraph in which all have degree k or more.

Batagelj, Zaversnik, An O(m) Algorithm for Cores Decomposition of Networks, arXiv cs/0310049.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.subgraph_buffers import cores


def core_numbers(row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]) -> NDArray[numpy.int64]:
    """Return the core number of each vertex of a symmetric graph without self-loops.

    Rows need not ascend. An arc that is stored several times counts as often.
    """
    n = len(row_offsets) - 1
    core = numpy.diff(row_offsets)
    if n:
        by_degree = numpy.argsort(core, kind="stable")
        place = cores(n)[0].make(numpy)
        place[by_degree] = numpy.arange(n)
        starts = numpy.zeros(int(core.max()) + 2, numpy.int64)
        numpy.cumsum(numpy.bincount(core), out=starts[1:])
        _peel(row_offsets, column_indices, by_degree, place, starts, core)
    return core


def simple_rows(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]
) -> tuple[NDArray[numpy.int64], NDArray[Any]]:
    """Return ascending rows without self-loops, each neighbour once."""
    offsets, columns = numpy.zeros_like(row_offsets), numpy.empty_like(column_indices)
    kept = _simplify(row_offsets, column_indices, offsets, columns)
    return offsets, columns[:kept]


@serial
def _simplify(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], offsets: NDArray[Any], columns: NDArray[Any]
) -> Any:
    to = numpy.int64(0)
    for v in range(len(row_offsets) - 1):
        begin = row_offsets[v]
        for k in range(begin, row_offsets[v + 1]):
            u = column_indices[k]
            if u != v and (k == begin or u != column_indices[k - 1]):
                columns[to] = u
                to += 1
        offsets[v + 1] = to
    return to


@serial
def _peel(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    by_degree: NDArray[Any],
    place: NDArray[Any],
    starts: NDArray[Any],
    core: NDArray[Any],
) -> None:
    """Remove vertices by ascending degree; `starts` says where the vertices of each degree begin."""
    for i in range(len(by_degree)):
        v = by_degree[i]
        for k in range(row_offsets[v], row_offsets[v + 1]):
            u = numpy.int64(column_indices[k])
            if core[u] > core[v]:
                first = starts[core[u]]
                other = by_degree[first]
                old = place[u]
                by_degree[first], by_degree[old] = u, other
                place[u], place[other] = first, old
                starts[core[u]] += 1
                core[u] -= 1
