"""What a rank knows while it checks components, whichever side its arrays are on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy

from gravel.kernels.partition.layout import RankGraph
from gravel.kernels.verify.ranks.rows import RankRows


class LabelChecker(RankRows, ABC):
    """One rank's part of the checks of components; subclasses have the loops over vertices and arcs.

    `known`, a value for each vertex of the graph in the type of a vertex, holds all labels first, and then
    the rank's forest: each vertex's parent, which is no larger, a root's itself.
    """

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        super().__init__(part, delegates, vertex_count, ranks)
        self.known = self.xp.empty(vertex_count, delegates.dtype)

    @abstractmethod
    def unlike_rows(self) -> Any:
        """Tell which own vertices have a neighbour of another label in nn and nd, uint8 (local,)."""

    @abstractmethod
    def unlike_delegates(self) -> Any:
        """Tell which delegates have one in this rank's part of their rows, uint8 (delegates,)."""

    @abstractmethod
    def join_own(self) -> None:
        """Make the forest of the arcs that are held here."""

    @abstractmethod
    def join_labels(self, first: int, parents: Any) -> None:
        """Join vertices from `first` on with the parents that another rank has for them."""

    @abstractmethod
    def flatten(self) -> None:
        """Point every vertex at its root."""

    def learn(self, rank: int, first: int, labels: Any) -> None:
        """Take in labels of a rank's vertices from its local index `first` on."""
        self.known[rank + first * self.ranks :: self.ranks][: len(labels)] = labels

    def own_vertices(self) -> Any:
        """Give the own vertices, ascending, in the type of a vertex."""
        places = self.xp.arange(self.local, dtype=self.known.dtype)
        kind = self.known.dtype.type
        return places * kind(self.ranks) + kind(self.rank)

    def vertices_at(self, places: Any) -> list[int]:
        """Name own vertices by their local indices."""
        return [int(place) * self.ranks + self.rank for place in self.host(places)]

    def out_of_range(self, labels: Any) -> Any:
        """Give the local indices of own vertices whose labels are no vertices of the graph."""
        return self.xp.flatnonzero((labels < 0) | (labels >= self.vertex_count))

    def not_smallest(self, labels: Any) -> Any:
        """Give those of own vertices whose label is larger than they are, or not the label of itself."""
        return self.xp.flatnonzero((labels > self.own_vertices()) | (self.known[labels] != labels))

    def unlike_neighbour(self, vertex: int) -> int:
        """Give the first neighbour of another label along an arc held here, -1 for none."""
        found = []
        for neighbours in self._neighbours(vertex):
            unlike = neighbours[self.known[neighbours] != self.known[vertex]]
            found += [int(each) for each in self.host(unlike[:1])]
        return min(found, default=-1)

    def packed(self, flags: Any) -> Any:
        """Pack flags of delegates, a bit each."""
        return self.xp.packbits(flags != 0, bitorder="little")

    def delegates_in(self, bits: list[Any]) -> Any:
        """Give the delegates that any of the ranks flagged, ascending."""
        together = bits[0].copy()
        for more in bits[1:]:
            together |= more
        flags = self.xp.unpackbits(together, bitorder="little")[: len(self.delegates)]
        return self.delegates[self.xp.flatnonzero(flags)]

    def roots_of(self, rank: int, first: int, count: int) -> Any:
        """Give what the forest holds for a rank's vertices from its local index `first` on."""
        return self.known[rank + first * self.ranks :: self.ranks][:count]

    def unconnected(self, labels: Any, roots: Any) -> Any:
        """Give the local indices of own vertices whose label is not their root."""
        return self.xp.flatnonzero(labels != roots)

    def empty(self, count: int) -> Any:
        """Make room for as many vertices."""
        return self.xp.empty(count, numpy.dtype(self.known.dtype))
