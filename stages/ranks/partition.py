"""A partition read for its ranks: of columns, or compressed, where each decodes a row as it reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import CompressedGraph, Partition
from gravel.stages.rows.encoded import damage_refused, encoded_ranks
from gravel.stages.traversal.graph import (
    BLOCK,
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
    import numpy

    from gravel.stages.partition import load_partition

    notes = [*notes, *([ON_CPU] if machine.backend == "cuda" else [])]
    loaded = load_partition(plain) if isinstance(plain, Partition) else read_encoded_ranks(plain)
    offsets: Any = PartitionOffsets(loaded)
    ends = None
    if isinstance(plain, Partition) and has_loops_or_duplicates(plain):
        from gravel.kernels.partition.chunks import assemble

        ends = edge_ends_of_columns(plain, *assemble(loaded))
    if permutation is not None or ends is not None:
        offsets = numpy.asarray(offsets)
    return SearchedGraph(
        vertex_count=plain.vertex_count,
        arc_count=plain.arc_count,
        symmetric=plain.symmetric,
        backend="cpu",
        first_offsets=offsets if permutation is None else first_offsets(offsets, permutation),
        extra_ends=extra_ends(ends, offsets, permutation),
        permutation=permutation,
        row_offsets=None,
        columns=None,
        partition=loaded,
        stored=plain if isinstance(plain, Partition) else None,
        compressed=None if isinstance(plain, Partition) else plain,
        notes=notes,
    )


class PartitionOffsets:
    """Row offsets of a whole graph that ranks have: some vertices at a time, or as an array of all."""

    def __init__(self, graph: PartitionedGraph) -> None:
        self._graph = graph

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield as `gravel.stages.traversal.graph.offset_blocks` does."""
        import numpy

        end = 0
        for first in range(0, max(1, self._graph.vertex_count), BLOCK):
            last = min(first + BLOCK, self._graph.vertex_count)
            offsets = numpy.empty(last - first + 1, numpy.int64)
            offsets[0] = end
            numpy.cumsum(self._degrees(first, last), out=offsets[1:])
            offsets[1:] += end
            end = int(offsets[-1])
            yield first, offsets

    def _degrees(self, first: int, last: int) -> NDArray[Any]:
        """Count the arcs of some vertices over all ranks."""
        import numpy

        graph = self._graph
        degrees = numpy.zeros(last - first, numpy.int64)
        low, high = numpy.searchsorted(graph.delegates, (first, last)).tolist()
        busy = graph.delegates[low:high].astype(numpy.int64) - first
        for part in graph.parts:
            begin, end = (-(-(each - part.rank) // graph.ranks) for each in (first, last))
            own = degrees[(part.rank - first) % graph.ranks :: graph.ranks]
            for rows in (part.nn, part.nd):
                offsets = rows.row_offsets[begin : end + 1].astype(numpy.int64)
                own += offsets[1:] - offsets[:-1]
            for rows in (part.dn, part.dd):
                offsets = rows.row_offsets[low : high + 1].astype(numpy.int64)
                degrees[busy] += offsets[1:] - offsets[:-1]
        return degrees

    @cached_property
    def _whole(self) -> NDArray[Any]:
        import numpy

        offsets = numpy.zeros(self._graph.vertex_count + 1, numpy.int64)
        for first, some in self.blocks():
            offsets[first : first + len(some)] = some
        return offsets

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import numpy

        return numpy.array(self._whole, dtype, copy=copy)


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
