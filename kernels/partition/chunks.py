"""The edge distributor (Pan, Pearce, Owens 2018, section III-B, algorithm 1): which rank holds which arc.

An arc goes to the owner of its end of lower out-degree, with normal vertices before delegates: a normal
source keeps its arcs (nn, nd), an arc from a delegate to a normal vertex goes to that vertex's owner (dn),
and of two delegates the one of lower out-degree decides (dd), the smaller vertex where they are equal. So
both arcs of an undirected edge meet on one rank, except between normal vertices.

Rows of every subgraph ascend with the graph's, so that a rank's subgraph is what ranges of rows add, one
after another; no more of the graph than a range is in memory. `assemble` makes the graph again: the proof
that nothing is lost.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bits import set_bits
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.partition.distributor import buffers
from gravel.kernels.partition.layout import (
    SUBGRAPHS,
    PartitionedGraph,
    RankGraph,
    Subgraph,
    check_ranks,
    local_count,
    make_rank,
    packed_bits,
    row_lengths,
)
from gravel.kernels.partition.shares import (
    DelegateIndex,
    Share,
    delegates_before,
    index_delegates,
    offsets_of,
)
from gravel.kernels.row_blocks import row_blocks, run_blocks


@serial
def position_of(v, words, before):  # type: ignore[no-untyped-def]
    """Inside kernels: give a vertex's position among the delegates, -1 for a normal vertex."""
    word = words[v >> 6]
    bit = numpy.uint64(v & 63)
    if not (word >> bit) & numpy.uint64(1):
        return numpy.int64(-1)
    below = word & ((numpy.uint64(1) << bit) - numpy.uint64(1))
    return numpy.int64(before[v >> 6]) + numpy.int64(set_bits(below))


@serial
def lower_end(u, position, w, other, degrees):  # type: ignore[no-untyped-def]
    """Inside kernels: give the end of a dd arc that has fewer arcs, the smaller vertex where they equal."""
    if degrees[position] != degrees[other]:
        return u if degrees[position] < degrees[other] else w
    return min(u, w)


@serial
def _place_of(u, position, w, words, before, degrees, ranks):  # type: ignore[no-untyped-def]
    """Give an arc's place in SUBGRAPHS, its rank, and the head's position as `position_of` does."""
    other = position_of(w, words, before)
    if position < 0:
        return (0 if other < 0 else 1), u % ranks, other
    if other < 0:
        return 2, w % ranks, other
    return 3, lower_end(u, position, w, other, degrees) % ranks, other


@serial
def _count(first_row, offsets, columns, words, before, degrees, ranks, low, high, normal, delegate):  # type: ignore[no-untyped-def]
    base = offsets[0]
    seen = 0
    for row in range(len(offsets) - 1):
        u = first_row + row
        position = position_of(u, words, before)
        if position < 0 and not low <= u % ranks < high:
            continue
        for arc in range(offsets[row] - base, offsets[row + 1] - base):
            w = numpy.int64(columns[arc])
            kind, rank, _ = _place_of(u, position, w, words, before, degrees, ranks)
            if kind < 2:
                normal[kind, row] += 1
            elif low <= rank < high:
                delegate[kind - 2, rank - low, seen] += 1
        if position >= 0:
            seen += 1


@serial
def _fill(  # type: ignore[no-untyped-def]
    first_row, offsets, columns, words, before, degrees, ranks, low, high, places, nn, nd, dn, dd
):
    base = offsets[0]
    for row in range(len(offsets) - 1):
        u = first_row + row
        position = position_of(u, words, before)
        if position < 0 and not low <= u % ranks < high:
            continue
        for arc in range(offsets[row] - base, offsets[row + 1] - base):
            w = numpy.int64(columns[arc])
            kind, rank, other = _place_of(u, position, w, words, before, degrees, ranks)
            if not low <= rank < high:
                continue
            place = places[kind, rank - low]
            places[kind, rank - low] = place + 1
            if kind == 0:
                nn[place] = columns[arc]
            elif kind == 1:
                nd[place] = other
            elif kind == 2:
                dn[place] = w // ranks
            else:
                dd[place] = other


def split_rows(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    first_row: int,
    index: DelegateIndex,
    *,
    ranks: int,
    low: int,
    high: int,
) -> list[Share]:
    """Give what a range of rows adds to ranks `low` to `high` - 1.

    Parameters
    ----------
    row_offsets : int64 (rows + 1,), of the range; need not begin at 0.
    columns : of the range alone, uint32 or uint64.
    first_row : the vertex of the first row.

    """
    rows = len(row_offsets) - 1
    delegates = delegates_before(index, first_row + rows) - delegates_before(index, first_row)
    normal, delegate = make(buffers.rows_of_range(rows, high - low, delegates), numpy).values()
    common = (first_row, row_offsets, columns, *index, ranks, low, high)
    _count(*common, normal, delegate)
    # Rows of a rank: those of its own vertices, and those of all delegates.
    own = [slice((rank - first_row) % ranks, None, ranks) for rank in range(low, high)]
    totals = numpy.zeros((4, high - low + 1), numpy.int64)
    for place, mine in enumerate(own):
        totals[:2, place + 1] = normal[:, mine].sum(axis=1, dtype=numpy.int64)
        totals[2:, place + 1] = delegate[:, place].sum(axis=1, dtype=numpy.int64)
    starts = numpy.cumsum(totals, axis=1)
    arcs = map(int, starts[:, -1])
    filled = list(make(buffers.columns_of_range(columns.dtype.str[1:], *arcs), numpy).values())
    _fill(*common, starts[:, :-1].copy(), *filled)
    return [
        Share(
            {
                "nn": normal[0, mine],
                "nd": normal[1, mine],
                "dn": delegate[0, place],
                "dd": delegate[1, place],
            },
            {
                name: filled[kind][starts[kind, place] : starts[kind, place + 1]]
                for kind, name in enumerate(("nn", "nd", "dn", "dd"))
            },
        )
        for place, mine in enumerate(own)
    ]


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
        subgraphs[name] = Subgraph(offsets_of(lengths, len(columns)), columns)
    return make_rank(rank, subgraphs)


@serial
def _put_rows(rows, offsets, columns, names, next_place, result):  # type: ignore[no-untyped-def]
    """Append each subgraph row to its global row; `names` turns a column into a global vertex."""
    for row in range(len(rows)):
        v = rows[row]
        place = next_place[v]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            result[place] = names[column] if len(names) else column
            place += 1
        next_place[v] = place


@serial
def _sort_rows(first, last, row_offsets, columns):  # type: ignore[no-untyped-def]
    for v in range(first, last):
        row = columns[row_offsets[v] : row_offsets[v + 1]]
        for i in range(1, len(row)):
            if row[i] < row[i - 1]:
                row.sort()
                break


def assemble(graph: PartitionedGraph) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give `row_offsets` (int64) and `column_indices` (uint32 or uint64) of the whole graph, rows sorted.

    Raises ValueError when the subgraphs do not hold `arc_count` arcs.
    """
    n = graph.vertex_count
    delegates = graph.delegates.astype(numpy.int64)
    degrees = numpy.zeros(n, numpy.int64)
    for part in graph.parts:
        for name in SUBGRAPHS:
            lengths = row_lengths(part.subgraph(name))
            if name[0] == "n":
                degrees[part.rank :: graph.ranks] += lengths
            else:
                degrees[delegates] += lengths
    row_offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(degrees, out=row_offsets[1:])
    if row_offsets[-1] != graph.arc_count:
        raise ValueError(f"the partition holds {row_offsets[-1]} arcs; it should hold {graph.arc_count}")
    next_place = row_offsets[:-1].copy()
    columns = numpy.empty(graph.arc_count, graph.delegates.dtype)
    everyone = numpy.empty(0, numpy.int64)
    for part in graph.parts:
        owned = numpy.arange(local_count(n, graph.ranks, part.rank), dtype=numpy.int64)
        owned = owned * graph.ranks + part.rank
        meaning = {"nn": everyone, "nd": delegates, "dn": owned, "dd": delegates}
        for name, names in meaning.items():
            rows = owned if name[0] == "n" else delegates
            _put_rows(rows, *part.subgraph(name), names, next_place, columns)
    run_blocks(lambda a, b: _sort_rows(a, b, row_offsets, columns), row_blocks(row_offsets))
    return row_offsets, columns
