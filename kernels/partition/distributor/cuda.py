"""A rank's side of the distributor on the current GPU, with CuPy arrays; the kernels are `distributor.cu`.

At its height it holds the rank's arcs twice, 16 bytes for each arc that is sorted at once, and 24 bytes for
each own vertex; while degrees are counted 2 bytes for each vertex of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.buffers import make
from gravel.kernels.partition.census import LARGEST
from gravel.kernels.partition.distributor import buffers
from gravel.kernels.partition.distributor.buffers import SORT_ARCS
from gravel.kernels.partition.distributor.program import EdgeSource
from gravel.kernels.partition.distributor.rows_cuda import Kernels, RowsOnDevice, ranges_of
from gravel.kernels.partition.layout import RankGraph, Subgraph, check_ranks, local_count, make_rank
from gravel.kernels.partition.shares import narrow, offsets_of

MAX_RANKS = 1024
"""In `distributor.cu` too: what a block counts in shared memory."""

NN, ND, HALF = 0, 1, 2
"""Kinds of arcs in `distributor.cu`."""


class RankBuilder:
    """Rank `rank` of `ranks` on the current device (`gravel.kernels.partition.distributor.program.Builder`).

    Parameters
    ----------
    sort_arcs : arcs that are sorted at once.
    block : threads of a block.

    Raises ValueError as the CPU's does, and for more than `MAX_RANKS` ranks.

    """

    refused = None

    def __init__(
        self, source: EdgeSource, ranks: int, rank: int, *, sort_arcs: int = SORT_ARCS, block: int = 256
    ) -> None:
        import cupy

        self.source, self.ranks, self.rank = source, ranks, rank
        self._n = source.vertices
        check_ranks(self._n, ranks)
        if ranks > MAX_RANKS:
            raise ValueError(f"{ranks} ranks are too many for GPUs; at most {MAX_RANKS} fit; use fewer")
        self._dtype = index_dtype(self._n)
        self._local = local_count(self._n, ranks, rank)
        self._sizes = {"sort_arcs": sort_arcs, "block": block}
        self._kernels = Kernels(self._dtype, block)
        self._rows = RowsOnDevice(self._local, self._dtype, **self._sizes)
        self._all_degrees = cupy.empty(0, numpy.uint16)
        self._delegates = cupy.empty(0, self._dtype)
        self._index: tuple[Any, ...] = ()

    def arcs_by_owner(self, first: int, count: int, *, with_columns: bool) -> Sequence[tuple[Any, ...]]:
        """Make edges, and their arcs by owner: local rows uint32, and columns."""
        import cupy

        source, target = self.source.make(first, count, "cuda")
        edges, ranks = numpy.uint64(count), numpy.uint32(self.ranks)
        counts = cupy.zeros(self.ranks, numpy.uint64)
        self._kernels.run("count_owners", count, source, target, edges, ranks, counts)
        starts = numpy.zeros(self.ranks + 1, numpy.int64)
        numpy.cumsum(counts.get(), out=starts[1:], dtype=numpy.int64)
        table = buffers.arcs_by_owner(
            int(starts[-1]), f"u{self._dtype.itemsize}", "device", with_heads=with_columns
        )
        rows, columns = make(table, cupy).values()
        places = cupy.asarray(starts[:-1].astype(numpy.uint64))
        asked = ranks, numpy.uint32(with_columns)
        self._kernels.run("sort_by_owner", count, source, target, edges, *asked, places, rows, columns)
        cuts = [slice(int(starts[rank]), int(starts[rank + 1])) for rank in range(self.ranks)]
        return [(rows[cut], columns[cut]) if with_columns else (rows[cut],) for cut in cuts]

    def count(self, rows: Any) -> None:
        """Count arcs of local rows."""
        self._rows.count(rows)

    def close_counts(self) -> None:
        """Make room for what was counted."""
        self._rows.begin()

    def place(self, rows: Any, columns: Any) -> None:
        """Put arcs, all of which were counted, into their rows."""
        self._rows.place(rows, columns)

    def close_rows(self) -> None:
        """Sort the rows and drop duplicates."""
        self._rows.sort(max(1, (self._n - 1).bit_length()), keep_duplicates=False)

    def _degrees(self) -> Any:
        return self._rows.offsets[1:] - self._rows.offsets[:-1]

    def capped_degrees(self) -> Any:
        """Give the degrees of the own vertices as the census takes them."""
        return self._counted_degrees()[0]

    def _counted_degrees(self) -> tuple[Any, Any]:
        """Give these degrees, and how many of the own vertices have each."""
        import cupy

        degrees, of_degree = cupy.empty(self._local, numpy.uint16), cupy.zeros(LARGEST + 1, numpy.int64)
        own = self._rows.offsets, numpy.uint64(self._local)
        self._kernels.run("cap_degrees", self._local, *own, degrees, of_degree)
        return degrees, of_degree

    def learn_degrees(self, rank: int, first: int, degrees: Any) -> None:
        """Take in capped degrees of a rank's vertices from its local index `first` on."""
        import cupy

        if not len(self._all_degrees):
            self._all_degrees = make(buffers.known_degrees(self._n, "device"), cupy)["degrees"]
        self._all_degrees[rank + first * self.ranks :: self.ranks][: len(degrees)] = degrees

    def count_ends(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Count own vertices by degree and own arcs by either end; forget all degrees."""
        import cupy

        of_degree = self._counted_degrees()[1]
        ends = cupy.zeros((2, LARGEST + 1), numpy.int64)
        here = numpy.uint32(self.rank), numpy.uint32(self.ranks), self._all_degrees
        for first, last, begin, stop in self._rows.ranges():
            span = numpy.uint64(first), numpy.uint64(last - first)
            matrix = self._rows.offsets, self._rows.columns
            self._kernels.run("count_ends", stop - begin, *matrix, *span, *here, ends[0], ends[1])
        self._all_degrees = cupy.empty(0, numpy.uint16)
        busier, quieter = ends.get()
        return of_degree.get(), busier, quieter

    def busy_vertices(self, threshold: int) -> tuple[Any, Any]:
        """Give own vertices with more arcs than that, and their degrees, int64 each."""
        import cupy

        degrees = self._degrees()
        rows = cupy.flatnonzero(degrees > threshold)
        return rows * self.ranks + self.rank, degrees[rows]

    def together(self, pieces: Sequence[Any]) -> Any:
        """Join arrays."""
        import cupy

        return cupy.concatenate(pieces)

    def learn_delegates(self, vertices: Any, degrees: Any) -> None:
        """Take in all delegates, in any order."""
        import cupy

        order = cupy.argsort(vertices)
        vertices = vertices[order]
        # CuPy's packbits counts what it packs in 32 bits.
        bits = buffers.delegate_flags(self._n, "device").make(cupy)
        words = len(bits)
        count = len(vertices)
        self._kernels.run("flag_vertices", count, vertices, numpy.uint64(count), bits)
        begins = cupy.arange(words, dtype=numpy.int64) * 64
        before = cupy.zeros(words, numpy.uint32)
        if count:
            before = cupy.searchsorted(vertices, begins).astype(numpy.uint32)
        self._index = bits, before, degrees[order]
        self._delegates = vertices.astype(self._dtype)

    def split(self) -> tuple[RankGraph, Any]:
        """Make the subgraphs, and give them with the delegates."""
        import cupy

        lengths = [cupy.zeros(self._local, numpy.int64) for _ in (NN, ND)]
        pieces: list[list[Any]] = [[cupy.empty(0, self._dtype)], [cupy.empty(0, numpy.uint32)]]
        tails, heads = ([cupy.empty(0, numpy.uint32)] for _ in range(2))
        for first, last, begin, stop in self._rows.ranges():
            kinds, values, rows = self._classified(first, last, stop - begin)
            ends = self._rows.offsets[first : last + 1] - begin
            for kind in (NN, ND):
                chosen = kinds == kind
                upto = cupy.zeros(stop - begin + 1, numpy.int64)
                cupy.cumsum(chosen, out=upto[1:])
                upto = upto[ends]
                lengths[kind][first:last] = upto[1:] - upto[:-1]
                pieces[kind].append(values[chosen].astype(pieces[kind][0].dtype))
            chosen = kinds == HALF
            tails.append(rows[chosen])
            heads.append(values[chosen].astype(numpy.uint32))
        self._rows = RowsOnDevice(0, self._dtype, **self._sizes)
        self._index = ()
        columns = [_joined(pieces[kind]) for kind in (NN, ND)]
        nn, nd = (
            Subgraph(offsets_of(lengths[kind], len(columns[kind]), cupy), columns[kind]) for kind in (NN, ND)
        )
        dn = self._turned(lengths[ND], nd.column_indices)
        dd = self._both_ways(_joined(tails), _joined(heads))
        return make_rank(self.rank, {"nn": nn, "nd": nd, "dn": dn, "dd": dd}, cupy), self._delegates

    def _classified(self, first: int, last: int, arcs: int) -> tuple[Any, Any, Any]:
        import cupy

        kinds, values, rows = make(buffers.classified(arcs, self._dtype.str[1:]), cupy).values()
        span = numpy.uint64(first), numpy.uint64(last - first)
        here = numpy.uint32(self.rank), numpy.uint32(self.ranks)
        matrix = self._rows.offsets, self._rows.columns
        self._kernels.run("classify", arcs, *matrix, *span, *here, *self._index, kinds, values, rows)
        return kinds, values, rows

    def _turned(self, lengths: Any, columns: Any) -> Subgraph:
        """Turn nd around: dn has a row for each delegate, and local vertices in it."""
        import cupy

        turned = RowsOnDevice(len(self._delegates), numpy.uint32, **self._sizes)
        turned.count(columns)
        turned.begin()
        offsets = buffers.offsets_on_gpu(self._local).make(cupy)
        cupy.cumsum(lengths, out=offsets[1:])
        for first, last, begin, stop in ranges_of(offsets, self._sizes["sort_arcs"]):
            rows = cupy.empty(stop - begin, numpy.uint32)
            span = numpy.uint64(first), numpy.uint64(last - first)
            self._kernels.run("name_rows", stop - begin, offsets, *span, rows)
            turned.place(columns[begin:stop], rows)
        turned.sort(max(1, (self._local - 1).bit_length()), keep_duplicates=True)
        return Subgraph(narrow(turned.offsets), turned.columns)

    def _both_ways(self, tails: Any, heads: Any) -> Subgraph:
        both = RowsOnDevice(len(self._delegates), numpy.uint32, **self._sizes)
        for ends in (tails, heads):
            both.count(ends)
        both.begin()
        both.place(tails, heads)
        both.place(heads, tails)
        both.sort(max(1, (len(self._delegates) - 1).bit_length()), keep_duplicates=True)
        return Subgraph(narrow(both.offsets), both.columns)


def _joined(pieces: list[Any]) -> Any:
    """Join arrays, and let go of them."""
    import cupy

    whole = cupy.empty(sum(map(len, pieces)), pieces[0].dtype)
    end = 0
    for place, piece in enumerate(pieces):
        whole[end : end + len(piece)] = piece
        end += len(piece)
        pieces[place] = whole[:0]
    return whole
