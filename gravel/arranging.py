"""A graph in another order, another layout or another memory, by the stages that workflows use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.memory import refuse_need
from gravel.rows import called, context_for
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering

if TYPE_CHECKING:
    from gravel import graphs


def reordered(graph: graphs.Graph, method: str, seed: int) -> Ordering:
    """Find an order and apply it; an order that the graph has already is replaced."""
    from pydantic import ValidationError

    from gravel.stages.reorder import STAGE, ReorderParameters, reorder

    try:
        parameters = ReorderParameters(method=method, seed=seed)
    except ValidationError:
        from gravel.kernels.order import METHODS

        raise ValueError(f"unknown order {method!r}; there are {', '.join([*METHODS, 'auto'])}") from None
    stored = plain_rows(graph)
    _refuse(graph, STAGE, parameters, stored, f"order {method}")
    found: Ordering = called(reorder, context_for(graph._machine), parameters, input=stored)
    return found


def compressed(graph: graphs.Graph, layout: str) -> CompressedGraph:
    """Write the rows in a layout."""
    from pydantic import ValidationError

    from gravel.stages.compress import STAGE, CompressParameters, compress
    from gravel.stages.layout_names import LayoutName

    if isinstance(graph._stored, CompressedGraph):
        raise ValueError(f"the graph is compressed already, as {graph._stored.codec}")
    try:
        parameters = CompressParameters(codec=layout)
    except ValidationError:
        raise ValueError(
            f"unknown layout {layout!r}; there are {', '.join(LayoutName().choices())}"
        ) from None
    _refuse(graph, STAGE, parameters, graph._stored, f"layout {layout}")
    found: CompressedGraph = called(compress, context_for(graph._machine), parameters, input=graph._stored)
    return found


def placed(graph: graphs.Graph, where: str, device_memory: str | int | None) -> graphs.Graph:
    """Place a graph anew; searches that were ready are prepared again."""
    from dataclasses import replace

    from gravel.graphs import demand_gpu, limited
    from gravel.memory import on_gpu, parse_bytes

    known = ("auto", "host", "device", "pinned", "split", "streamed")
    if where not in known:
        raise ValueError(f"{where!r} is no placement; there are {', '.join(known)}")
    machine = graph._machine
    if where == "host":
        return graph._with(_to_host(graph._stored), placement=where, machine=replace(machine, backend="cpu"))
    if where in ("device", "pinned", "split"):
        demand_gpu()
        machine = on_gpu(machine)
    memory = parse_bytes(str(device_memory)) if device_memory is not None else None
    return graph._with(graph._stored, placement=where, machine=limited(machine, memory))


def turned_round(graph: graphs.Graph, direction: str) -> Graph:
    """Return the rows of a directed graph against its arcs ("in") or both ways, in the same order.

    Raises ValueError for a compressed graph, and `NotEnoughMemory`.
    """
    from gravel.kernels.arrays import backend_of
    from gravel.memory import refuse, refuse_device
    from gravel.stages.symmetrize import device_bytes
    from gravel.stages.traversal.placing import extent_of
    from gravel.stages.turning import turned, turned_extent, turning_bytes

    stored = _columns_of(graph)
    there, extent = graph._machine, extent_of(stored)
    what = f"direction {direction} of {extent.arcs:,} arcs"
    if backend_of(stored.column_indices) == "cuda" and stored.weights is None:
        arcs, width = turned_extent(extent, direction).arcs, stored.column_indices.dtype.itemsize
        refuse_device(what, device_bytes(extent.vertices, extent.arcs, arcs, width), there)
    else:
        needed = turning_bytes(extent, direction)
        refuse(what, needed, there, graph._host_memory, "Turn the edges before they become a graph")
    return turned(stored, direction)


def _columns_of(graph: graphs.Graph) -> Graph:
    """Return rows that are columns, in their order; raises ValueError for a compressed graph."""
    if isinstance(graph._stored, CompressedGraph):
        raise ValueError(
            "the graph is compressed: reorder it, or search against its arcs, before compressing"
        )
    return graph._stored


def plain_rows(graph: graphs.Graph) -> Graph:
    """Return the rows in the order of the caller's ids; raises ValueError for a compressed graph."""
    stored = _columns_of(graph)
    if not isinstance(stored, Ordering):
        return stored
    import numpy

    from gravel.kernels.arrays import backend_of, on_host
    from gravel.kernels.order import apply
    from gravel.kernels.relabel import invert
    from gravel.stages.weights import reordered_weights

    permutation = on_host(stored.permutation)
    inverse = numpy.empty_like(permutation)
    invert(permutation, inverse)
    if backend_of(stored.column_indices) == "cuda":
        import cupy

        inverse = cupy.asarray(inverse)
    offsets, columns = apply(stored.row_offsets, stored.column_indices, inverse)
    return Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        deduplicated=stored.deduplicated,
        loop_count=stored.loop_count,
        weights=reordered_weights(stored, on_host(inverse)),
    )


def _refuse(graph: graphs.Graph, stage: Any, parameters: Any, stored: Any, what: str) -> None:
    from dataclasses import replace

    from gravel.stages.traversal.placing import extent_of

    extent = extent_of(stored)
    need = stage.estimate(parameters, {"input": (extent,)}, graph._machine)
    outputs = sum(each.bytes for each in need.outputs)
    beyond = replace(need, host_bytes=need.host_bytes + outputs, device_bytes=0)
    refuse_need(
        what, beyond, graph._machine, graph._host_memory, "Use a machine with more memory, or a workflow"
    )


def _to_host(stored: Any) -> Any:
    from dataclasses import fields, replace

    from gravel.kernels.arrays import backend_of, on_host

    moved = {
        field.name: on_host(value)
        for field in fields(stored)
        if backend_of(value := getattr(stored, field.name)) == "cuda"
    }
    return replace(stored, **moved) if moved else stored
