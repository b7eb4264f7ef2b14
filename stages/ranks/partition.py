"""A partition read for its ranks: of columns, or compressed, where each decodes a row as it reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import CompressedGraph, Partition
from gravel.stages.rows.encoded import damage_refused, encoded_ranks
from gravel.stages.traversal.graph import (
    DECODED,
    STORED_COLUMNS,
    SearchedGraph,
    edge_ends_of_columns,
    extra_ends,
    first_offsets,
    has_loops_or_duplicates,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.partition import PartitionedGraph
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters

ON_CPU = "the partition was searched on the CPU; `backend: cuda` asks for GPUs"


def read_partition(
    plain: Partition | CompressedGraph,
    permutation: NDArray[Any] | None,
    machine: Machine,
    notes: Sequence[str] = (),
) -> SearchedGraph:
    """Read all ranks of a partition, of columns or compressed; GPUs that search them read them once more."""
    from gravel.stages.partition import load_partition

    notes = [*notes, *([ON_CPU] if machine.backend == "cuda" else [])]
    loaded = load_partition(plain) if isinstance(plain, Partition) else read_encoded_ranks(plain)
    offsets = partition_offsets(loaded)
    ends = None
    if isinstance(plain, Partition) and has_loops_or_duplicates(plain):
        from gravel.kernels.partition.chunks import assemble

        ends = edge_ends_of_columns(plain, *assemble(loaded))
    return SearchedGraph(
        vertex_count=plain.vertex_count,
        arc_count=plain.arc_count,
        symmetric=plain.symmetric,
        backend="cpu",
        first_offsets=first_offsets(offsets, permutation),
        extra_ends=extra_ends(ends, offsets, permutation),
        permutation=permutation,
        row_offsets=None,
        columns=None,
        partition=loaded,
        stored=plain if isinstance(plain, Partition) else None,
        compressed=None if isinstance(plain, Partition) else plain,
        notes=notes,
    )


def partition_offsets(graph: PartitionedGraph) -> NDArray[Any]:
    """Count the arcs of every vertex over all ranks, summed up as the row offsets of the whole graph."""
    import numpy

    from gravel.kernels.partition.layout import row_lengths

    offsets = numpy.zeros(graph.vertex_count + 1, numpy.int64)
    degrees = offsets[1:]
    delegates = graph.delegates.astype(numpy.int64)
    for part in graph.parts:
        own = degrees[part.rank :: graph.ranks]
        own += row_lengths(part.nn) + row_lengths(part.nd)
        degrees[delegates] += row_lengths(part.dn) + row_lengths(part.dd)
    numpy.cumsum(degrees, out=degrees)
    return offsets


def _on_gpus(parameters: TraverseParameters, machine: Machine) -> bool:
    return parameters.backend == "cuda" and machine.backend == "cuda"


def _gpus_take(parameters: TraverseParameters, stored: CompressedGraph) -> bool:
    on_device = parameters.placement in ("auto", "device")
    return on_device and parameters.transport != "nccl" and stored.vertex_count < 1 << 32


def why_ranks_decoded(parameters: TraverseParameters, stored: CompressedGraph, machine: Machine) -> str:
    """Say why a compressed partition is decoded before the search; nothing where ranks search it as it is.

    Components and codec `csr` have it decoded before, and so has a graph with loops or duplicates, whose
    edges are counted from its columns; on GPUs also transport `nccl`, columns in host memory, and 2^32
    vertices.
    """
    if stored.codec == "csr":
        return STORED_COLUMNS
    if parameters.algorithm == "components":
        return f"{DECODED}: components over ranks read columns"
    if _on_gpus(parameters, machine) and not _gpus_take(parameters, stored):
        return f"{DECODED}: over nccl, in host memory and from 2^32 vertices on GPUs read columns"
    if has_loops_or_duplicates(stored):
        return f"{DECODED}: edges of a graph with loops or duplicates are counted from columns"
    return ""


@damage_refused()
def read_encoded_ranks(stored: CompressedGraph) -> PartitionedGraph:
    """Read all ranks of a compressed partition as they are stored.

    Raises `StageError` where it is damaged.
    """
    import numpy

    from gravel.kernels.partition import PartitionedGraph

    parts = tuple(each.read() for each in encoded_ranks(stored))
    assert stored.ranks is not None
    return PartitionedGraph(
        ranks=stored.ranks,
        threshold=stored.threshold or 0,
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        delegates=numpy.asarray(stored.delegates),
        parts=parts,
    )
