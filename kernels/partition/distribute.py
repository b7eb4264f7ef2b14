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

from gravel.kernels.jit import serial
from gravel.kernels.partition.layout import (
    NORMAL,
    PartitionedGraph,
    RankGraph,
    Separation,
    Subgraph,
    check_ranks,
    local_count,
    make_rank,
)
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks


def separate(row_offsets: NDArray[Any], *, ranks: int, threshold: int, dtype: Any = None) -> Separation:
    """Find the delegates: the vertices with more than `threshold` out-neighbours (section III-A).

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,).
    dtype : of the delegate list; uint32 below 2^32 vertices by default, else uint64.

    Raises ValueError for fewer than one rank, a negative threshold, or a rank with 2^32 - 1 vertices or more.

    """
    if threshold < 0:
        raise ValueError(f"threshold is {threshold}; it is a number of neighbours, at least 0")
    n = len(row_offsets) - 1
    check_ranks(n, ranks)
    delegates = numpy.flatnonzero(numpy.diff(row_offsets) > threshold)
    delegate_index = numpy.full(n, NORMAL, numpy.uint32)
    delegate_index[delegates] = numpy.arange(len(delegates), dtype=numpy.uint32)
    if dtype is None:
        dtype = numpy.uint32 if n < 1 << 32 else numpy.uint64
    return Separation(ranks, threshold, delegates.astype(dtype), delegate_index)


@serial
def _count_normal(first, last, row_offsets, columns, delegate_index, ranks, rank, nn_counts, nd_counts):  # type: ignore[no-untyped-def]
    for local in range(first, last):
        v = local * ranks + rank
        if delegate_index[v] != NORMAL:
            continue
        to_delegates = 0
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            if delegate_index[numpy.int64(columns[arc])] != NORMAL:
                to_delegates += 1
        nd_counts[local] = to_delegates
        nn_counts[local] = row_offsets[v + 1] - row_offsets[v] - to_delegates


@serial
def _fill_normal(  # type: ignore[no-untyped-def]
    first,
    last,
    row_offsets,
    columns,
    delegate_index,
    ranks,
    rank,
    nn_offsets,
    nn_columns,
    nd_offsets,
    nd_columns,
):
    for local in range(first, last):
        v = local * ranks + rank
        if delegate_index[v] != NORMAL:
            continue
        nn = numpy.int64(nn_offsets[local])
        nd = numpy.int64(nd_offsets[local])
        for arc in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[arc])
            if delegate_index[w] == NORMAL:
                nn_columns[nn] = columns[arc]
                nn += 1
            else:
                nd_columns[nd] = delegate_index[w]
                nd += 1


@serial
def _lower_end(u, w, row_offsets):  # type: ignore[no-untyped-def]
    degree_u = row_offsets[u + 1] - row_offsets[u]
    degree_w = row_offsets[w + 1] - row_offsets[w]
    if degree_u != degree_w:
        return u if degree_u < degree_w else w
    return min(u, w)


@serial
def _count_delegates(  # type: ignore[no-untyped-def]
    first, last, row_offsets, columns, delegates, delegate_index, ranks, rank, dn_counts, dd_counts
):
    for position in range(first, last):
        u = numpy.int64(delegates[position])
        dn = 0
        dd = 0
        for arc in range(row_offsets[u], row_offsets[u + 1]):
            w = numpy.int64(columns[arc])
            if delegate_index[w] == NORMAL:
                if w % ranks == rank:
                    dn += 1
            elif _lower_end(u, w, row_offsets) % ranks == rank:
                dd += 1
        dn_counts[position] = dn
        dd_counts[position] = dd


@serial
def _fill_delegates(  # type: ignore[no-untyped-def]
    first,
    last,
    row_offsets,
    columns,
    delegates,
    delegate_index,
    ranks,
    rank,
    dn_offsets,
    dn_columns,
    dd_offsets,
    dd_columns,
):
    for position in range(first, last):
        u = numpy.int64(delegates[position])
        dn = numpy.int64(dn_offsets[position])
        dd = numpy.int64(dd_offsets[position])
        for arc in range(row_offsets[u], row_offsets[u + 1]):
            w = numpy.int64(columns[arc])
            if delegate_index[w] == NORMAL:
                if w % ranks == rank:
                    dn_columns[dn] = w // ranks
                    dn += 1
            elif _lower_end(u, w, row_offsets) % ranks == rank:
                dd_columns[dd] = delegate_index[w]
                dd += 1


def offsets_of(counts: NDArray[Any]) -> NDArray[Any]:
    """Sum the lengths of rows up: uint32 where all arcs fit, else int64 (rows + 1,)."""
    offsets = numpy.zeros(len(counts) + 1, numpy.int64)
    numpy.cumsum(counts, out=offsets[1:])
    return offsets.astype(numpy.uint32) if offsets[-1] < 1 << 32 else offsets


def build_rank(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], separation: Separation, rank: int
) -> RankGraph:
    """Make one rank's subgraphs, each row in the order of the whole graph's row.

    Parameters
    ----------
    row_offsets, column_indices : the whole graph, int64 and uint32 or uint64.
    rank : 0 to ranks - 1.

    """
    ranks, delegates, index = separation.ranks, separation.delegates, separation.delegate_index
    local = local_count(len(row_offsets) - 1, ranks, rank)
    blocks = even_blocks(local)
    nn_counts, nd_counts = numpy.zeros(local, numpy.int64), numpy.zeros(local, numpy.int64)
    graph = (row_offsets, column_indices)
    run_blocks(lambda a, b: _count_normal(a, b, *graph, index, ranks, rank, nn_counts, nd_counts), blocks)
    nn_offsets, nd_offsets = offsets_of(nn_counts), offsets_of(nd_counts)
    nn_columns = numpy.empty(int(nn_offsets[-1]), column_indices.dtype)
    nd_columns = numpy.empty(int(nd_offsets[-1]), numpy.uint32)
    nn, nd = Subgraph(nn_offsets, nn_columns), Subgraph(nd_offsets, nd_columns)
    run_blocks(lambda a, b: _fill_normal(a, b, *graph, index, ranks, rank, *nn, *nd), blocks)

    rows = delegates.astype(numpy.int64)
    degrees = row_offsets[rows + 1] - row_offsets[rows]
    blocks = row_blocks(numpy.concatenate((numpy.zeros(1, numpy.int64), numpy.cumsum(degrees))))
    dn_counts, dd_counts = (numpy.zeros(len(delegates), numpy.int64) for _ in range(2))
    common = (*graph, delegates, index, ranks, rank)
    run_blocks(lambda a, b: _count_delegates(a, b, *common, dn_counts, dd_counts), blocks)
    dn_offsets, dd_offsets = offsets_of(dn_counts), offsets_of(dd_counts)
    dn = Subgraph(dn_offsets, numpy.empty(int(dn_offsets[-1]), numpy.uint32))
    dd = Subgraph(dd_offsets, numpy.empty(int(dd_offsets[-1]), numpy.uint32))
    run_blocks(lambda a, b: _fill_delegates(a, b, *common, *dn, *dd), blocks)
    return make_rank(rank, {"nn": nn, "nd": nd, "dn": dn, "dd": dd})


def partition(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], *, ranks: int, threshold: int
) -> PartitionedGraph:
    """Split a CSR graph over ranks.

    Parameters
    ----------
    row_offsets : int64 (vertices + 1,).
    column_indices : uint32 or uint64 (arcs,); rows keep their order.
    ranks, threshold : as `separate`, which also says what raises ValueError.

    """
    separation = separate(row_offsets, ranks=ranks, threshold=threshold, dtype=column_indices.dtype)
    return PartitionedGraph(
        ranks=ranks,
        threshold=threshold,
        vertex_count=len(row_offsets) - 1,
        arc_count=len(column_indices),
        delegates=separation.delegates,
        parts=tuple(build_rank(row_offsets, column_indices, separation, rank) for rank in range(ranks)),
    )
