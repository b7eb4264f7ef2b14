"""A compressed partition whose ranks search it as it is: each decodes a row where it reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.placement.device_copies import on_host

if TYPE_CHECKING:
    from gravel.kernels.partition import PartitionedGraph
    from gravel.kernels.partition.layout import RankGraph
    from gravel.stages.artifacts import CompressedGraph
    from gravel.stages.stage import Machine
    from gravel.stages.traverse import TraverseParameters


def ranks_encoded(parameters: TraverseParameters, stored: object, machine: Machine) -> bool:
    """Whether a graph is a compressed partition that its ranks search as it is.

    Components and codec `csr` have it decoded before, and so has a graph with loops or duplicates, whose
    edges are counted from its columns; on GPUs also transport `nccl`, columns in host memory, and 2^32
    vertices.
    """
    from gravel.stages.artifacts import CompressedGraph

    if not isinstance(stored, CompressedGraph) or stored.subgraphs is None or stored.codec == "csr":
        return False
    plain = stored.deduplicated and not stored.loop_count
    taken = not _on_gpus(parameters, machine) or _gpus_take(parameters, stored)
    return parameters.algorithm == "bfs" and taken and (plain or not stored.symmetric)


def _on_gpus(parameters: TraverseParameters, machine: Machine) -> bool:
    return parameters.backend == "cuda" and machine.backend == "cuda"


def _gpus_take(parameters: TraverseParameters, stored: CompressedGraph) -> bool:
    on_device = parameters.placement in ("auto", "device")
    return on_device and parameters.transport != "nccl" and stored.vertex_count < 1 << 32


def why_ranks_decoded(parameters: TraverseParameters, stored: CompressedGraph, machine: Machine) -> str:
    """Say that a compressed partition is decoded before the search, and why."""
    from gravel.stages.traversal.encoded import COLUMNS, DECODED

    if stored.codec == "csr":
        return COLUMNS
    if parameters.algorithm == "components":
        return f"{DECODED}: components over ranks read columns"
    if _on_gpus(parameters, machine) and not _gpus_take(parameters, stored):
        return f"{DECODED}: over nccl, in host memory and from 2^32 vertices on GPUs read columns"
    return f"{DECODED}: edges of a graph with loops or duplicates are counted from columns"


@dataclass(frozen=True)
class EncodedRank:
    """Where one rank's subgraphs are in a compressed partition: name, first row, rows and arcs of each."""

    rank: int
    ranks: int
    vertex_count: int
    delegate_count: int
    codec: str
    byte_offsets: Any
    stream: Any
    subgraphs: tuple[tuple[str, int, int, int], ...]

    def read(self) -> RankGraph:
        """Read the rank's rows as they are stored; raises ValueError where they are damaged."""
        import numpy

        from gravel.kernels.index import index_dtype
        from gravel.kernels.layouts import EncodedRows
        from gravel.kernels.layouts.alignment import pad
        from gravel.kernels.partition.encoded import encoded_subgraph
        from gravel.kernels.partition.layout import column_bound, make_rank

        made = {}
        for name, first, rows, arcs in self.subgraphs:
            offsets = on_host(self.byte_offsets[first : first + rows + 1])
            stream = pad(on_host(self.stream[int(offsets[0]) : int(offsets[-1])]))
            dtype = numpy.dtype(index_dtype(self.vertex_count) if name == "nn" else numpy.uint32)
            arrays = {"byte_offsets": offsets - offsets[0], "stream": stream}
            bound = column_bound(name, self.rank, self.vertex_count, self.ranks, self.delegate_count)
            made[name] = encoded_subgraph(EncodedRows(self.codec, rows, arcs, dtype, arrays), bound)
        return make_rank(self.rank, made)


def encoded_ranks(stored: CompressedGraph) -> list[EncodedRank]:
    """Tell every rank of a compressed partition where its rows are; raises ValueError where it has none."""
    if stored.ranks is None or stored.delegates is None or stored.subgraphs is None:
        raise ValueError("the compressed partition lacks its ranks or its delegates")
    found: dict[int, list[tuple[str, int, int, int]]] = {rank: [] for rank in range(stored.ranks)}
    first = 0
    for record in stored.subgraphs:
        found[record["rank"]].append((record["name"], first, record["rows"], record["arcs"]))
        first += record["rows"]
    return [
        EncodedRank(
            rank=rank,
            ranks=stored.ranks,
            vertex_count=stored.vertex_count,
            delegate_count=len(stored.delegates),
            codec=stored.codec,
            byte_offsets=stored.byte_offsets,
            stream=stored.stream,
            subgraphs=tuple(subgraphs),
        )
        for rank, subgraphs in found.items()
    ]


def read_encoded_ranks(stored: CompressedGraph) -> PartitionedGraph:
    """Read all ranks of a compressed partition as they are stored.

    Raises `StageError` where it is damaged.
    """
    import numpy

    from gravel.kernels.partition import PartitionedGraph
    from gravel.stages.errors import StageError

    try:
        parts = tuple(each.read() for each in encoded_ranks(stored))
    except ValueError as error:
        raise StageError(str(error), hint="the compressed graph is damaged; compress it again") from None
    assert stored.ranks is not None
    return PartitionedGraph(
        ranks=stored.ranks,
        threshold=stored.threshold or 0,
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        delegates=numpy.asarray(stored.delegates),
        parts=parts,
    )
