"""What a rank knows while it checks a search, whichever side its arrays are on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.layout import RankGraph
from gravel.kernels.verify.arcs import COMPONENT, EDGE_LEVELS, NEARER, TREE_ARCS
from gravel.kernels.verify.ranks.rows import RankRows
from gravel.kernels.verify.result import NAMED

JUMPS, LEAVES, FOUND = 1, 2, 4
"""What a rank sees in its part of a delegate's row: an arc over more than a level, one to an unreached
vertex, and the predecessor, or without predecessors a neighbour one level nearer."""

SEEN = (JUMPS, LEAVES, FOUND)
RULES = (1, 2, 4, 8)
"""Bits of `gravel.kernels.verify.tree` and of `gravel.kernels.verify.arcs`."""


class Checker(RankRows, ABC):
    """One rank's part of the checks of a search; subclasses have the loops over vertices and arcs."""

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        super().__init__(part, delegates, vertex_count, ranks)
        xp = self.xp
        self.is_delegate = xp.zeros(self.local, numpy.bool_)
        self.is_delegate[self._places] = True
        self.levels = xp.empty(vertex_count, numpy.int32)
        self._delegate_parents = xp.empty(0, numpy.int64)
        self._vertex_bits = self._row_bits = self._delegate_bits = xp.empty(0, numpy.uint8)

    @abstractmethod
    def fault_bits(self, parents: Any, source: int, limit: int) -> Any:
        """Give the rules of `gravel.kernels.verify.tree` that each own vertex breaks, uint8 (local,)."""

    @abstractmethod
    def row_bits(self, parents: Any, deepest: int) -> Any:
        """Give the rules of `gravel.kernels.verify.arcs` that own normal vertices break, uint8 (local,)."""

    @abstractmethod
    def delegate_flags(self, delegate_parents: Any) -> Any:
        """Give what is seen in this rank's part of each delegate's row, uint8 (delegates,)."""

    def learn_levels(self, rank: int, first: int, levels: Any) -> None:
        """Take in levels of a rank's vertices from its local index `first` on."""
        self.levels[rank + first * self.ranks :: self.ranks][: len(levels)] = levels

    def learn_all_levels(self, levels: NDArray[numpy.int32]) -> None:
        """Take in the levels of all vertices, from the host."""
        self.levels[:] = self.xp.asarray(levels)

    def count_vertex_faults(self, parents: Any, source: int, limit: int) -> list[int]:
        """Count own vertices that break a rule of `gravel.kernels.verify.tree`, by its bits."""
        self._vertex_bits = self.fault_bits(parents, source, limit)
        return self._counts(self._vertex_bits)

    def first_vertices(self, rule: int) -> list[int]:
        """Name the first few own vertices that break a rule of `gravel.kernels.verify.tree`."""
        return self._first(self._vertex_bits, rule)

    def see_rows(self, parents: Any, delegate_parents: Any, deepest: int) -> tuple[Any, ...]:
        """Look at all arcs; returns a bit for each delegate and each of `SEEN`, packed into uint8."""
        self._delegate_parents = delegate_parents
        self._row_bits = self.row_bits(parents, deepest)
        flags = self.delegate_flags(delegate_parents)
        return tuple(self.xp.packbits((flags & numpy.uint8(seen)) != 0, bitorder="little") for seen in SEEN)

    def count_arc_faults(
        self, gathered: Sequence[tuple[Any, ...]], deepest: int, tree: bool
    ) -> list[list[int]]:
        """Count own normal vertices, and then all delegates, that break each rule of
        `gravel.kernels.verify.arcs`.

        `gathered` has what each rank saw.
        """
        xp, d = self.xp, len(self.delegates)
        together = [seen.copy() for seen in gathered[0]]
        for of_rank in gathered[1:]:
            for seen, more in zip(together, of_rank, strict=True):
                seen |= more
        jumps, leaves, found = (
            xp.unpackbits(seen, bitorder="little")[:d].astype(numpy.bool_) for seen in together
        )
        levels = self.levels[self.delegates]
        reached, below = levels >= 0, levels > 0
        if tree:
            below &= self._delegate_parents >= 0
        bits = (reached & jumps).astype(numpy.uint8) * numpy.uint8(EDGE_LEVELS)
        bits |= (reached & leaves & (levels < deepest)).astype(numpy.uint8) * numpy.uint8(COMPONENT)
        bits |= (below & ~found).astype(numpy.uint8) * numpy.uint8(TREE_ARCS if tree else NEARER)
        self._delegate_bits = bits
        return [self._counts(self._row_bits), self._counts(bits)]

    def first_rows(self, rule: int) -> list[int]:
        """Name the first few own normal vertices that break a rule of `gravel.kernels.verify.arcs`."""
        return self._first(self._row_bits, rule)

    def first_delegates(self, rule: int) -> list[int]:
        """Name the first few delegates that do."""
        places = self.xp.flatnonzero(self._delegate_bits & numpy.uint8(rule))[:NAMED]
        return [int(v) for v in self.host(self.delegates[places])]

    def parent_of(self, vertex: int, parents: Any) -> int:
        """Give the predecessor of an own vertex or a delegate, -1 for what is not known here."""
        place = self._position(vertex)
        if place >= 0:
            return int(self._delegate_parents[place])
        return int(parents[vertex // self.ranks]) if vertex % self.ranks == self.rank else -1

    def bad_neighbour(self, vertex: int, rule: int) -> int:
        """Give the first neighbour along an arc held here for which a row breaks a rule, -1 for none."""
        found = []
        for neighbours in self._neighbours(vertex):
            others = self.levels[neighbours]
            level = int(self.levels[vertex])
            if rule == COMPONENT:
                bad = others < 0
            else:
                bad = (others > level + 1) | ((others >= 0) & (others < level - 1))
            found += [int(each) for each in self.host(neighbours[bad][:1])]
        return min(found, default=-1)

    def _counts(self, bits: Any) -> list[int]:
        return [int(self.xp.count_nonzero(bits & numpy.uint8(rule))) for rule in RULES]
