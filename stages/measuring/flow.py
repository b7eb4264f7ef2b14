"""What PageRank reads of a stored graph: rows of predecessors where they are pulled, and weights.

Compressed rows are decoded once where decoded ones fit: an iteration that decodes takes 5 to 11 times as long
(Kronecker 16 on a CPU). Otherwise rows of an undirected graph without weights are pulled as they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import exact, table, total
from gravel.kernels.layouts.layout import EncodedRows, columns_as_rows
from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.measuring.rows import made_on_host, sizes_of, sizes_of_extent
from gravel.stages.sizes import Extent, Need
from gravel.stages.turning import turned_extent, turned_on_host, with_turning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.sizes import Machine

COMPILED = table("host", Numba=("u1", 80 << 20))
"""Measured: what Numba takes to compile the pull, with the readers of a layout, and to be there at all."""


@dataclass(frozen=True)
class Flow:
    """Rows of predecessors, `outgoing` and `weights` as `gravel.kernels.pagerank.pagerank` takes them.

    `permutation` leads from vertices to rows, NumPy, or is None.
    """

    rows: EncodedRows
    outgoing: Any
    weights: Any | None
    permutation: NDArray[Any] | None

    def in_rows(self, values: NDArray[Any] | None) -> NDArray[Any] | None:
        """Give the values of vertices in the order of the rows."""
        import numpy

        if values is None or self.permutation is None:
            return values
        found = numpy.empty_like(values)
        found[self.permutation] = values
        return found

    def in_order(self, ranks: Any) -> NDArray[Any]:
        """Give the values of rows in the order of the vertices, on the host."""
        from gravel.kernels.arrays import on_host

        found: NDArray[Any] = on_host(ranks)
        return found if self.permutation is None else found[self.permutation]


WEIGHTED_RANKS = "the partition has weights, by which its ranks find shortest paths alone"
ARCS_HINT = "take `by: arcs`, or the graph that symmetrize made"


def is_weighted(stored: Any, by: str) -> bool:
    """Say whether arcs have weights, `by` "auto", "arcs" or "weights"; raises ValueError where they lack."""
    if isinstance(stored, Partition) and stored.has_weights and by != "arcs":
        raise ValueError(WEIGHTED_RANKS)
    there = getattr(stored, "weights", None) is not None
    if by not in ("auto", "arcs", "weights"):
        raise ValueError(f"by is {by!r}; it can be 'auto', 'arcs' or 'weights'")
    if by == "weights" and not there:
        raise ValueError("the graph has no weights, which PageRank by weights needs")
    return there and by != "arcs"


def flow_of(stored: Graph | CompressedGraph, direction: str, machine: Machine, *, weighted: bool) -> Flow:
    """Read a graph whose ranks flow along its arcs ("out"), against them ("in") or both ways.

    Raises ValueError for weights that are negative or not finite, and `StageError` for damaged rows.
    """
    from gravel.kernels.arrays import on_host
    from gravel.kernels.csr.reversed import reversed_rows
    from gravel.kernels.pagerank.outgoing import outgoing
    from gravel.kernels.placement.device_copies import on_device
    from gravel.stages.rows.decoding import decompress
    from gravel.stages.traversal.graph import permutation_of

    permutation, on_gpu = permutation_of(stored), machine.backend == "cuda"
    there: Any = on_device if on_gpu else on_host
    plain: Any = stored
    if isinstance(stored, CompressedGraph):
        kept = not (weighted or not stored.symmetric or stored.codec == "csr")
        if kept and not decodes(stored.vertex_count, sizes_of(stored), machine):
            return _encoded(stored, permutation, on_gpu=on_gpu)
        plain = decompress(stored, backend="cuda" if on_gpu and kept else "cpu")
    graph = plain if weighted else replace(plain, weights=None)
    forward = turned_on_host(graph, direction)
    offsets, weights = on_host(forward.row_offsets), on_host(forward.weights)
    leaving = outgoing(offsets, weights)
    rows = forward.row_offsets, forward.column_indices, weights
    if not forward.symmetric and direction == "in":
        rows = graph.row_offsets, graph.column_indices, on_host(graph.weights)
    elif not forward.symmetric:
        rows = reversed_rows(offsets, on_host(forward.column_indices), weights)
    first, columns, lengths = rows
    lengths = None if lengths is None else there(lengths)
    return Flow(columns_as_rows(there(first), there(columns)), there(leaving), lengths, permutation)


def _encoded(stored: CompressedGraph, permutation: NDArray[Any] | None, *, on_gpu: bool) -> Flow:
    import numpy

    from gravel.stages.rows.encoded import damage_refused, read_rows, row_offsets_of, rows_on_device

    with damage_refused():
        rows = rows_on_device(stored) if on_gpu else read_rows(stored)
        offsets = row_offsets_of(rows)
    return Flow(rows, (offsets[1:] - offsets[:-1]).astype(numpy.float64), None, permutation)


def decodes(vertices: int, sizes: Any, machine: Machine) -> bool:
    """Say whether there is room to decode compressed rows before they are pulled."""
    from gravel.kernels.pagerank.buffers import on_device, on_host

    if machine.backend == "cuda":
        taken = sizes.encoded + total(on_device(vertices, sizes.arcs))
        return bool(sizes.decoded + taken <= machine.device_memory)
    taken = total((*COMPILED, *on_host(vertices)), "host")
    return bool(sizes.decoded + taken <= machine.host_memory)


def flow_need(
    stored: Extent, direction: str, machine: Machine, *, weighted: bool, personalized: bool = False
) -> Need:
    """State what ranks take with the rows that they are pulled over."""
    from gravel.kernels.pagerank.buffers import on_device, on_host

    read = replace(stored, weighted=weighted)
    graph = turned_extent(read, direction)
    n, m, sizes = graph.vertices, graph.arcs, sizes_of_extent(read)
    lengths = 8 * m if weighted else 0
    ranks = Extent(kind="Centrality", vertices=n, bytes=8 * n, direction=direction, weighted=weighted)
    outputs = ranks, Extent(kind="Batches", bytes=0)
    encoded = read.kind == "CompressedGraph" and not (weighted or read.directed)
    decoded = not encoded or sizes.stream is None or decodes(n, sizes, machine)
    on_gpu = machine.backend == "cuda"
    beside = on_host(n, encoded=encoded and not decoded, personalized=personalized)
    in_order = table("host", values=("f8", n if read.kind in ("Ordering", "CompressedGraph") else 0))
    host = total((*COMPILED, *beside, *in_order), "host")
    host += made_on_host(read, sizes, decoded=decoded and not (on_gpu and encoded))
    turned = "both" if direction == "both" else "in"
    need = with_turning(Need(host, 0, outputs), read, turned, compiled=exact(COMPILED))
    if not on_gpu:
        return need
    columns = 8 * (n + 1) + sizes.width * m
    device = total(on_device(n, m)) + lengths
    if encoded and sizes.stream is not None:
        device += sizes.encoded + (columns if decoded else 0)
    else:
        device += columns
    return replace(need, device_bytes=device)
