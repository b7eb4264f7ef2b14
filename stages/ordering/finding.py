"""Orders of a stored graph, found on the machine there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Graph
from gravel.stages.ordering.placing import COMMUNITY, community_room, place_of, uses_device
from gravel.stages.ordering.rows import row_ranges, uploaded

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from gravel.stages.context import Context
    from gravel.stages.stage import Machine


def find_order(
    context: Context, machine: Machine, name: str, seed: int, graph: Graph, offsets: NDArray[numpy.int64]
) -> tuple[NDArray[Any], Any, str]:
    """Find the order; returns it, the columns where the device reads them, if it does, and where that was."""
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.order import METHODS, permutation

    method = METHODS[name]
    row_offsets, columns = offsets, graph.column_indices if method.reads_columns else None
    if method.symmetric and not graph.symmetric:
        context.log(f"the graph is directed: {method.name} is computed with the reverse of every arc added")
        both = _with_reverses(graph, offsets)
        row_offsets, columns = both.row_offsets, both.column_indices
    place = place_of(method.name, machine, graph.vertex_count, int(row_offsets[-1]))
    if place == "pinned":
        from gravel.kernels.placement.placed import in_pages

        columns = in_pages(columns)
        on_device, there, refusal = _with_pinned(machine, name, row_offsets, columns)
        if on_device is not None:
            columns_there = there if graph.symmetric else None
            return on_device, columns_there, "on the device, columns in pinned memory"
        context.log(f"{method.name} is found on the host: {refusal}")
        place = "host"
    if place == "host":
        columns = None if columns is None else on_host(columns)
        found = permutation(method.name, row_offsets, columns, seed=seed)
        return numpy.asarray(found), None, "on the host"
    import cupy

    if place == "device" and columns is not None:
        columns = uploaded(columns)
    found = cupy.asnumpy(permutation(method.name, cupy.asarray(row_offsets), columns, seed=seed))
    shared = graph.symmetric and uses_device(machine, graph.vertex_count, graph.arc_count)
    return numpy.asarray(found), columns if shared else None, "on the device"


def _with_pinned(
    machine: Machine, name: str, row_offsets: NDArray[numpy.int64], columns: NDArray[Any]
) -> tuple[NDArray[Any] | None, Any, str]:
    """Find an order on the device with columns in pinned memory; None and what the system said instead.

    Returns the columns there besides, a view that keeps them pinned.
    """
    import cupy
    import numpy

    from gravel.kernels.order import permutation
    from gravel.kernels.placement.pinned import PinnedRefused, pin

    tuning: dict[str, Any] = {}
    if name in COMMUNITY:
        tuning = {"room": community_room(name, machine, len(row_offsets) - 1)}
    try:
        # Kept until the order has come: memory must not go while a kernel reads it.
        there = pin(columns).view()
        found = cupy.asnumpy(permutation(name, cupy.asarray(row_offsets), there, **tuning))
    except PinnedRefused as error:
        return None, None, f"pinned memory was refused ({error})"
    return numpy.asarray(found), there, ""


def _with_reverses(graph: Graph, offsets: NDArray[numpy.int64]) -> Any:
    """Build the rows of a directed graph and its reverse together, from parts of its rows."""
    import numpy

    from gravel.kernels.arrays import index_dtype, on_host
    from gravel.kernels.csr import degrees
    from gravel.kernels.csr.buffers import ends
    from gravel.kernels.csr.rows import RowBuilder

    dtype = index_dtype(graph.vertex_count)

    def arcs() -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        for first, last in row_ranges(offsets):
            lengths = numpy.diff(offsets[first : last + 1])
            source = numpy.repeat(numpy.arange(first, last, dtype=dtype), lengths)
            yield source, on_host(graph.column_indices[int(offsets[first]) : int(offsets[last])])

    counts = ends(graph.vertex_count).make(numpy)
    for source, target in arcs():
        degrees(source, target, graph.vertex_count, direction="both", out=counts[2:])
    builder = RowBuilder(counts, dtype, direction="both", keep_loops=False)
    for source, target in arcs():
        builder.add(source, target)
    return builder.finish(vertex_count=graph.vertex_count)
