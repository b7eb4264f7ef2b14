"""The loops of a rank's checks of components on the CPU."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.layout import Subgraph
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks
from gravel.kernels.verify.forest import plant, point_at_roots, unite
from gravel.kernels.verify.ranks.labels import LabelChecker

NN, ND, DD = 0, 1, 2
"""Subgraphs that have every edge of a rank at least once; dn is nd turned around."""


@serial
def _unlike_rows(  # type: ignore[no-untyped-def]
    first, last, nn_offsets, nn_columns, nd_offsets, nd_columns, delegates, rank, ranks, labels, flags
):
    for row in range(first, last):
        own = labels[row * ranks + rank]
        unlike = False
        for arc in range(numpy.int64(nn_offsets[row]), numpy.int64(nn_offsets[row + 1])):
            unlike |= labels[numpy.int64(nn_columns[arc])] != own
        for arc in range(numpy.int64(nd_offsets[row]), numpy.int64(nd_offsets[row + 1])):
            unlike |= labels[numpy.int64(delegates[nd_columns[arc]])] != own
        flags[row] = unlike


@serial
def _unlike_delegates(  # type: ignore[no-untyped-def]
    first, last, offsets, columns, of_delegates, delegates, rank, ranks, labels, flags
):
    for row in range(first, last):
        own = labels[numpy.int64(delegates[row])]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            w = numpy.int64(delegates[column]) if of_delegates else column * ranks + rank
            if labels[w] != own:
                flags[row] = 1
                break


@serial
def _join(offsets, columns, kind, delegates, rank, ranks, parents):  # type: ignore[no-untyped-def]
    """Unite the ends of a subgraph's arcs; of nn and dd arcs, which go both ways, of those that descend."""
    for row in range(len(offsets) - 1):
        v = numpy.int64(delegates[row]) if kind == DD else row * ranks + rank
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            w = column if kind == NN else numpy.int64(delegates[column])
            if kind == ND or w < v:
                unite(parents, v, w)


@serial
def _join_labels(parents, first, given):  # type: ignore[no-untyped-def]
    for place in range(len(given)):
        if numpy.int64(given[place]) != first + place:
            unite(parents, first + place, numpy.int64(given[place]))


class RankLabelChecker(LabelChecker):
    """A rank's checks on all threads of this process, but for the forest, which one thread makes."""

    xp = numpy

    def unlike_rows(self) -> NDArray[numpy.uint8]:
        """Tell which own vertices have a neighbour of another label in their nn and nd rows."""
        flags = numpy.zeros(self.local, numpy.uint8)
        rows = (*self.part.nn, *self.part.nd, self.delegates, self.rank, self.ranks, self.known, flags)
        run_blocks(lambda a, b: _unlike_rows(a, b, *rows), even_blocks(self.local))
        return flags

    def unlike_delegates(self) -> NDArray[numpy.uint8]:
        """Tell which delegates have one in this rank's part of their rows."""
        flags = numpy.zeros(len(self.delegates), numpy.uint8)
        for rows, of_delegates in ((self.part.dn, False), (self.part.dd, True)):
            self._see(rows, of_delegates, flags)
        return flags

    def _see(self, rows: Subgraph, of_delegates: bool, flags: Any) -> None:
        rest = (of_delegates, self.delegates, self.rank, self.ranks, self.known, flags)
        run_blocks(lambda a, b: _unlike_delegates(a, b, *rows, *rest), row_blocks(rows.row_offsets))

    def join_own(self) -> None:
        """Make the forest of the arcs that are held here."""
        plant(self.known)
        part = self.part
        for kind, rows in ((NN, part.nn), (ND, part.nd), (DD, part.dd)):
            _join(*rows, kind, self.delegates, self.rank, self.ranks, self.known)

    def join_labels(self, first: int, parents: Any) -> None:
        """Join vertices from `first` on with the parents that another rank has for them."""
        _join_labels(self.known, first, parents)

    def flatten(self) -> None:
        """Point every vertex at its root."""
        point_at_roots(self.known)
