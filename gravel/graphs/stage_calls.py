"""Stages that make or change the rows of a graph, called in this process with results in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gravel.kernels.buffers import total, vertex_type
from gravel.kernels.csr import buffers
from gravel.memory import refuse, refuse_device, refuse_need
from gravel.progress import report
from gravel.stages.artifacts import CompressedGraph, EdgeList, Graph
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.conversion.converted import Edges, Rows
    from gravel.graphs.rows import PlacedRows
    from gravel.stages.sizes import Machine


class InMemory(PlainContext):
    """The context of a stage that is called here; its results stay in the memory where they are made."""

    keeps_device_arrays = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.remarks: list[str] = []

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Show it in the line of the call."""
        report(done, total, unit)

    def remark(self, message: str) -> None:
        """Keep a remark for the caller, who decides whether to warn."""
        self.log(message)
        self.remarks.append(message)


def called(stage: Any, *arguments: Any, **inputs: Any) -> Any:
    """Call a stage; raises ValueError for what it refuses."""
    try:
        return stage(*arguments, **inputs)
    except StageError as error:
        hint = f". {error.hint[0].upper()}{error.hint[1:]}" if error.hint else ""
        raise ValueError(f"{error}{hint}") from None


def from_edges(
    converted: Edges,
    directed: bool,
    machine: Machine,
    host_memory: str | int | None,
    weights: Any = None,
    merge: str = "leave_out",
) -> Graph:
    """Build sorted rows, without duplicates and self-loops; both ways unless directed.

    `merge` is the weight of duplicates. Raises ValueError for duplicates with `merge` "error", and
    `NotEnoughMemory` where the rows do not fit.
    """
    from gravel.kernels.arrays import backend_of, on_host
    from gravel.stages.symmetrize import WORKING_BYTES, SymmetrizeParameters, symmetrize
    from gravel.stages.weights import weighted_bytes

    count, edges = converted.ids.count, len(converted.source)
    weighted = weights is not None
    if not weighted and machine.backend == "cuda" and backend_of(converted.source) == "cuda":
        return _on_device(converted, directed, machine)
    source, target = on_host(converted.source), on_host(converted.target)
    what, hint = f"a graph of {count:,} vertices and {edges:,} edges", "Use a machine with more memory"
    if weighted:
        refuse(f"{what} with weights", weighted_bytes(count, edges), machine, host_memory, hint)
    elif machine.backend == "cpu":
        rows = buffers.on_host(count, edges * (1 if directed else 2), vertex_type(count))
        needed = total(rows, "host") + WORKING_BYTES
        refuse(what, needed, machine, host_memory, f"{hint}, or a workflow, which builds graphs in parts")
    given = EdgeList(
        source=source, target=target, weight=weights, vertex_count=count, undirected=not directed
    )
    asked = SymmetrizeParameters(direction="as_given" if directed or weighted else "both", weights=merge)
    made: Graph = called(symmetrize, InMemory(machine), asked, input=given)
    return made


def _on_device(converted: Edges, directed: bool, machine: Machine) -> Graph:
    """Build rows of edges that are in GPU memory already."""
    import numpy

    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.csr import build
    from gravel.stages.symmetrize import device_bytes

    count = converted.ids.count
    dtype = numpy.dtype(index_dtype(count))
    arcs = len(converted.source) * (1 if directed else 2)
    needed = device_bytes(count, len(converted.source), arcs, dtype.itemsize)
    refuse_device(f"a graph of {count:,} vertices and {arcs:,} arcs", needed, machine)
    source, target = (each.astype(dtype, copy=False) for each in (converted.source, converted.target))
    rows = build(source, target, count, direction="as_given" if directed else "both")
    return _graph(rows, count, symmetric=not directed, loop_count=rows.loop_count)


def from_rows(converted: Rows, directed: bool) -> Graph:
    """Return rows as they are if they need no change; else build them without self-loops."""
    from gravel.kernels.csr import build
    from gravel.kernels.csr.tails import tails_of

    as_given = directed or converted.symmetric
    count, columns = converted.ids.count, converted.column_indices
    sources = tails_of(converted.row_offsets, len(columns))
    if as_given and not bool((sources == columns).any()):
        return _graph(converted, count, symmetric=converted.symmetric)
    built = build(sources, columns, count, direction="as_given" if as_given else "both")
    return _graph(built, count, symmetric=converted.symmetric or not directed)


def _graph(rows: Any, count: int, **known: Any) -> Graph:
    return Graph(
        row_offsets=rows.row_offsets,
        column_indices=rows.column_indices,
        vertex_count=count,
        arc_count=len(rows.column_indices),
        deduplicated=True,
        **known,
    )


def reordered(rows: PlacedRows, method: str, seed: int) -> PlacedRows:
    """Find an order and apply it; an order that the rows have already is replaced."""
    from gravel.stages.reorder import STAGE, ReorderParameters

    try:
        parameters = ReorderParameters(method=method, seed=seed)
    except ValidationError:
        from gravel.kernels.order import METHODS

        raise ValueError(f"unknown order {method!r}; there are {', '.join([*METHODS, 'auto'])}") from None
    return _changed(rows, STAGE, parameters, rows.in_order_of_ids(), f"order {method}")


def compressed(rows: PlacedRows, layout: str) -> PlacedRows:
    """Encode the rows in a layout."""
    from gravel.kernels.layouts.registry import layouts
    from gravel.stages.compress import STAGE, CompressParameters

    if isinstance(rows.stored, CompressedGraph):
        raise ValueError(f"the graph is compressed already, as {rows.stored.codec}")
    try:
        parameters = CompressParameters(codec=layout)
    except ValidationError:
        raise ValueError(f"unknown layout {layout!r}; there are {', '.join([*layouts(), 'auto'])}") from None
    return _changed(rows, STAGE, parameters, rows.stored, f"layout {layout}")


def _changed(rows: PlacedRows, stage: Any, parameters: Any, stored: Any, what: str) -> PlacedRows:
    """Return the rows that a stage makes, after a check that they fit."""
    from gravel.stages.traversal.buffers import extent_of

    need = stage.estimate(parameters, {"input": (extent_of(stored),)}, rows.machine)
    outputs = sum(each.bytes for each in need.outputs)
    beyond = replace(need, host_bytes=need.host_bytes + outputs, device_bytes=0)
    hint = "Use a machine with more memory, or a workflow"
    refuse_need(what, beyond, rows.machine, rows.host_memory, hint)
    return rows.replaced(called(stage.run, InMemory(rows.machine), parameters, input=stored))
