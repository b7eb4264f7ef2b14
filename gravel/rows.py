"""Edges into the rows that are searched, by the stage that workflows use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.conversion.converted import Edges, Rows
from gravel.memory import refuse
from gravel.stages.artifacts import EdgeList, Graph
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine


class InMemory(PlainContext):
    """A context for stages that are called here: results stay in memory, where they are made."""

    keeps_device_arrays = True

    def __init__(self, machine: Machine, scratch: Path | None = None) -> None:
        super().__init__(machine, scratch)
        self.remarks: list[str] = []

    def remark(self, message: str) -> None:
        """Keep it, for who knows whether it concerns the caller's data."""
        self.log(message)
        self.remarks.append(message)


def context_for(machine: Machine) -> InMemory:
    """Return a context that calls stages here."""
    return InMemory(machine)


def from_edges(converted: Edges, directed: bool, machine: Machine, host_memory: str | int | None) -> Graph:
    """Build sorted rows, without duplicates and self-loops; both ways unless directed.

    Raises `NotEnoughMemory` where they do not fit.
    """
    from gravel.kernels.arrays import backend_of
    from gravel.stages.symmetrize import WORKING_BYTES, symmetrize
    from gravel.stages.symmetrize_parameters import SymmetrizeParameters

    count, edges = converted.ids.count, len(converted.source)
    source, target = converted.source, converted.target
    if backend_of(source) == "cuda" and machine.backend == "cuda":
        return _on_device(converted, directed, machine)
    if backend_of(source) == "cuda":
        source, target = source.get(), target.get()
    if machine.backend == "cpu":
        width = 4 if count < 1 << 32 else 8
        arcs = edges * (1 if directed else 2)
        refuse(
            f"a graph of {count:,} vertices and {edges:,} edges",
            8 * (count + 2) + width * arcs + WORKING_BYTES,
            machine,
            host_memory,
            "Use a machine with more memory, or a workflow, which builds graphs in parts",
        )
    listed = EdgeList(source=source, target=target, vertex_count=count, undirected=not directed)
    asked = SymmetrizeParameters(direction="as_given" if directed else "both")
    made: Graph = called(symmetrize, context_for(machine), asked, input=listed)
    return made


def _on_device(converted: Edges, directed: bool, machine: Machine) -> Graph:
    """Build rows of edges that are there already."""
    import numpy

    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.csr import build
    from gravel.memory import refuse_device
    from gravel.stages.symmetrize import device_bytes

    count = converted.ids.count
    dtype = numpy.dtype(index_dtype(count))
    arcs = len(converted.source) * (1 if directed else 2)
    needed = device_bytes(count, len(converted.source), arcs, dtype.itemsize)
    refuse_device(f"a graph of {count:,} vertices and {arcs:,} arcs", needed, machine)
    source, target = (each.astype(dtype, copy=False) for each in (converted.source, converted.target))
    rows = build(source, target, count, direction="as_given" if directed else "both")
    return Graph(
        row_offsets=rows.row_offsets,
        column_indices=rows.column_indices,
        vertex_count=count,
        arc_count=len(rows.column_indices),
        symmetric=not directed,
        deduplicated=True,
        loop_count=rows.loop_count,
    )


def from_rows(converted: Rows, directed: bool) -> Graph:
    """Take rows as they are where they are what is asked for, without their self-loops; else build them."""
    from gravel.kernels.csr import build

    rows = converted
    if directed or rows.symmetric:
        loops = _loops(rows)
        if not loops:
            return Graph(
                row_offsets=rows.row_offsets,
                column_indices=rows.column_indices,
                vertex_count=rows.ids.count,
                arc_count=len(rows.column_indices),
                symmetric=rows.symmetric,
                deduplicated=True,
            )
    built = build(
        _sources(rows),
        rows.column_indices,
        rows.ids.count,
        direction="as_given" if directed or rows.symmetric else "both",
    )
    return Graph(
        row_offsets=built.row_offsets,
        column_indices=built.column_indices,
        vertex_count=rows.ids.count,
        arc_count=len(built.column_indices),
        symmetric=rows.symmetric or not directed,
        deduplicated=True,
    )


def _sources(rows: Rows) -> Any:
    """Write each row's number once for each of its arcs."""
    from gravel.kernels.csr.tails import tails_of

    return tails_of(rows.row_offsets, len(rows.column_indices))


def _loops(rows: Rows) -> bool:
    return bool((_sources(rows) == rows.column_indices).any())


def called(stage: Any, *arguments: Any, **inputs: Any) -> Any:
    """Call a stage; what it finds wrong with its input becomes a ValueError."""
    try:
        return stage(*arguments, **inputs)
    except StageError as error:
        hint = f". {error.hint}" if error.hint else ""
        raise ValueError(f"{error}{hint}") from None
