"""Any kind of stored graph, in memory and ready for a search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.kernels.placement.device_copies import on_host
from gravel.kernels.strategy import backend_of
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.errors import StageError
from gravel.stages.traversal.encoded import DECODED
from gravel.stages.traversal.placing import COLUMNS, place_columns
from gravel.stages.traversal.sizes import COUNTED_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.partition import PartitionedGraph
    from gravel.kernels.placement import Placed
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.placing import Placing

ON_CPU = "the partition was searched on the CPU; `backend: cuda` asks for GPUs"


@dataclass(frozen=True)
class SearchedGraph:
    """A graph as the kernels take it; exactly one of `columns`, `rows` and `partition` is set.

    `row_offsets` and `columns` live where the search runs, in the numbering that is searched; columns may be
    pinned host memory that a GPU reads, or be read in slices, as `placement` says. Of a compressed graph
    that is searched as it is, `rows` live there, and `row_offsets` is a NumPy array. `permutation` (old ->
    new, or None) is one too, and in `symmetrize`'s numbering `first_offsets`, the row offsets. `extra_ends`,
    int32 in that numbering too, are the ends of distinct edges of each vertex less its arcs, where there are
    self-loops or duplicates; they lie where they were counted.
    """

    vertex_count: int
    arc_count: int
    symmetric: bool
    backend: str
    first_offsets: NDArray[Any]
    extra_ends: Any | None
    permutation: NDArray[Any] | None
    row_offsets: Any
    columns: Any
    partition: PartitionedGraph | None
    notes: list[str]
    order: str | None = None  # the method of the `Ordering` that was read
    stored: Partition | None = None  # what `partition` was read from
    placed: Placed | None = None  # None where rows lie whole in the memory of the backend
    rows: EncodedRows | None = None
    compressed: CompressedGraph | None = None  # what `rows`, or a `partition` of such, were read from

    def described(self) -> dict[str, Any]:
        """Say what was searched; `digest` is the same for every order and layout of a graph."""
        import numpy
        from blake3 import blake3

        offsets = numpy.ascontiguousarray(self.first_offsets)
        return {
            "vertices": self.vertex_count,
            "arcs": self.arc_count,
            "symmetric": self.symmetric,
            "digest": blake3(offsets.view(numpy.uint8).data, max_threads=blake3.AUTO).hexdigest(length=8),
        }

    @cached_property
    def counts_on_device(self) -> tuple[Any, Any | None]:
        """`counts_of` all vertices."""
        import cupy

        degrees = cupy.empty(self.vertex_count, cupy.uint32)
        for first in range(0, self.vertex_count, COUNTED_AT_ONCE):
            degrees[first : first + COUNTED_AT_ONCE] = self._degrees_of(first, first + COUNTED_AT_ONCE)
        return degrees, None if self.extra_ends is None else cupy.asarray(self.extra_ends)

    def counts_of(self, first: int, last: int) -> tuple[Any, Any | None]:
        """Arcs, uint32, and `extra_ends`, of a range of vertices in `symmetrize`'s numbering, on the GPU."""
        import cupy

        extra = None if self.extra_ends is None else cupy.asarray(self.extra_ends[first:last])
        return self._degrees_of(first, last), extra

    def _degrees_of(self, first: int, last: int) -> Any:
        import cupy

        offsets = cupy.asarray(self.first_offsets[first : last + 1])
        return (offsets[1:] - offsets[:-1]).astype(cupy.uint32)

    @property
    def placement(self) -> str:
        """Where the rows lie, as `gravel.kernels.placement.plan` calls it; a CPU has them on the host."""
        return "host" if self.placed is None else self.placed.plan.placement

    def host_columns(self) -> NDArray[Any]:
        """Return the columns in host memory, copied from the device or decoded where they are there alone."""
        if self.compressed is not None:
            from gravel.stages.traversal.encoded import decoded_columns

            return decoded_columns(self.compressed)
        if self.placed is not None and COLUMNS in self.placed.pinned:
            return self.placed.pinned[COLUMNS].array
        columns: NDArray[Any] = self.columns.get() if self.backend == "cuda" else self.columns
        return columns


def read_graph(
    stored: Graph | CompressedGraph | Partition,
    machine: Machine,
    placing: Placing | None = None,
    *,
    encoded: bool = False,
    encoded_ranks: bool = False,
    decoded: str = DECODED,
) -> SearchedGraph:
    """Read a stored graph, and bring it to the machine's backend.

    `placing` says where its rows go there; without it, on the device of a GPU. The rows of a compressed graph
    are left as they are with `encoded`, and those of a compressed partition with `encoded_ranks`; else they
    are decoded, which the note `decoded` says.
    Raises `StageError` when a compressed graph is damaged.
    """
    import numpy

    notes = []
    permutation = getattr(stored, "permutation", None)
    if permutation is not None:
        permutation = numpy.asarray(permutation)
    plain: Graph | Partition
    if isinstance(stored, CompressedGraph) and stored.subgraphs is None and encoded:
        try:
            return _read_encoded(stored, permutation, machine, placing)
        except ValueError as error:
            raise StageError(str(error), hint="the compressed graph is damaged; compress it again") from None
    if isinstance(stored, CompressedGraph) and encoded_ranks:
        notes.append(f"rows of layout {stored.codec} were searched as they are, by each rank its own")
        return _read_partition(stored, permutation, machine, notes)
    if isinstance(stored, CompressedGraph) and stored.codec == "csr" and _in_parts(stored, placing):
        from gravel.stages.traversal.byte_columns import columns_as_stored

        notes.append(decoded)
        plain = columns_as_stored(stored)
    elif isinstance(stored, CompressedGraph):
        from gravel.stages.compressing.decoding import decompress

        notes.append(decoded)
        # What does not lie on the device is not decoded there either.
        whole = placing is None or placing.plan.placement == "device"
        # Weights are brought by what searches by them.
        plain = decompress(replace(stored, weights=None), backend=machine.backend if whole else "cpu")
    else:
        plain = stored
    if isinstance(plain, Partition):
        return _read_partition(plain, permutation, machine, notes)
    return _read_csr(plain, permutation, machine, notes, placing)


def _in_parts(stored: CompressedGraph, placing: Placing | None) -> bool:
    return stored.subgraphs is None and placing is not None and placing.plan.placement == "streamed"


def _read_encoded(
    stored: CompressedGraph, permutation: NDArray[Any] | None, machine: Machine, placing: Placing | None
) -> SearchedGraph:
    from gravel.kernels.placement import Placed
    from gravel.stages.traversal.encoded import (
        STREAM,
        STREAMED,
        edge_ends_of,
        edge_ends_on_device,
        on_device,
        read_rows,
        row_offsets_of,
        rows_on_device,
        streamed_rows,
    )

    if not stored.sorted:
        raise StageError("the graph's lists are not sorted", hint="symmetrize sorts them")
    in_parts = placing is not None and placing.plan.placement == STREAMED
    whole = machine.backend == "cuda" and (placing is None or placing.plan.placement == "device")
    there = rows_on_device(stored) if whole else None
    rows = there or (streamed_rows(stored) if in_parts else read_rows(stored))
    notes, placed = [f"rows of layout {rows.layout} were searched as they are"], None
    if whole and there is None:
        rows, placed = on_device(rows, placing)
    offsets = row_offsets_of(rows, in_parts=in_parts)
    ends = None
    if _has_loops_or_duplicates(stored):
        on_gpu = backend_of(offsets) == "cuda"
        deduplicated = stored.deduplicated
        ends = edge_ends_on_device(rows, offsets, deduplicated=deduplicated) if on_gpu else edge_ends_of(rows)
    if machine.backend == "cuda" and not whole:
        rows, placed = on_device(rows, placing)
    elif in_parts and placing is not None:
        placed = Placed(placing.plan, {STREAM: rows.arrays[STREAM]})
    if placed is not None:
        notes += [*placed.notes] or [placed.described()]
        placed = None if placed.plan.placement == "device" else placed
    return SearchedGraph(
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        backend=machine.backend,
        first_offsets=_first_offsets(offsets, permutation),
        extra_ends=_extra_ends(ends, offsets, permutation),
        permutation=permutation,
        row_offsets=on_host(offsets),
        columns=None,
        partition=None,
        notes=notes,
        compressed=stored,
        placed=placed,
        rows=rows,
    )


def _read_csr(
    plain: Graph,
    permutation: NDArray[Any] | None,
    machine: Machine,
    notes: list[str],
    placing: Placing | None,
) -> SearchedGraph:
    import numpy

    if not plain.sorted:
        raise StageError("the graph's lists are not sorted", hint="symmetrize sorts them")
    offsets: Any = plain.row_offsets
    columns: Any = plain.column_indices
    if backend_of(columns) == "cpu":
        offsets = numpy.asarray(offsets)
    placed = place_columns(columns, placing)
    if placed is not None:
        columns = placed.arrays[COLUMNS]
        notes += [*placed.notes] or [placed.described()]
        # The system may have refused what was planned.
        placed = None if placed.plan.placement == "device" else placed
    elif backend_of(columns) == "cpu":
        columns = numpy.asarray(columns)
    host_offsets = offsets
    whole = machine.backend == "cuda" and placed is None
    if machine.backend == "cuda":
        import cupy

        from gravel.kernels.placement.device_copies import on_device

        host_offsets = cupy.asnumpy(offsets)
        offsets = on_device(offsets)
        columns = on_device(columns) if whole else columns
    offsets_there = offsets if whole else host_offsets
    ends = _edge_ends(plain, offsets_there, columns, placed)
    return SearchedGraph(
        vertex_count=plain.vertex_count,
        arc_count=plain.arc_count,
        symmetric=plain.symmetric,
        backend=machine.backend,
        first_offsets=_first_offsets(offsets if permutation is not None else host_offsets, permutation),
        extra_ends=_extra_ends(ends, offsets_there, permutation),
        permutation=permutation,
        row_offsets=offsets,
        columns=columns,
        partition=None,
        notes=notes,
        order=plain.method if isinstance(plain, Ordering) else None,
        placed=placed,
    )


def _read_partition(
    plain: Partition | CompressedGraph,
    permutation: NDArray[Any] | None,
    machine: Machine,
    notes: list[str],
) -> SearchedGraph:
    from gravel.stages.partition import load_partition
    from gravel.stages.traversal.encoded_ranks import read_encoded_ranks

    if machine.backend == "cuda":
        notes.append(ON_CPU)
    loaded = load_partition(plain) if isinstance(plain, Partition) else read_encoded_ranks(plain)
    offsets = partition_offsets(loaded)
    ends = None
    if isinstance(plain, Partition) and _has_loops_or_duplicates(plain):
        from gravel.kernels.partition import assemble

        ends = _edge_ends(plain, *assemble(loaded))
    return SearchedGraph(
        vertex_count=plain.vertex_count,
        arc_count=plain.arc_count,
        symmetric=plain.symmetric,
        backend="cpu",
        first_offsets=_first_offsets(offsets, permutation),
        extra_ends=_extra_ends(ends, offsets, permutation),
        permutation=permutation,
        row_offsets=None,
        columns=None,
        partition=loaded,
        stored=plain if isinstance(plain, Partition) else None,
        compressed=None if isinstance(plain, Partition) else plain,
        notes=notes,
    )


def _first_offsets(offsets: Any, permutation: NDArray[Any] | None) -> NDArray[Any]:
    """Make the row offsets in `symmetrize`'s numbering from those of the numbering that is searched."""
    found: Any
    if permutation is None:
        found = on_host(offsets)
    elif backend_of(offsets) == "cuda":
        from gravel.kernels.placement.device_copies import on_device
        from gravel.kernels.relabel_cuda import row_offsets_back as back_on_device

        found = back_on_device(on_device(permutation), offsets).get()
    else:
        from gravel.kernels.relabel import row_offsets_back

        found = row_offsets_back(permutation, offsets)
    return found  # type: ignore[no-any-return]


def _extra_ends(ends: Any | None, offsets: Any, permutation: NDArray[Any] | None) -> Any | None:
    """Take arcs from ends of distinct edges per vertex, in `symmetrize`'s numbering, where they lie."""
    if ends is None:
        return None
    extra = (ends - (offsets[1:] - offsets[:-1])).astype("int32")
    if permutation is None:
        return extra
    if backend_of(extra) == "cuda":
        from gravel.kernels.placement.device_copies import on_device

        permutation = on_device(permutation)
    return extra[permutation]


def _has_loops_or_duplicates(plain: Graph | CompressedGraph | Partition) -> bool:
    return plain.symmetric and (plain.loop_count > 0 or not plain.deduplicated)


def _edge_ends(
    plain: Graph | Partition, offsets: Any, columns: Any, placed: Placed | None = None
) -> Any | None:
    if not _has_loops_or_duplicates(plain):
        return None
    from gravel.kernels.level_statistics import edge_ends

    if placed is not None and placed.plan.placement == "streamed":
        import numpy

        from gravel.stages.compressing.writing import row_ranges

        counts = [numpy.empty(0, numpy.int64)]
        for row, part in row_ranges(offsets):
            several = numpy.asarray(columns[int(part[0]) : int(part[-1])])
            counts.append(edge_ends(part - part[0], several, row))
        return numpy.concatenate(counts)
    if placed is not None and placed.pinned:
        columns = placed.pinned[COLUMNS].array
    if backend_of(columns) == "cuda":
        from gravel.kernels.level_statistics_cuda import edge_ends as count_on_device

        return count_on_device(offsets, columns)
    return edge_ends(offsets, columns)


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
