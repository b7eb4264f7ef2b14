"""One rank's labels while components are found, and its local steps between two exchanges.

Labels are int64 vertices. `labels` are those of the rank's own vertices, a delegate's at its owner; `grand`
the labels of those labels. Of the delegates every rank holds `delegate_grand`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.partition.buffers import components_on_cpu
from gravel.kernels.partition.layout import RankPart, row_lengths
from gravel.kernels.partition.visits import smallest_each

UNSENT = numpy.iinfo(numpy.int64).max
"""Larger than any label."""


class Pairs(NamedTuple):
    """Labels for some places of a rank, or of the delegates: the smaller ones stay."""

    places: NDArray[Any]  # uint32
    values: NDArray[Any]  # in the type of a vertex

    @property
    def nbytes(self) -> int:
        """Count what they take on their way."""
        return int(self.places.nbytes + self.values.nbytes)


@serial
def _best_neighbours(rows, offsets, columns, row_labels, column_labels, best_rows, best_columns):  # type: ignore[no-untyped-def]
    """Give both ends of every arc the smaller of what they know and the other end's label."""
    for row in range(rows):
        own = row_labels[row]
        best = best_rows[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            best = min(best, column_labels[column])
            best_columns[column] = min(best_columns[column], own)
        best_rows[row] = best


@serial
def keep_smaller(places, values, labels):  # type: ignore[no-untyped-def]
    """Lower `labels[places]` to `values` where these are smaller."""
    for position in range(len(places)):
        place = numpy.int64(places[position])
        value = numpy.int64(values[position])
        labels[place] = min(labels[place], value)


class ComponentsRank:
    """One rank's state; `start` makes every vertex its own component again.

    Parameters
    ----------
    symmetric : whether every arc has its reverse. Without it a rank also asks for the labels of the other
        ends of its nn arcs; `wanted(r)` are those of rank r.

    """

    def __init__(self, whole: RankPart, *, symmetric: bool) -> None:
        part, delegates, ranks = whole.graph, whole.delegates, whole.ranks
        self.part, self.rank, self.ranks, self.symmetric = part, part.rank, ranks, symmetric
        self.vertex_dtype = delegates.dtype
        self.own = numpy.flatnonzero(delegates % ranks == part.rank)
        columns = part.nn.column_indices
        self._local = whole.local
        kept = make(components_on_cpu(self._local, len(delegates), len(columns)), numpy)
        self.labels, self._sent = kept["labels"], kept["sent"]
        self.delegates, self.delegate_grand = kept["delegates"], kept["delegate_grand"]
        self._tails, self._heads = kept["tails"], kept["heads"]
        self.delegates[:] = delegates
        self.own_places = self.delegates[self.own] // ranks
        owners = (columns % columns.dtype.type(ranks)).astype(numpy.uint16)
        order = numpy.argsort(owners, kind="stable")
        self._starts = numpy.searchsorted(owners[order], numpy.arange(ranks + 1))
        rows = numpy.repeat(numpy.arange(self._local, dtype=numpy.uint32), row_lengths(part.nn))
        # Without a mode, NumPy makes a copy of what it takes.
        numpy.take(rows, order, out=self._tails, mode="clip")
        heads = (columns // columns.dtype.type(ranks)).astype(numpy.uint32)
        numpy.take(heads, order, out=self._heads, mode="clip")
        self._distinct: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
        if not symmetric:
            for other in range(ranks):
                self._distinct[other] = numpy.unique(self._heads[self._arcs_to(other)], return_inverse=True)
        self.start()

    def _arcs_to(self, rank: int) -> slice:
        return slice(int(self._starts[rank]), int(self._starts[rank + 1]))

    def start(self) -> None:
        """Forget all that was found."""
        self.labels[:] = numpy.arange(self.rank, self.rank + self._local * self.ranks, self.ranks)
        self.grand = self._best = self.labels
        self.delegate_grand[:] = self.delegates
        self._sent.fill(UNSENT)

    def wanted(self, rank: int) -> NDArray[Any]:
        """Give the places at a rank to which nn arcs lead from here, uint32, each once."""
        return self._distinct[rank][0]

    def visit_delegates(self) -> Pairs:
        """Follow nd, dn and dd arcs; returns what delegates can be lowered to."""
        part, best = self.part, self.grand.copy()
        best_delegates = self.delegate_grand.copy()
        here, there = self.grand, self.delegate_grand
        _best_neighbours(len(best), *part.nd, here, there, best, best_delegates)
        _best_neighbours(len(best_delegates), *part.dn, there, here, best_delegates, best)
        _best_neighbours(len(best_delegates), *part.dd, there, there, best_delegates, best_delegates)
        self._best = best
        falls = numpy.flatnonzero(best_delegates < self.delegate_grand)
        return Pairs(falls.astype(numpy.uint32), best_delegates[falls].astype(self.vertex_dtype))

    def visit_normals(self) -> list[Pairs]:
        """Give what the heads of nn arcs can be lowered to, by rank; only tails that fell since last time.

        A head was lowered to what it was sent before, so that sending it again would change nothing.
        """
        fell = self.grand < self._sent
        self._sent[:] = self.grand
        found = []
        for rank in range(self.ranks):
            arcs = self._arcs_to(rank)
            tails = self._tails[arcs]
            live = fell[tails]
            values = self.grand[tails[live]]
            heads, values = smallest_each(self._heads[arcs][live], values)
            found.append(Pairs(heads, values.astype(self.vertex_dtype)))
        return found

    def lower(self, pairs: Pairs) -> None:
        """Take in what arcs of any rank bring to own vertices."""
        keep_smaller(*pairs, self._best)

    def lower_tails(self, rank: int, answers: NDArray[Any]) -> None:
        """Take in, at the tails of nn arcs to a rank, the labels of `wanted(rank)` there."""
        _, places = self._distinct[rank]
        keep_smaller(self._tails[self._arcs_to(rank)], answers[places], self._best)

    def lower_delegates(self, pairs: Pairs) -> None:
        """Take in what a rank found for delegates, at those that are owned here."""
        at = numpy.searchsorted(self.own, pairs.places)
        known = at < len(self.own)
        known[known] = self.own[at[known]] == pairs.places[known]
        keep_smaller(self.own_places[at[known]], pairs.values[known], self._best)

    def shortcut(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Lower the labels; returns the labels that fell, each once, and the smallest that they fell to."""
        falls = self._best < self.labels
        before, after = self.labels[falls], self._best[falls]
        numpy.minimum(self.labels, self._best, out=self.labels)
        return smallest_each(before, after)

    def hook(self, places: NDArray[Any], values: NDArray[Any]) -> None:
        """Lower own vertices that were the label of what fell."""
        keep_smaller(places, values, self.labels)
