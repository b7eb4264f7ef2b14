"""A stored graph, in whatever form, ready for searches from many sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.kernels.layouts.layout import EncodedRows, body_name, columns_as_rows
from gravel.kernels.layouts.units import offsets_of
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.errors import StageError
from gravel.stages.measuring.flow import ARCS_HINT, WEIGHTED_RANKS
from gravel.stages.turning import direction_in, not_turned, turned_on_host

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.measuring.parameters import CentralityParameters
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.graph import SearchedGraph

Stored = Graph | CompressedGraph | Partition


@dataclass(frozen=True)
class MeasuredGraph:
    """Rows where they are searched, in the numbering that is searched, and what leads there.

    `first_offsets` are the row offsets in `symmetrize`'s numbering and `permutation` leads from it (old ->
    new), both NumPy. `bytes_there` are those of rows in the memory of the backend, what is kept of a `split`
    left out; `notes` say how rows were read that are no columns there. `weights` are those of the arcs, on
    the host, where paths are measured by them.
    """

    vertex_count: int
    arc_count: int
    symmetric: bool
    backend: str
    first_offsets: NDArray[Any]
    permutation: NDArray[Any] | None
    rows: EncodedRows
    split: bool
    bytes_there: int
    notes: list[str]
    weights: NDArray[Any] | None = None

    @property
    def columns(self) -> tuple[Any, Any]:
        """Row offsets and columns; of encoded rows KeyError."""
        return self.rows.arrays["row_offsets"], self.rows.arrays["column_indices"]


def read_measured(stored: Stored, parameters: CentralityParameters, machine: Machine) -> MeasuredGraph:
    """Read a graph so that its rows lead where searches go, with weights where paths are measured by them.

    A partition is put together again, and rows for betweenness are decoded. A GPU gets rows as
    `gravel.stages.measuring.rows` says.

    Raises `StageError` for lists that are not sorted or are damaged, for a direction that a compressed or
    partitioned graph does not have, and for weights that it lacks or that are negative.
    """
    from gravel.kernels.sssp.weights import checked
    from gravel.stages.measuring.need import host_bytes, sources_asked
    from gravel.stages.measuring.rows import sizes_of, where_searched
    from gravel.stages.rows.decoding import unpacked_weights
    from gravel.stages.traversal.graph import permutation_of, read_encoded
    from gravel.stages.traversal.memory import NO_WEIGHTS_HINT
    from gravel.stages.traversal.search import read_graph
    from gravel.stages.weights import unusable

    direction = direction_in(stored, parameters.searched)
    refused = not_turned(type(stored).__name__, direction)
    if refused is not None:
        raise StageError(refused[0], hint=refused[1])
    permutation, notes, beside = permutation_of(stored), [], 0
    if parameters.weighted_paths and isinstance(stored, Partition) and stored.has_weights:
        raise StageError(WEIGHTED_RANKS, hint=ARCS_HINT)
    if parameters.weighted_paths and getattr(stored, "weights", None) is None:
        raise StageError(
            f"the graph has no weights, which {parameters.measure} by weights needs", hint=NO_WEIGHTS_HINT
        )
    if isinstance(stored, Partition) or getattr(stored, "subgraphs", None) is not None:
        copies = 2 if isinstance(stored, CompressedGraph) else 1  # its subgraphs are there as well
        stored = put_together(stored, permutation)
        notes.append("the ranks' subgraphs were put together again")
        beside = copies * sizes_of(stored).decoded + 8 * stored.vertex_count
    if not isinstance(stored, CompressedGraph):
        plain = stored if parameters.weighted_paths else replace(stored, weights=None)
        stored = turned_on_host(plain, direction)
    where = "decoded"
    if machine.backend == "cuda" and not parameters.of_paths:
        # What the plan leaves for pinned rows.
        n = stored.vertex_count
        free = machine.host_memory - beside - host_bytes(parameters, n, sources_asked(parameters, n))
        where = where_searched(stored, "auto", machine.device_memory, max(0, free))
    if where in ("split", "streamed"):
        return _elsewhere(stored, permutation, where, machine, notes)
    if where == "encoded":
        assert isinstance(stored, CompressedGraph)
        return _measured(read_encoded(stored, permutation, machine, None), permutation, notes)
    found = _measured(read_graph(stored, machine), permutation, notes)
    if not parameters.weighted_paths:
        return found
    try:
        offsets, columns = map(on_host, found.columns)
        weights = checked(offsets, columns, on_host(unpacked_weights(stored.weights))).weights
    except ValueError as error:
        raise unusable(error, permutation, direction) from None
    return replace(found, weights=weights)


def _measured(graph: SearchedGraph, permutation: NDArray[Any] | None, notes: list[str]) -> MeasuredGraph:
    rows = graph.rows or columns_as_rows(graph.row_offsets, graph.columns)
    return MeasuredGraph(
        graph.vertex_count,
        graph.arc_count,
        graph.symmetric,
        graph.backend,
        graph.first_offsets,
        permutation,
        rows,
        split=False,
        bytes_there=rows.nbytes,
        notes=[*notes, *graph.notes],
    )


def _elsewhere(
    stored: Graph | CompressedGraph,
    permutation: NDArray[Any] | None,
    where: str,
    machine: Machine,
    notes: list[str],
) -> MeasuredGraph:
    """Leave what grows with the arcs in pinned host memory, or where it is stored."""
    from gravel.kernels.placement.pinned import PinnedRefused
    from gravel.stages.measuring.rows import rows_in_parts, rows_over_link
    from gravel.stages.rows.encoded import damage_refused, row_offsets_of
    from gravel.stages.traversal.graph import first_offsets

    if not stored.sorted:
        raise StageError("the graph's lists are not sorted", hint="symmetrize sorts them")
    with damage_refused():
        rows = None
        if where == "split":
            try:
                rows = rows_over_link(stored)
            except PinnedRefused as error:
                notes.append(f"the system refuses pinned memory ({error}), so rows are read in parts")
        split = rows is not None
        rows = rows or rows_in_parts(stored)
        offsets = offsets_of(rows) if rows.layout == "csr" else row_offsets_of(rows, in_parts=not split)
    if split:
        notes.append("rows do not fit the GPU: what fits beside a batch lies there, the rest in host memory")
    else:
        notes.append("rows do not fit the GPU: batches read them in parts")
    return MeasuredGraph(
        stored.vertex_count,
        stored.arc_count,
        stored.symmetric,
        machine.backend,
        first_offsets(on_host(offsets), permutation),
        permutation,
        rows,
        split=split,
        bytes_there=rows.nbytes - int(rows.arrays[body_name(rows)].nbytes),
        notes=notes,
    )


def put_together(stored: Stored, permutation: NDArray[Any] | None) -> Graph:
    """Make one graph of the subgraphs of all ranks, of columns or compressed."""
    from gravel.kernels.partition.chunks import assemble
    from gravel.stages.partition import load_partition
    from gravel.stages.rows.decoding import decompress

    plain: Any = decompress(stored, backend="cpu") if isinstance(stored, CompressedGraph) else stored
    offsets, columns = assemble(load_partition(plain))
    facts: dict[str, Any] = {
        "row_offsets": offsets,
        "column_indices": columns,
        "vertex_count": plain.vertex_count,
        "arc_count": plain.arc_count,
        "symmetric": plain.symmetric,
        "deduplicated": plain.deduplicated,
        "loop_count": plain.loop_count,
    }
    if permutation is None:
        return Graph(**facts)
    return Ordering(**facts, permutation=permutation, method="that of the partition")
