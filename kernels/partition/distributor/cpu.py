"""A rank's side of the distributor on the CPU, with NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.buffers import Table, make
from gravel.kernels.csr.rows import RowBuilder
from gravel.kernels.jit import serial
from gravel.kernels.partition.census import LARGEST, capped, classes, of_classes
from gravel.kernels.partition.census_cpu import count_rows
from gravel.kernels.partition.chunks import lower_end, position_of
from gravel.kernels.partition.distributor import buffers
from gravel.kernels.partition.distributor.program import Edges
from gravel.kernels.partition.layout import RankGraph, Subgraph, check_ranks, local_count, make_rank
from gravel.kernels.partition.shares import DelegateIndex, index_delegates, narrow, offsets_of
from gravel.kernels.row_blocks import row_blocks, run_blocks

ROWS = 1 << 18
"""Own vertices whose arcs are counted at once."""


@serial
def count_owners(source, target, ranks, counts):  # type: ignore[no-untyped-def]
    """Count the arcs of edges, both of each that is no loop, by the rank that owns the source."""
    for i in range(len(source)):
        if source[i] != target[i]:
            counts[numpy.int64(source[i]) % ranks] += 1
            counts[numpy.int64(target[i]) % ranks] += 1


@serial
def _sort_by_owner(source, target, ranks, places, rows, columns):  # type: ignore[no-untyped-def]
    """Put both arcs of every edge that is no loop to those of its owner; `columns` may be empty."""
    for i in range(len(source)):
        u = numpy.int64(source[i])
        v = numpy.int64(target[i])
        if u == v:
            continue
        place = places[u % ranks]
        places[u % ranks] = place + 1
        rows[place] = u // ranks
        if len(columns):
            columns[place] = v
        place = places[v % ranks]
        places[v % ranks] = place + 1
        rows[place] = v // ranks
        if len(columns):
            columns[place] = u


@serial
def _flag(vertices, words):  # type: ignore[no-untyped-def]
    for v in vertices:
        words[v >> 6] |= numpy.uint64(1) << numpy.uint64(v & 63)


@serial
def _count_kinds(first, last, offsets, columns, rank, ranks, words, before, degrees, nn, nd, half):  # type: ignore[no-untyped-def]
    """Count a row's arcs that stay here: nn, nd, and of those between delegates the ones that decide."""
    for row in range(first, last):
        u = row * ranks + rank
        position = position_of(u, words, before)
        for arc in range(offsets[row], offsets[row + 1]):
            w = numpy.int64(columns[arc])
            other = position_of(w, words, before)
            if position < 0:
                if other < 0:
                    nn[row] += 1
                else:
                    nd[row] += 1
            elif other >= 0 and lower_end(u, position, w, other, degrees) == u:
                half[row] += 1


@serial
def _fill_kinds(  # type: ignore[no-untyped-def]
    first,
    last,
    offsets,
    columns,
    rank,
    ranks,
    words,
    before,
    degrees,
    nn_starts,
    nd_starts,
    half_starts,
    nn,
    nd,
    tails,
    heads,
    weights,
    nn_weights,
    nd_weights,
    half_weights,
):
    """Put a row's arcs where `_count_kinds` has made room; of arcs without weights there are none."""
    weighted = len(weights) > 0
    for row in range(first, last):
        u = row * ranks + rank
        position = position_of(u, words, before)
        to_normal = numpy.int64(nn_starts[row])
        to_delegate = numpy.int64(nd_starts[row])
        place = numpy.int64(half_starts[row])
        for arc in range(offsets[row], offsets[row + 1]):
            w = numpy.int64(columns[arc])
            other = position_of(w, words, before)
            if position < 0:
                if other < 0:
                    nn[to_normal] = columns[arc]
                    if weighted:
                        nn_weights[to_normal] = weights[arc]
                    to_normal += 1
                else:
                    nd[to_delegate] = other
                    if weighted:
                        nd_weights[to_delegate] = weights[arc]
                    to_delegate += 1
            elif other >= 0 and lower_end(u, position, w, other, degrees) == u:
                tails[place] = position
                heads[place] = other
                if weighted:
                    half_weights[place] = weights[arc]
                place += 1


@serial
def count_columns(columns, counts):  # type: ignore[no-untyped-def]
    """Count how often each column is there."""
    for column in columns:
        counts[column] += 1


@serial
def _turn_around(offsets, columns, places, turned):  # type: ignore[no-untyped-def]
    """Fill the rows of the transpose; those of this matrix ascend, so theirs do."""
    for row in range(len(offsets) - 1):
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = columns[arc]
            turned[places[column]] = row
            places[column] += 1


def _summed(counts: NDArray[numpy.uint32], arcs: int) -> NDArray[Any]:
    """Make offsets of rows from their counts, one entry later, in place where these are wide enough."""
    if arcs >= 1 << 32:
        return offsets_of(counts[1:], arcs)  # type: ignore[no-any-return]
    return numpy.cumsum(counts, dtype=counts.dtype, out=counts)


class RankBuilder:
    """Rank `rank` of `ranks`, in this process (`gravel.kernels.partition.distributor.program.Builder`).

    Raises ValueError for fewer than one rank, or one with 2^32 - 1 vertices or more.
    """

    refused: tuple[int, str] | None = None

    def __init__(self, source: Edges, ranks: int, rank: int) -> None:
        self.source, self.ranks, self.rank = source, ranks, rank
        self._n = source.vertices
        check_ranks(self._n, ranks)
        self._dtype = index_dtype(self._n)
        self._local = local_count(self._n, ranks, rank)
        self._counts = self._of_vertices(buffers.counted_rows(self._local))["counts"]
        self._builder: RowBuilder | None = None
        self._offsets = self._columns = numpy.empty(0, numpy.int64)
        self._all_degrees = numpy.empty(0, numpy.uint8)
        self._index: DelegateIndex | None = None
        self._delegates = numpy.empty(0, self._dtype)
        self._weights: NDArray[Any] = numpy.empty(0, numpy.uint32)  # of arcs, where they have some

    def arcs_by_owner(self, first: int, count: int, *, with_columns: bool) -> Sequence[tuple[Any, ...]]:
        """Make edges, and their arcs by owner: local rows uint32, and columns."""
        source, target = self.source.make(first, count)
        counts = numpy.zeros(self.ranks + 1, numpy.int64)
        count_owners(source, target, self.ranks, counts[1:])
        starts = numpy.cumsum(counts)
        table = buffers.arcs_by_owner(int(starts[-1]), f"u{self._dtype.itemsize}", with_heads=with_columns)
        rows, columns = make(table, numpy).values()
        _sort_by_owner(source, target, self.ranks, starts[:-1].copy(), rows, columns)
        cuts = [slice(starts[rank], starts[rank + 1]) for rank in range(self.ranks)]
        return [(rows[cut], columns[cut]) if with_columns else (rows[cut],) for cut in cuts]

    def count(self, rows: NDArray[Any]) -> None:
        """Count arcs of local rows."""
        count_columns(rows, self._counts[2:])

    def close_counts(self) -> None:
        """Make room for what was counted."""
        self._builder = RowBuilder(self._counts, self._dtype)

    def place(self, rows: NDArray[Any], columns: NDArray[Any]) -> None:
        """Put arcs, all of which were counted, into their rows."""
        assert self._builder is not None
        self._builder.add(rows, columns)

    def close_rows(self) -> None:
        """Sort the rows and drop duplicates."""
        assert self._builder is not None
        self._offsets, self._columns, _ = self._builder.finish(vertex_count=self._n)
        self._builder = None

    def _lengths(self) -> Iterator[tuple[int, NDArray[numpy.int64]]]:
        """Yield the arcs of some own vertices at a time, from the first one's on."""
        for first in range(0, self._local, ROWS):
            yield first, numpy.diff(self._offsets[first : first + ROWS + 1])

    def capped_degrees(self) -> NDArray[numpy.uint8]:
        """Give the classes of the own vertices' degrees."""
        found = numpy.empty(self._local, numpy.uint8)
        for first, lengths in self._lengths():
            found[first : first + len(lengths)] = classes(lengths)
        return found

    def learn_degrees(self, rank: int, first: int, degrees: NDArray[Any]) -> None:
        """Take in classes of a rank's vertices from its local index `first` on."""
        if not len(self._all_degrees):
            self._all_degrees = self._of_vertices(buffers.known_degrees(self._n))["degrees"]
        self._all_degrees[rank + first * self.ranks :: self.ranks][: len(degrees)] = degrees

    def count_ends(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Count own vertices by degree and own arcs by either end; forget all degrees."""
        of_degree = numpy.zeros(LARGEST + 1, numpy.int64)
        for _, lengths in self._lengths():
            some = numpy.bincount(capped(lengths))
            of_degree[: len(some)] += some
        own = self._offsets, self._columns, self.rank, self._all_degrees
        busier, quieter = map(of_classes, count_rows(*own, step=self.ranks, per_thread=1))
        self._all_degrees = numpy.empty(0, numpy.uint8)
        return of_degree, busier, quieter

    def busy_vertices(self, threshold: int) -> tuple[NDArray[Any], NDArray[numpy.int64]]:
        """Give own vertices with more arcs than that, and their degrees."""
        vertices, degrees = [self._delegates[:0]], [numpy.empty(0, numpy.int64)]
        for first, lengths in self._lengths():
            rows = numpy.flatnonzero(lengths > threshold)
            degrees.append(lengths[rows])
            vertices.append(((rows + first) * self.ranks + self.rank).astype(self._dtype))
        return numpy.concatenate(vertices), numpy.concatenate(degrees)

    def learn_delegates(self, vertices: NDArray[Any], degrees: NDArray[numpy.int64]) -> None:
        """Take in all delegates, in any order."""
        self._delegates = numpy.sort(vertices)
        words = buffers.delegate_flags(self._n, "host").make(numpy)
        _flag(self._delegates, words)
        in_order = numpy.empty_like(degrees)
        for first in range(0, len(vertices), ROWS):
            places = numpy.searchsorted(self._delegates, vertices[first : first + ROWS])
            in_order[places] = degrees[first : first + ROWS]
        self._index = index_delegates(words, in_order)

    def together(self, pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Join arrays."""
        return numpy.concatenate(pieces)

    def split(self) -> tuple[RankGraph, NDArray[Any]]:
        """Make the subgraphs, and give them with the delegates."""
        starts, (nn, nd, tails, heads), _ = self._by_kind()
        subgraphs = {"nn": Subgraph(starts[0], nn), "nd": Subgraph(starts[1], nd)}
        subgraphs["dn"] = self._turned(subgraphs["nd"])
        subgraphs["dd"] = self._both_ways(tails, heads)
        return make_rank(self.rank, subgraphs), self._delegates

    def _by_kind(self) -> tuple[list[Any], list[NDArray[Any]], list[NDArray[Any]]]:
        """Divide the rows, and forget them.

        Returns offsets of nn, of nd and of the arcs between delegates that decide; the columns of nn and nd
        and both ends of the others; and the weights of all three, where arcs have some.
        """
        assert self._index is not None
        rows = (self._offsets, self._columns, self.rank, self.ranks, *self._index)
        blocks = row_blocks(self._offsets)
        kinds = [*self._of_vertices(buffers.kinds_of_arcs(self._local)).values()]
        counts = [each[1:] for each in kinds]
        run_blocks(lambda a, b: _count_kinds(a, b, *rows, *counts), blocks)
        arcs = [int(each.sum(dtype=numpy.int64)) for each in counts]
        starts = [_summed(*each) for each in zip(kinds, arcs, strict=True)]
        weights = self._weights
        columns = [*self._made(buffers.columns_by_kind(self._dtype.str[1:], *arcs)).values()]
        carried = buffers.weights_by_kind(weights.dtype.str[1:], *(arcs if len(weights) else (0, 0, 0)))
        of_kinds = [*self._made(carried).values()]
        filled = *rows, *starts, *columns, weights, *of_kinds
        run_blocks(lambda a, b: _fill_kinds(a, b, *filled), blocks)
        self._offsets = self._columns = numpy.empty(0, numpy.int64)
        self._weights = weights[:0]
        self._index = None
        return starts, columns, of_kinds

    def _of_vertices(self, table: Table) -> dict[str, NDArray[Any]]:
        """Make arrays as long as vertices are many."""
        return make(table, numpy)

    def _made(self, table: Table) -> dict[str, NDArray[Any]]:
        """Make arrays as long as arcs of this rank are many."""
        return make(table, numpy)

    def _turned(self, nd: Subgraph) -> Subgraph:
        arcs = len(nd.column_indices)
        counts, columns = make(buffers.rows_of_delegates(len(self._delegates), arcs), numpy).values()
        count_columns(nd.column_indices, counts)
        offsets = offsets_of(counts, arcs)
        _turn_around(*nd, offsets[:-1].astype(numpy.int64), columns)
        return Subgraph(offsets, columns)

    def _both_ways(self, tails: NDArray[Any], heads: NDArray[Any]) -> Subgraph:
        d = len(self._delegates)
        counts = make(buffers.counted_rows(d), numpy)["counts"]
        for ends in (tails, heads):
            count_columns(ends, counts[2:])
        rows = RowBuilder(counts, numpy.uint32, direction="both")
        rows.add(tails, heads)
        offsets, columns, _ = rows.finish(keep_duplicates=True, vertex_count=max(1, d))
        return Subgraph(narrow(offsets), columns)
