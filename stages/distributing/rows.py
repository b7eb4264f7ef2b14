"""A rank's side of the distributor with arcs on disk: rows are built range by range, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import Table, make
from gravel.kernels.csr import Rows
from gravel.kernels.csr.buffers import ROW
from gravel.kernels.csr.buffers import columns as columns_of
from gravel.kernels.csr.rows import RowBuilder
from gravel.kernels.csr.split import split
from gravel.kernels.partition.distributor.buffers import counted_rows, rows_of_delegates
from gravel.kernels.partition.distributor.cpu import RankBuilder, count_columns
from gravel.kernels.partition.layout import Subgraph
from gravel.kernels.partition.shares import narrow
from gravel.stages.distributing import buffers
from gravel.stages.distributing.pieces import NumberedEdges
from gravel.stages.errors import StageError
from gravel.stages.partitioning.ranges import allocated
from gravel.stages.symmetrizing.building import Spool, plan_ranges

Arcs = tuple[NDArray[Any], NDArray[Any]]

STEP = 1 << 20
"""Arcs that are turned around at once."""


class SpilledRows:
    """Rows that are filled in any order, and sorted range by range where they do not fit `memory` at once.

    `counts` int64 (rows + 2,) has the arcs of row r at counts[r + 2], and is used up.
    """

    def __init__(
        self, folder: Path, counts: NDArray[numpy.int64], dtype: Any, vertex_count: int, memory: int
    ) -> None:
        self._counts, self._vertex_count = counts, vertex_count
        self.arcs = int(counts[2:].sum())
        self._dtype = numpy.dtype(dtype)
        self.bounds = plan_ranges(
            counts[2:], budget=memory, bytes_per_arc=2 * self._dtype.itemsize, bytes_per_row=ROW
        )
        self._ends = numpy.array(self.bounds)
        self._whole = RowBuilder(counts, self._dtype) if len(self.bounds) == 2 else None
        # Rows of a rank are fewer than 2^32, whatever is in them.
        self._spool = Spool(folder, len(self.bounds) - 1, numpy.dtype(numpy.uint32), self._dtype)

    def add(self, rows: NDArray[Any], columns: NDArray[Any]) -> None:
        """Put arcs, all of which were counted, into their rows."""
        if self._whole is not None:
            self._whole.add(rows, columns)
        else:
            arcs = rows.astype(numpy.uint32, copy=False), columns.astype(self._dtype, copy=False)
            self._spool.add(*split(*arcs, self._ends, direction="as_given", keep_loops=True))

    def finish(self, columns: NDArray[Any], offsets: NDArray[numpy.int64], *, keep_duplicates: bool) -> int:
        """Write sorted columns to the front of an array, and row offsets; returns the count of columns."""
        end = 0
        for first, last, made in self._made(keep_duplicates=keep_duplicates):
            columns[end : end + len(made.column_indices)] = made.column_indices
            offsets[first + 1 : last + 1] = made.row_offsets[1:] + end
            end += len(made.column_indices)
        return end

    def _made(self, *, keep_duplicates: bool) -> Iterator[tuple[int, int, Rows]]:
        """Sort one range after the other; yields its first row, its end and its rows."""
        with closing(self._spool):
            for index, (first, last) in enumerate(pairwise(self.bounds)):
                builder = self._whole or RowBuilder(
                    self._counts[first : last + 2].copy(), self._dtype, first_vertex=first
                )
                for rows, heads in self._spool.blocks(index):
                    builder.add(rows, heads)
                self._whole = None
                made = builder.finish(keep_duplicates=keep_duplicates, vertex_count=self._vertex_count)
                del builder
                yield first, last, made
                self._spool.remove(index)


Spilled = TypeVar("Spilled", bound=SpilledRows)


class SpillingBuilder(RankBuilder):
    """Rank `rank` of `ranks` of a graph from files, with `memory` bytes for arcs and the rest in files.

    With `in_files`, what vertices take is in files, too. Raises StageError where the arcs of one vertex do
    not fit.
    """

    def __init__(
        self, source: NumberedEdges, ranks: int, rank: int, folder: Path, memory: int, *, in_files: bool
    ) -> None:
        self._folder, self._memory, self._in_files = folder, memory, in_files
        self._files = count()
        self._rows: SpilledRows | None = None
        super().__init__(source, ranks, rank)

    def close_counts(self) -> None:
        """Cut the rows into ranges that fit."""
        self._rows = self._spilled(self._counts, self._dtype, self._n)
        self._counts = numpy.empty(0, numpy.int64)

    def place(self, rows: NDArray[Any], columns: NDArray[Any]) -> None:
        """Put arcs, all of which were counted, into their rows."""
        assert self._rows is not None
        self._rows.add(rows, columns)

    def close_rows(self) -> None:
        """Sort the rows and drop duplicates."""
        assert self._rows is not None
        table = (columns_of(self._rows.arcs, self._dtype.str[1:], "host"),)
        columns = self._made(table)["columns"]
        self._offsets = self._of_vertices((buffers.offsets(self._local),))["offsets"]
        arcs = self._rows.finish(columns, self._offsets, keep_duplicates=False)
        self._columns = columns[:arcs]
        self._rows = None

    def _spilled(self, counts: NDArray[numpy.int64], dtype: Any, vertex_count: int) -> SpilledRows:
        return self._cut(SpilledRows, counts, dtype, vertex_count)

    def _cut(
        self, kind: type[Spilled], counts: NDArray[numpy.int64], dtype: Any, vertex_count: int
    ) -> Spilled:
        try:
            return kind(self._folder, counts, dtype, vertex_count, self._memory)
        except StageError as error:
            raise StageError(error.message, hint="give `memory` more, or leave that vertex out") from None

    def _of_vertices(self, table: Table) -> dict[str, NDArray[Any]]:
        return self._made(table) if self._in_files else super()._of_vertices(table)

    def _made(self, table: Table) -> dict[str, NDArray[Any]]:
        """Make arrays in the pages of files, which the system writes out where memory is short."""
        made = {}
        for each in table:
            assert isinstance(each.length, int)
            file = allocated(self._folder / f"array{next(self._files)}", each.dtype, each.length)
            made[each.name] = numpy.asarray(file.map("r+"))
            file.path.unlink()
        return made

    def _turned(self, nd: Subgraph) -> Subgraph:
        turned = lambda: (arcs[:2] for arcs in turned_arcs(*nd))  # noqa: E731
        return self._of_delegates(len(nd.row_offsets) - 1, turned)

    def _both_ways(self, tails: NDArray[Any], heads: NDArray[Any]) -> Subgraph:
        def arcs() -> Iterator[Arcs]:
            for first in range(0, len(tails), STEP):
                some = tails[first : first + STEP], heads[first : first + STEP]
                yield some
                yield some[::-1]

        return self._of_delegates(len(self._delegates), arcs)

    def _of_delegates(self, columns: int, arcs: Any) -> Subgraph:
        """Build the rows of delegates from arcs that can be gone through twice."""
        counts = make(counted_rows(len(self._delegates)), numpy)["counts"]
        for rows, _ in arcs():
            count_columns(rows, counts[2:])
        spilled = self._spilled(counts, numpy.uint32, max(1, columns))
        for rows, heads in arcs():
            spilled.add(rows, heads)
        made = self._made(rows_of_delegates(0, spilled.arcs)[1:])["columns"]
        offsets = buffers.offsets(len(self._delegates)).make(numpy)
        spilled.finish(made, offsets, keep_duplicates=True)
        return Subgraph(narrow(offsets), made)


def turned_arcs(
    offsets: NDArray[Any], columns: NDArray[Any]
) -> Iterator[tuple[NDArray[Any], NDArray[Any], slice]]:
    """Yield the arcs of rows turned around, about `STEP` of at most as many rows, and which arcs they are."""
    first, rows = 0, len(offsets) - 1
    while first < rows:
        begin, upto = int(offsets[first]), min(rows, first + STEP)
        fits = int(numpy.searchsorted(offsets[first : upto + 1], begin + STEP, side="right")) - 1
        last = min(upto, first + max(1, fits))
        names = numpy.arange(first, last, dtype=numpy.uint32)
        some = slice(begin, int(offsets[last]))
        yield columns[some], numpy.repeat(names, numpy.diff(offsets[first : last + 1])), some
        first = last
