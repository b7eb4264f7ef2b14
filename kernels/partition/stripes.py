"""Striped graphs (Merrill, Garland, Grimshaw, PPoPP 2012, section 6.1): partitions without delegates.

Row v // p of rank v mod p is that of vertex v, and lies in nn; columns are vertices of the whole graph. The
only arrays that are stored are called `rank3/nn/row_offsets` and `rank3/nn/column_indices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.chunks import offsets_of
from gravel.kernels.partition.layout import PartitionedGraph, RankGraph, Subgraph, check_ranks, row_lengths
from gravel.kernels.partition.shares import Share


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


def stripe(row_offsets: NDArray[Any], column_indices: NDArray[Any], *, ranks: int) -> PartitionedGraph:
    """Divide a graph among ranks (Merrill, Garland, Grimshaw 2012, section 6.1).

    Raises ValueError when a rank's vertices would not fit 32-bit local ids.
    """
    n = len(row_offsets) - 1
    check_ranks(n, ranks)
    shares = stripe_rows(row_offsets, column_indices, 0, ranks=ranks, low=0, high=ranks)
    rows = [Subgraph(offsets_of(share.lengths["nn"]), share.columns["nn"]) for share in shares]
    return _of_ranks([_rank(rank, nn) for rank, nn in enumerate(rows)], n, len(column_indices))


def rank_from_arrays(arrays: Mapping[str, Any], rank: int) -> RankGraph:
    """Read one rank's arrays by their stored names; raises ValueError when one is missing."""
    names = [f"rank{rank}/nn/{name}" for name in ("row_offsets", "column_indices")]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"the partition has no array {missing[0]!r}")
    return _rank(rank, Subgraph(*(numpy.asarray(arrays[name]) for name in names)))


def from_arrays(
    arrays: Mapping[str, Any], *, ranks: int, vertex_count: int, arc_count: int
) -> PartitionedGraph:
    """Read all ranks of a stored partition; raises ValueError when an array is missing."""
    return _of_ranks([rank_from_arrays(arrays, rank) for rank in range(ranks)], vertex_count, arc_count)


def _rank(rank: int, nn: Subgraph) -> RankGraph:
    """Give a rank all of whose vertices are normal."""
    nothing, no_mask = numpy.empty(0, numpy.uint32), numpy.empty(0, numpy.uint64)
    nd = Subgraph(numpy.zeros(len(nn.row_offsets), numpy.uint32), nothing)
    nobody = Subgraph(numpy.zeros(1, numpy.uint32), nothing)
    return RankGraph(rank, nn, nd, nobody, nobody, nothing, no_mask, no_mask)


def _of_ranks(parts: Sequence[RankGraph], vertex_count: int, arc_count: int) -> PartitionedGraph:
    return PartitionedGraph(
        ranks=len(parts),
        threshold=max((int(row_lengths(part.nn).max(initial=0)) for part in parts), default=0),
        vertex_count=vertex_count,
        arc_count=arc_count,
        delegates=numpy.empty(0, parts[0].nn.column_indices.dtype),
        parts=tuple(parts),
    )
