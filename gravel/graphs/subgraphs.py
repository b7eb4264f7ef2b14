"""Graphs from graphs: chosen vertices with the arcs between them, and cores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gravel.errors import checked_number
from gravel.graphs.stage_calls import InMemory, called
from gravel.kernels import subgraph_buffers as buffers
from gravel.kernels.arrays import on_host
from gravel.kernels.buffers import exact, vertex_type
from gravel.memory import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows

HINT = "Choose fewer vertices, or use a workflow with the stage subgraph"


def induced(rows: PlacedRows, ids: Ids, chosen: NDArray[Any]) -> tuple[PlacedRows, Ids]:
    """Return the rows of the subgraph of vertices that ascend, and their ids.

    The rows are columns, in the order of the ids, where those of the graph are placed. Raises ValueError
    where no vertex is chosen, and `NotEnoughMemory`.
    """
    from gravel.stages.subgraph import induced_graph

    stored, machine = rows.stored, rows.machine
    arcs = _arcs_at_most(rows, chosen)
    sizes = len(rows), len(chosen), arcs, vertex_type(len(rows))
    needed = exact(buffers.on_host(*sizes, weighted=stored.weights is not None))
    refuse(f"a subgraph of {len(chosen):,} vertices", needed, machine, rows.host_memory, HINT)
    if rows.placement not in ("auto", "device"):
        machine = replace(machine, backend="cpu")
    graph, _ = called(induced_graph, InMemory(machine), stored, chosen)
    return rows.replaced(graph), ids.subset(chosen)


def core(rows: PlacedRows, k: int) -> NDArray[Any]:
    """List the vertices of the k-core, ascending; raises as `Graph.core` does."""
    from gravel.stages.subgraph import core_vertices

    k, stored = checked_number("k", k, whole=True), rows.stored
    needed = exact(buffers.cores(len(rows))) + 8 * stored.arc_count
    refuse(f"a core of {len(rows):,} vertices", needed, rows.machine, rows.host_memory, HINT)
    found: NDArray[Any] = called(core_vertices, stored, k)
    return found


def _arcs_at_most(rows: PlacedRows, chosen: NDArray[Any]) -> int:
    """Count the arcs of chosen vertices, or all where rows are encoded."""
    stored = rows.stored
    if hasattr(stored, "stream") or 4 * len(chosen) > len(rows):
        return int(stored.arc_count)
    at = chosen if rows.permutation is None else rows.permutation[chosen]
    begins, ends = (on_host(stored.row_offsets[at + more]) for more in (0, 1))
    return int((ends - begins).sum()) if len(chosen) else 0
