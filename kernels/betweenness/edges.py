"""Sums of edges, from those of their arcs."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray


def sums_of_edges(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    sums: NDArray[numpy.float64],
    *,
    directed: bool,
    permutation: NDArray[Any] | None = None,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """Return the ends of the edges, int64 (2, edges), ascending, and the sum of the arcs of each.

    Parallel arcs are one edge, and in a graph that is not `directed` so are those of both directions, with
    the smaller end first. `permutation` (old -> new) leads back to the old numbers of the ends.
    """
    n = len(row_offsets) - 1
    ends = numpy.array([numpy.repeat(numpy.arange(n), numpy.diff(row_offsets)), columns], numpy.int64)
    if permutation is not None:
        first = numpy.empty_like(permutation)
        first[permutation] = numpy.arange(n)
        ends = first[ends]
    if not directed:
        ends.sort(axis=0)
    edges, edge_of = numpy.unique(ends[0] * n + ends[1], return_inverse=True)
    values = numpy.bincount(edge_of, sums, len(edges)).astype(numpy.float64, copy=False)
    return numpy.array(numpy.divmod(edges, max(1, n)), numpy.int64), values
