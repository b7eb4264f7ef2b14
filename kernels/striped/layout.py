"""The arrays of a striped graph: each rank's rows, and what a range of rows adds to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.layout import PartitionedGraph, Subgraph, check_ranks, make_rank
from gravel.kernels.partition.shares import Share


@dataclass(frozen=True)
class StripedRank:
    """One rank's rows: row v // p is that of vertex v, columns are vertices of the whole graph.

    Offsets are uint32 where they fit, else int64; columns uint32, from 2^32 vertices on uint64.
    """

    rank: int
    row_offsets: NDArray[Any]
    column_indices: NDArray[Any]


@dataclass(frozen=True)
class StripedGraph:
    """A whole graph over `ranks` ranks; `parts[r]` has the rows of every vertex v with v mod p = r."""

    ranks: int
    vertex_count: int
    arc_count: int
    parts: tuple[StripedRank, ...]


@serial
def _copy_rows(start, step, offsets, columns, target):  # type: ignore[no-untyped-def]
    """Put the columns of rows start, start + step, ... one after the other."""
    base = offsets[0]
    place = 0
    for row in range(start, len(offsets) - 1, step):
        for arc in range(offsets[row] - base, offsets[row + 1] - base):
            target[place] = columns[arc]
            place += 1


def stripe_rows(
    offsets: NDArray[Any], columns: NDArray[Any], first_row: int, *, ranks: int, low: int, high: int
) -> list[Share]:
    """Divide a range of rows among the ranks `low` to `high` - 1.

    Parameters
    ----------
    offsets : int64 (rows + 1,), of the rows from `first_row` on; may begin anywhere.
    columns : the range's columns.

    Returns each rank's share, whose only subgraph is called nn, as if no vertex were a delegate.

    """
    lengths = numpy.diff(offsets)
    shares = []
    for rank in range(low, high):
        start = (rank - first_row) % ranks
        own = lengths[start::ranks]
        mine = numpy.empty(int(own.sum()), columns.dtype)
        _copy_rows(start, ranks, offsets, columns, mine)
        shares.append(Share({"nn": own.astype(numpy.uint32)}, {"nn": mine}))
    return shares


def stripe(row_offsets: NDArray[Any], column_indices: NDArray[Any], *, ranks: int) -> StripedGraph:
    """Divide a graph among ranks (Merrill, Garland, Grimshaw 2012, section 6.1).

    Raises ValueError when a rank's vertices would not fit 32-bit local ids.
    """
    n = len(row_offsets) - 1
    check_ranks(n, ranks)
    parts = []
    for rank, share in enumerate(stripe_rows(row_offsets, column_indices, 0, ranks=ranks, low=0, high=ranks)):
        columns = share.columns["nn"]
        dtype = numpy.uint32 if len(columns) < 1 << 32 else numpy.int64
        offsets = numpy.zeros(len(share.lengths["nn"]) + 1, dtype)
        numpy.cumsum(share.lengths["nn"], out=offsets[1:])
        parts.append(StripedRank(rank, offsets, columns))
    return StripedGraph(ranks, n, len(column_indices), tuple(parts))


def to_arrays(part: StripedRank) -> dict[str, NDArray[Any]]:
    """Name one rank's arrays as they are stored."""
    prefix = f"rank{part.rank}/nn"
    return {f"{prefix}/row_offsets": part.row_offsets, f"{prefix}/column_indices": part.column_indices}


def rank_from_arrays(arrays: Mapping[str, Any], rank: int) -> StripedRank:
    """Read one rank's arrays by their stored names; raises ValueError when one is missing."""
    names = [f"rank{rank}/nn/{name}" for name in ("row_offsets", "column_indices")]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"the partition has no array {missing[0]!r}")
    offsets, columns = (numpy.asarray(arrays[name]) for name in names)
    return StripedRank(rank, offsets, columns)


def from_arrays(arrays: Mapping[str, Any], *, ranks: int, vertex_count: int, arc_count: int) -> StripedGraph:
    """Read all ranks of a stored partition; raises ValueError when an array is missing."""
    parts = tuple(rank_from_arrays(arrays, rank) for rank in range(ranks))
    return StripedGraph(ranks, vertex_count, arc_count, parts)


def from_partition(graph: PartitionedGraph) -> StripedGraph:
    """Give a partition without delegates as the stripes that it is; raises ValueError where it has some."""
    if len(graph.delegates):
        raise ValueError(f"the partition has {len(graph.delegates)} delegates, and stripes have none")
    parts = tuple(StripedRank(part.rank, *part.nn) for part in graph.parts)
    return StripedGraph(graph.ranks, graph.vertex_count, graph.arc_count, parts)


def as_partition(graph: StripedGraph) -> PartitionedGraph:
    """Give the same graph as a partition without delegates, which shares its columns.

    So a striped graph can be put together again and its components found.
    """
    index = numpy.uint32 if graph.vertex_count < 1 << 32 else numpy.uint64
    nobody = Subgraph(numpy.zeros(1, numpy.uint32), numpy.empty(0, numpy.uint32))
    parts = []
    for part in graph.parts:
        empty = Subgraph(numpy.zeros(len(part.row_offsets), numpy.uint32), numpy.empty(0, numpy.uint32))
        own = Subgraph(part.row_offsets, part.column_indices)
        parts.append(make_rank(part.rank, {"nn": own, "nd": empty, "dn": nobody, "dd": nobody}))
    return PartitionedGraph(
        ranks=graph.ranks,
        threshold=max((int(numpy.diff(part.row_offsets).max(initial=0)) for part in graph.parts), default=0),
        vertex_count=graph.vertex_count,
        arc_count=graph.arc_count,
        delegates=numpy.empty(0, index),
        parts=tuple(parts),
    )
