"""A graph in memory, ready for a search, and how one of plain columns is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of, on_host
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.errors import StageError
from gravel.stages.traversal.placing import COLUMNS, COUNTED_AT_ONCE, place_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.partition import PartitionedGraph
    from gravel.kernels.placement import Placed
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.placing import Placing


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

    @property
    def striped(self) -> bool:
        """Whether it is a partition without delegates, whose vertices are dealt in turn."""
        return self.stored is not None and self.stored.scheme == "striped"


def read_columns(
    plain: Graph,
    permutation: NDArray[Any] | None,
    machine: Machine,
    placing: Placing | None,
    notes: Sequence[str] = (),
) -> SearchedGraph:
    """Read a graph of columns, and bring it to where it is searched.

    `placing` says where its rows go; without it, on the device of a GPU. Raises `StageError` where lists are
    not sorted.
    """
    import numpy

    notes = [*notes]

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
    ends = edge_ends_of_columns(plain, offsets_there, columns, placed)
    return SearchedGraph(
        vertex_count=plain.vertex_count,
        arc_count=plain.arc_count,
        symmetric=plain.symmetric,
        backend=machine.backend,
        first_offsets=first_offsets(offsets if permutation is not None else host_offsets, permutation),
        extra_ends=extra_ends(ends, offsets_there, permutation),
        permutation=permutation,
        row_offsets=offsets,
        columns=columns,
        partition=None,
        notes=notes,
        order=plain.method if isinstance(plain, Ordering) else None,
        placed=placed,
    )


def first_offsets(offsets: Any, permutation: NDArray[Any] | None) -> NDArray[Any]:
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


def extra_ends(ends: Any | None, offsets: Any, permutation: NDArray[Any] | None) -> Any | None:
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


def permutation_of(stored: Graph | CompressedGraph | Partition) -> NDArray[Any] | None:
    """Return the permutation, old -> new, of a graph that was renumbered, on the host."""
    import numpy

    permutation = getattr(stored, "permutation", None)
    return None if permutation is None else numpy.asarray(permutation)


def has_loops_or_duplicates(plain: Graph | CompressedGraph | Partition) -> bool:
    """Return whether an undirected graph's arcs do not tell its distinct edges."""
    return plain.symmetric and (plain.loop_count > 0 or not plain.deduplicated)


def edge_ends_of_columns(
    plain: Graph | Partition, offsets: Any, columns: Any, placed: Placed | None = None
) -> Any | None:
    """Count the ends of distinct edges per vertex, where the columns lie; None where arcs tell them."""
    if not has_loops_or_duplicates(plain):
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


class ByteColumns:
    """Columns in an array of bytes, uint8 (arcs * itemsize,), which is read where a slice is asked for."""

    def __init__(self, stream: Any, dtype: Any) -> None:
        import numpy

        self.dtype = numpy.dtype(dtype)
        self._stream = stream

    def __len__(self) -> int:
        return int(len(self._stream) // self.dtype.itemsize)

    def __getitem__(self, wanted: slice) -> NDArray[Any]:
        import numpy

        first, last, _ = wanted.indices(len(self))
        out = numpy.empty(max(0, last - first), self.dtype)
        self.read_into(out, first)
        return out

    def read_into(self, out: NDArray[Any], first: int = 0) -> None:
        """Read the columns from `first` on into `out`."""
        import numpy

        from gravel.kernels.placement.pinned import fill

        fill(out.view(numpy.uint8), self._stream, first * self.dtype.itemsize)


def columns_as_stored(stored: CompressedGraph) -> Graph:
    """Give back a graph of codec `csr` whose columns stay where they are stored.

    Raises `StageError` where there are not as many bytes as the graph has columns.
    """
    import numpy

    from gravel.kernels.arrays import index_dtype

    n, dtype = stored.vertex_count, numpy.dtype(index_dtype(stored.vertex_count))
    byte_offsets = on_host(stored.byte_offsets)
    size = stored.arc_count * dtype.itemsize
    if len(byte_offsets) != n + 1 or len(stored.stream) != size or int(byte_offsets[-1]) != size:
        raise StageError(
            f"the stream has {len(stored.stream)} bytes; {stored.arc_count} columns of {dtype} were expected",
            hint="the compressed graph is damaged; compress it again",
        )
    columns: Any = ByteColumns(stored.stream, dtype)
    return Graph(
        row_offsets=byte_offsets // dtype.itemsize,
        column_indices=columns,
        vertex_count=n,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        sorted=stored.sorted,
        deduplicated=stored.deduplicated,
        loop_count=stored.loop_count,
    )
