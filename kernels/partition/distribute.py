"""The edge distributor (Pan, Pearce, Owens 2018, section III-B, algorithm 1): which rank holds which arc.

An arc goes to the owner of its end of lower out-degree, with normal vertices before delegates: a normal
source keeps its arcs (nn, nd), an arc from a delegate to a normal vertex goes to that vertex's owner (dn),
and of two delegates the one of lower out-degree decides (dd), the smaller vertex where they are equal. So
both arcs of an undirected edge meet on one rank, except between normal vertices.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.chunks import split_rows
from gravel.kernels.partition.layout import (
    SUBGRAPHS,
    PartitionedGraph,
    RankGraph,
    Subgraph,
    check_ranks,
    make_rank,
    packed_bits,
)
from gravel.kernels.partition.shares import Share, index_delegates
from gravel.kernels.row_blocks import row_blocks, run_blocks


def offsets_of(counts: NDArray[Any]) -> NDArray[Any]:
    """Sum the lengths of rows up: uint32 where all arcs fit, else int64 (rows + 1,)."""
    offsets = numpy.zeros(len(counts) + 1, numpy.int64)
    numpy.cumsum(counts, out=offsets[1:])
    return offsets.astype(numpy.uint32) if offsets[-1] < 1 << 32 else offsets


def partition(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], *, ranks: int, threshold: int
) -> PartitionedGraph:
    """Split a CSR graph over ranks; vertices with more than `threshold` out-neighbours become delegates.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,).
    column_indices : uint32 or uint64 (arcs,); rows keep their order.

    Raises ValueError for fewer than one rank, a negative threshold, or a rank with 2^32 - 1 vertices or more.

    """
    if threshold < 0:
        raise ValueError(f"threshold is {threshold}; it is a number of neighbours, at least 0")
    n = len(row_offsets) - 1
    check_ranks(n, ranks)
    degrees = numpy.diff(row_offsets)
    busy = degrees > threshold
    index = index_delegates(packed_bits(busy), degrees[busy])

    def split(first: int, last: int) -> list[Share]:
        columns = column_indices[row_offsets[first] : row_offsets[last]]
        span = {"ranks": ranks, "low": 0, "high": ranks}
        return split_rows(row_offsets[first : last + 1], columns, first, index, **span)

    shares = run_blocks(split, row_blocks(row_offsets) or [(0, 0)])
    return PartitionedGraph(
        ranks=ranks,
        threshold=threshold,
        vertex_count=n,
        arc_count=len(column_indices),
        delegates=numpy.flatnonzero(busy).astype(column_indices.dtype),
        parts=tuple(_joined(rank, [every[rank] for every in shares]) for rank in range(ranks)),
    )


def _joined(rank: int, shares: list[Share]) -> RankGraph:
    """Put what ranges of rows add to a rank one after another."""
    subgraphs = {}
    for name in SUBGRAPHS:
        lengths = numpy.concatenate([share.lengths[name] for share in shares])
        columns = numpy.concatenate([share.columns[name] for share in shares])
        subgraphs[name] = Subgraph(offsets_of(lengths), columns)
    return make_rank(rank, subgraphs)
