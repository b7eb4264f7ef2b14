"""Graphs in memory, ready for a search: of columns or of encoded rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.kernels.algorithms import strategies_for
from gravel.kernels.arrays import backend_of, on_host
from gravel.kernels.layouts.layout import columns_as_rows
from gravel.kernels.strategy import ENCODED
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering, Partition
from gravel.stages.errors import StageError
from gravel.stages.rows import encoded
from gravel.stages.traversal.buffers import COUNTED_AT_ONCE, WHOLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.partition import PartitionedGraph
    from gravel.kernels.placement import Limits, Placed, Plan, Sizes
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters

COLUMNS = "columns"
"""The name of a graph's columns among the arrays that are placed."""

DECODED = "decoded before the search"
STORED_COLUMNS = "rows of codec csr are columns, and were searched as such"

BLOCK = 1 << 20
"""Vertices whose row offsets are gone through at once."""

NOT_SORTED = "the graph's lists are not sorted"


@dataclass(frozen=True)
class Placing:
    """A plan with what it was made from, for when the system refuses what was planned."""

    plan: Plan
    sizes: Sizes
    limits: Limits


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
    first_offsets: Any  # an array, or of ranks what makes it in blocks
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
    weights: Any | None = None  # of the arcs, where shortest paths are searched; wherever they were read

    def described(self) -> dict[str, Any]:
        """Say what was searched; `digest` is the same for every order and layout of a graph."""
        import numpy
        from blake3 import blake3

        digest = blake3(max_threads=blake3.AUTO)
        for first, offsets in offset_blocks(self.first_offsets):
            digest.update(numpy.ascontiguousarray(offsets[first > 0 :]).view(numpy.uint8).data)
        return {
            "vertices": self.vertex_count,
            "arcs": self.arc_count,
            "symmetric": self.symmetric,
            "digest": digest.hexdigest(length=8),
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
    def form(self) -> str:
        """The form of the rows that are searched, as the table of implementations calls it."""
        if self.partition is not None:
            return "ranks"
        return "columns" if self.rows is None else "encoded"

    def starts(self, sources: Any) -> list[int]:
        """Return vertices of `symmetrize`'s numbering in that which is searched."""
        import numpy

        chosen = numpy.asarray(sources, numpy.int64)
        found: list[int] = (chosen if self.permutation is None else self.permutation[chosen]).tolist()
        return found

    def columns_on_host(self) -> NDArray[Any]:
        """Return the columns in host memory, copied or decoded where they are not there."""
        if self.compressed is not None:
            from gravel.kernels.layouts import decode

            columns: NDArray[Any] = decode(encoded.read_rows(self.compressed))[1]
        elif self.placed is not None and COLUMNS in self.placed.pinned:
            columns = self.placed.pinned[COLUMNS].array
        else:
            columns = on_host(self.columns)
        return columns

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
        raise StageError(NOT_SORTED, hint="symmetrize sorts them")
    offsets: Any = plain.row_offsets
    columns: Any = plain.column_indices
    if backend_of(columns) == "cpu":
        offsets = numpy.asarray(offsets)
    placed = placed_arrays({COLUMNS: columns}, placing)
    if placed is not None:
        columns = placed.arrays[COLUMNS]
        notes, placed = _noted(notes, placed)
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


@encoded.damage_refused()
def read_encoded(
    stored: CompressedGraph, permutation: NDArray[Any] | None, machine: Machine, placing: Placing | None
) -> SearchedGraph:
    """Read the rows of a compressed graph as they are stored, and bring them to where they are searched.

    Raises `StageError` for rows that are damaged, or whose lists are not sorted.
    """
    if not stored.sorted:
        raise StageError(NOT_SORTED, hint="symmetrize sorts them")
    on_gpu, placement = machine.backend == "cuda", "device" if placing is None else placing.plan.placement
    whole, in_parts = on_gpu and placement == "device", placement == "streamed"
    if whole:
        rows = encoded.rows_on_device(stored)
    else:
        rows = encoded.streamed_rows(stored) if in_parts else encoded.read_rows(stored)
    notes, placed = [f"rows of layout {rows.layout} were searched as they are"], None
    offsets = encoded.row_offsets_of(rows, in_parts=in_parts)
    ends = None
    if has_loops_or_duplicates(stored) and backend_of(offsets) == "cuda":
        ends = encoded.edge_ends_on_device(rows, offsets, deduplicated=stored.deduplicated)
    elif has_loops_or_duplicates(stored):
        ends = encoded.edge_ends_of(rows)
    if placement not in WHOLE:
        placed = placed_arrays({encoded.STREAM: rows.arrays[encoded.STREAM]}, placing)
    if on_gpu and not whole:
        rows = encoded.on_device(rows, None if placed is None else placed.arrays)
    if placed is not None:
        notes, placed = _noted(notes, placed)
    return SearchedGraph(
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        backend=machine.backend,
        first_offsets=first_offsets(offsets, permutation),
        extra_ends=extra_ends(ends, offsets, permutation),
        permutation=permutation,
        row_offsets=on_host(offsets),
        columns=None,
        partition=None,
        notes=notes,
        compressed=stored,
        placed=placed,
        rows=rows,
    )


def placed_arrays(arrays: dict[str, Any], placing: Placing | None) -> Placed | None:
    """Bring arrays to where they are planned; None where they go the usual way, whole into memory."""
    from gravel.kernels.placement import place

    if placing is None or placing.plan.placement in WHOLE:
        return None
    return place(arrays, placing.plan, placing.sizes, placing.limits)


def _noted(notes: list[str], placed: Placed) -> tuple[list[str], Placed | None]:
    """Say where rows lie; None for whole on the device, since the system may refuse what was planned."""
    notes = [*notes, *([*placed.notes] or [placed.described()])]
    return notes, None if placed.plan.placement == "device" else placed


def offset_blocks(offsets: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield row offsets of some vertices at a time, from the first one's on: one more than vertices."""
    if hasattr(offsets, "blocks"):
        yield from offsets.blocks()
        return
    for first in range(0, max(1, len(offsets) - 1), BLOCK):
        yield first, offsets[first : first + BLOCK + 1]


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
        return encoded.edge_ends_of(columns_as_rows(offsets, columns))
    if placed is not None and placed.pinned:
        columns = placed.pinned[COLUMNS].array
    if backend_of(columns) == "cuda":
        from gravel.kernels.level_statistics_cuda import edge_ends as count_on_device

        return count_on_device(offsets, columns)
    return edge_ends(offsets, columns)


def why_decoded(parameters: TraverseParameters, placement: str, codec: str | None = None) -> str:
    """Say why a compressed graph is decoded before the search; nothing where it is searched as it is.

    Strategies that read columns alone decode them first, as shortest paths and strongly connected components
    do. Rows of codec `csr` are columns.
    """
    if codec == "csr":
        return STORED_COLUMNS
    if parameters.algorithm in ("shortest_paths", "strong_components"):
        return f"{DECODED}: {parameters.algorithm} reads columns"
    if parameters.strategy == "auto" or placement == "streamed":
        return ""
    if parameters.strategy in strategies_for(parameters.algorithm, ENCODED):
        return ""
    return f"{DECODED}: strategy {parameters.strategy} reads columns"
