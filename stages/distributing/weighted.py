"""A rank's side of the distributor with weights: a column and the bits of its weight travel as one key.

Keys are sorted as on one machine (`gravel.kernels.csr.weighted`), so that parallel arcs become the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.csr.buffers import columns as columns_of
from gravel.kernels.csr.weighted import UnlikeWeights, joined_keys, merge_parallel, split_keys
from gravel.kernels.jit import serial
from gravel.kernels.partition.distributor.buffers import arcs_by_owner, counted_rows
from gravel.kernels.partition.distributor.cpu import count_columns, count_owners
from gravel.kernels.partition.layout import RankGraph, Subgraph, make_rank
from gravel.kernels.partition.shares import narrow
from gravel.stages.distributing import buffers
from gravel.stages.distributing.pieces import NumberedEdges
from gravel.stages.distributing.rows import STEP, SpilledRows, SpillingBuilder, turned_arcs

WeightedArcs = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Rows, columns and weights."""


@serial
def _sort_by_owner(source, target, bits, ranks, places, rows, keys):  # type: ignore[no-untyped-def]
    """Put both arcs of every edge that is no loop to those of its owner."""
    for i in range(len(source)):
        u = numpy.int64(source[i])
        v = numpy.int64(target[i])
        if u == v:
            continue
        weight = numpy.uint64(bits[i])
        place = places[u % ranks]
        places[u % ranks] = place + 1
        rows[place] = u // ranks
        keys[place] = (numpy.uint64(v) << numpy.uint64(32)) | weight
        place = places[v % ranks]
        places[v % ranks] = place + 1
        rows[place] = v // ranks
        keys[place] = (numpy.uint64(u) << numpy.uint64(32)) | weight


class SpilledKeys(SpilledRows):
    """As `SpilledRows`, of keys."""

    def finish_weighted(
        self,
        columns: NDArray[Any],
        weights: NDArray[Any],
        offsets: NDArray[numpy.int64],
        duplicates: str,
        tail_of: Callable[[int], int] = int,
    ) -> int:
        """Write sorted columns, their weights and row offsets; returns as `finish` does.

        Parallel arcs become one as `duplicates` says, or none does with "keep". Raises `UnlikeWeights` for
        those that do not, of the vertex that `tail_of` names.
        """
        end = 0
        for first, last, made in self._made(keep_duplicates=True):
            found, values = split_keys(made.column_indices, weights.dtype)
            ends, kept = made.row_offsets, len(found)
            del made
            if duplicates != "keep":
                kept, _ = merge_parallel(ends, found, values, duplicates, lambda row: tail_of(first + row))  # noqa: B023
            columns[end : end + kept], weights[end : end + kept] = found[:kept], values[:kept]
            offsets[first + 1 : last + 1] = ends[1:] + end
            end += kept
        return end


class WeightedBuilder(SpillingBuilder):
    """As `SpillingBuilder`, of edges with weights; parallel arcs become one as `duplicates` says."""

    def __init__(
        self,
        source: NumberedEdges,
        ranks: int,
        rank: int,
        folder: Path,
        memory: int,
        duplicates: str,
        *,
        in_files: bool,
    ) -> None:
        super().__init__(source, ranks, rank, folder, memory, in_files=in_files)
        assert source.stored is not None
        self._edges, self._duplicates, self._weight = source, duplicates, source.stored.dtype

    def arcs_by_owner(self, first: int, count: int, *, with_columns: bool) -> Sequence[tuple[Any, ...]]:
        """Make edges, and their arcs by owner: local rows uint32, and keys."""
        if not with_columns:
            return super().arcs_by_owner(first, count, with_columns=False)
        ends = self._edges.make(first, count)
        counts = numpy.zeros(self.ranks + 1, numpy.int64)
        count_owners(*ends, self.ranks, counts[1:])
        starts = numpy.cumsum(counts)
        rows, keys = make(arcs_by_owner(int(starts[-1]), "u8"), numpy).values()
        bits = self._edges.weights(first, count).view(numpy.uint32)
        _sort_by_owner(*ends, bits, self.ranks, starts[:-1].copy(), rows, keys)
        cuts = [slice(starts[rank], starts[rank + 1]) for rank in range(self.ranks)]
        return [(rows[cut], keys[cut]) for cut in cuts]

    def close_counts(self) -> None:
        """Cut the rows into ranges that fit."""
        self._rows = self._keys(self._counts, self._n)
        self._counts = numpy.empty(0, numpy.int64)

    def close_rows(self) -> None:
        """Sort the rows and make one arc of parallel ones; those that do not become one are `refused`."""
        keys = self._rows
        assert isinstance(keys, SpilledKeys)
        self._rows = None
        columns, weights = self._room(keys.arcs, self._dtype)
        self._offsets = self._of_vertices((buffers.offsets(self._local),))["offsets"]
        made = columns, weights, self._offsets
        try:
            arcs = keys.finish_weighted(*made, self._duplicates, lambda row: row * self.ranks + self.rank)
        except UnlikeWeights as error:
            self.refused = error.tail, str(error)
            return
        self._columns, self._weights = columns[:arcs], weights[:arcs]

    def split(self) -> tuple[RankGraph, NDArray[Any]]:
        """Make the subgraphs with their weights, and give them with the delegates."""
        starts, (nn, nd, tails, heads), weights = self._by_kind()
        subgraphs = {"nn": Subgraph(starts[0], nn), "nd": Subgraph(starts[1], nd)}
        of = {"nn": weights[0], "nd": weights[1]}

        def turned() -> Iterator[WeightedArcs]:
            for delegates, local, some in turned_arcs(starts[1], nd):
                yield delegates, local, weights[1][some]

        def both_ways() -> Iterator[WeightedArcs]:
            for first in range(0, len(tails), STEP):
                some = slice(first, first + STEP)
                yield tails[some], heads[some], weights[2][some]
                yield heads[some], tails[some], weights[2][some]

        subgraphs["dn"], of["dn"] = self._rows_of_delegates(self._local, turned)
        subgraphs["dd"], of["dd"] = self._rows_of_delegates(len(self._delegates), both_ways)
        return make_rank(self.rank, subgraphs, weights=of), self._delegates

    def _rows_of_delegates(
        self, columns: int, arcs: Callable[[], Iterator[WeightedArcs]]
    ) -> tuple[Subgraph, NDArray[Any]]:
        """Build the rows of delegates, and their weights, from arcs that can be gone through twice."""
        counts = make(counted_rows(len(self._delegates)), numpy)["counts"]
        for rows, _, _ in arcs():
            count_columns(rows, counts[2:])
        keys = self._keys(counts, max(1, columns))
        for rows, heads, weights in arcs():
            keys.add(rows, joined_keys(heads, weights))
        made, of_made = self._room(keys.arcs, numpy.dtype(numpy.uint32))
        offsets = buffers.offsets(len(self._delegates)).make(numpy)
        keys.finish_weighted(made, of_made, offsets, "keep")
        return Subgraph(narrow(offsets), made), of_made

    def _keys(self, counts: NDArray[numpy.int64], columns: int) -> SpilledKeys:
        return self._cut(SpilledKeys, counts, numpy.uint64, columns << 32)

    def _room(self, arcs: int, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Make room for columns and their weights."""
        table = columns_of(arcs, dtype.str[1:], "host"), buffers.weights(arcs, self._weight.str[1:])
        columns, weights = self._made(table).values()
        return columns, weights
