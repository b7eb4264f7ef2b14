"""The rows of a graph, renumbered a range at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stages.artifacts import Graph
from stages.ordering.placing import uses_device

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from stages.stage import Machine

ROWS_AT_ONCE = 1 << 21
ARCS_AT_ONCE = 1 << 22
"""New rows are made in ranges of at most so many rows and arcs, or of one row that is longer."""


def row_ranges(offsets: NDArray[numpy.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of at most ROWS_AT_ONCE rows and ARCS_AT_ONCE arcs, or one longer row."""
    import numpy

    first, rows = 0, len(offsets) - 1
    while first < rows:
        fitting = int(numpy.searchsorted(offsets, offsets[first] + ARCS_AT_ONCE, side="right")) - 1
        last = min(max(fitting, first + 1), first + ROWS_AT_ONCE, rows)
        yield first, last
        first = last


def renumbered(
    machine: Machine,
    method: str,
    graph: Graph,
    offsets: NDArray[numpy.int64],
    permutation: NDArray[Any],
    held: Any,
) -> Iterator[tuple[int, NDArray[numpy.int64], NDArray[Any]]]:
    """Yield ranges of new rows: the first vertex, row offsets (one more than rows) and columns.

    `held` has the graph's columns on the device, if they are there already.
    """
    import numpy

    if method == "original":
        for first, last in row_ranges(offsets):
            part = offsets[first : last + 1]
            yield first, part, numpy.asarray(graph.column_indices[int(part[0]) : int(part[-1])])
        return
    if uses_device(machine, graph.vertex_count, graph.arc_count):
        yield from _on_device(graph, offsets, permutation, held)
        return
    from kernels.order.renumber import Renumbering

    renumbering = Renumbering(offsets, numpy.asarray(graph.column_indices), permutation)
    new = renumbering.row_offsets
    for first, last in row_ranges(new):
        yield first, new[first : last + 1], renumbering.rows(first, last)


def uploaded(columns: Any) -> Any:
    """Bring columns to the device in pieces."""
    import cupy
    import numpy

    there = cupy.empty(len(columns), columns.dtype)
    for low in range(0, len(columns), ARCS_AT_ONCE):
        part = numpy.asarray(columns[low : low + ARCS_AT_ONCE])
        there[low : low + len(part)].set(part)
    return there


def _on_device(
    graph: Graph, offsets: NDArray[numpy.int64], permutation: NDArray[Any], held: Any
) -> Iterator[tuple[int, NDArray[numpy.int64], NDArray[Any]]]:
    import cupy

    from kernels.order import apply

    columns = uploaded(graph.column_indices) if held is None else held
    moved = apply(cupy.asarray(offsets), columns, cupy.asarray(permutation))
    del columns, held
    new = cupy.asnumpy(moved[0])
    for first, last in row_ranges(new):
        yield first, new[first : last + 1], cupy.asnumpy(moved[1][int(new[first]) : int(new[last])])
