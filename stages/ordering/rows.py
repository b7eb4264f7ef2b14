"""The rows of a graph, renumbered a range at a time and measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Graph
from gravel.stages.ordering.placing import arcs_at_once, uses_device

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.kernels.order import OrderStatistics
    from gravel.stages.context import Context
    from gravel.stages.stage import Machine

ROWS_AT_ONCE = 1 << 21
ARCS_AT_ONCE = 1 << 22
"""New rows are made in ranges of at most so many rows and arcs, or of one row that is longer."""


@dataclass(frozen=True)
class NewRows:
    """A range of new rows.

    `row_offsets` int64 (rows + 1,) of the new graph, `column_indices` (arcs,), valid until the next range
    comes, and `statistics` that add up over the ranges to those of the whole graph. If they are the `whole`
    graph, its arrays are on the device and stay valid.
    """

    row_offsets: Any
    column_indices: Any
    statistics: OrderStatistics
    whole: bool = False


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
    context: Context,
    machine: Machine,
    method: str,
    graph: Graph,
    offsets: NDArray[numpy.int64],
    permutation: NDArray[Any],
    columns_there: Any,
) -> Iterator[NewRows]:
    """Yield the new rows in ranges.

    `columns_there` has the graph's columns where the device reads them, if they are there already. Where the
    system pins no memory, the host makes the rows and the log says so.
    """
    from gravel.kernels.arrays import backend_of, on_host
    from gravel.kernels.order import statistics

    if method == "original":
        if context.keeps_device_arrays and backend_of(graph.column_indices) == "cuda":
            columns = graph.column_indices
            yield NewRows(graph.row_offsets, columns, statistics(graph.row_offsets, columns), whole=True)
            return
        for first, last in row_ranges(offsets):
            part = offsets[first : last + 1]
            columns = on_host(graph.column_indices[int(part[0]) : int(part[-1])])
            yield NewRows(part, columns, statistics(part, columns, first))
        return
    if machine.backend == "cuda":
        there, at_once = _readable(context, machine, graph, offsets, columns_there)
        del columns_there
        if at_once:
            yield from _on_device(there, offsets, permutation, at_once, context.keeps_device_arrays)
            return
    from gravel.kernels.order.renumber import Renumbering

    renumbering = Renumbering(offsets, on_host(graph.column_indices), permutation)
    new = renumbering.row_offsets
    for first, last in row_ranges(new):
        part, columns = new[first : last + 1], renumbering.rows(first, last)
        yield NewRows(part, columns, statistics(part, columns, first))


def uploaded(columns: Any) -> Any:
    """Bring columns to the device in pieces, unless they are there."""
    import cupy
    import numpy

    from gravel.kernels.arrays import backend_of
    from gravel.kernels.placement.device_copies import where_it_is

    found = where_it_is(columns)
    if backend_of(found) == "cuda":
        return found
    there = cupy.empty(len(columns), columns.dtype)
    for low in range(0, len(columns), ARCS_AT_ONCE):
        part = numpy.asarray(columns[low : low + ARCS_AT_ONCE])
        there[low : low + len(part)].set(part)
    return there


def _readable(
    context: Context, machine: Machine, graph: Graph, offsets: NDArray[numpy.int64], columns_there: Any
) -> tuple[Any, int]:
    """Return the columns where the device reads them, and the arcs to make there at once or 0."""
    import numpy

    vertices, arcs = graph.vertex_count, graph.arc_count
    at_once = arcs_at_once(machine, vertices, arcs)
    if uses_device(machine, vertices, arcs):
        return (uploaded(graph.column_indices) if columns_there is None else columns_there), at_once
    # A row is made whole.
    if not at_once or int(numpy.diff(offsets).max(initial=0)) > at_once:
        return None, 0
    if columns_there is not None:
        return columns_there, at_once
    from gravel.kernels.placement.pinned import PinnedRefused, pin
    from gravel.kernels.placement.placed import in_pages

    try:
        return pin(in_pages(graph.column_indices)).view(), at_once
    except PinnedRefused as error:
        context.log(f"the new rows are made on the host: pinned memory was refused ({error})")
        return None, 0


def _on_device(
    columns: Any, offsets: NDArray[numpy.int64], permutation: NDArray[Any], at_once: int, whole: bool
) -> Iterator[NewRows]:
    """Make the rows on the device; with `whole` at once, if they fit, in memory of their own."""
    import cupy

    from gravel.kernels.cuda.room import give_free_blocks_back
    from gravel.kernels.order import OrderStatistics, statistics
    from gravel.kernels.order.renumber_cuda import Renumbering
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.placement.pinned import PinnedRefused, buffer, pin

    # Finding the order has left blocks of the sizes of vertices behind.
    give_free_blocks_back()
    renumbering = Renumbering(on_device(offsets), columns, cupy.asarray(permutation))
    ranges = list(renumbering.ranges(at_once))
    if whole and len(ranges) == 1:
        made = renumbering.rows(*ranges[0])
        measured = statistics(renumbering.row_offsets, made, 0)
        yield NewRows(renumbering.row_offsets, made, measured, whole=True)
        return
    new = cupy.asnumpy(renumbering.row_offsets)
    staging = buffer(ARCS_AT_ONCE, columns.dtype)
    try:
        pinned = pin(staging)  # so that a copy runs at the link's rate
    except PinnedRefused:
        pinned = None
    for first, last in ranges:
        made = renumbering.rows(first, last)
        measured = statistics(renumbering.row_offsets[first : last + 1], made, first)
        for low, high in row_ranges(new[first : last + 1]):
            part = new[first + low : first + high + 1]
            there = made[int(part[0] - new[first]) : int(part[-1] - new[first])]
            # A longer row has a copy of its own.
            out = staging[: len(there)] if len(there) <= len(staging) else None
            yield NewRows(part, there.get(out=out), measured)
            measured = OrderStatistics()
        del made, there
        # The next range has other sizes.
        give_free_blocks_back()
    del pinned
