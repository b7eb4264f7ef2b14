"""One rank's arcs as its checks look at them, whichever side the arrays are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.layout import RankGraph, local_count
from gravel.kernels.verify.result import NAMED


class RankRows:
    """What the checks of one rank have in common.

    Parameters
    ----------
    part : of a symmetric graph, with delegates ascending; NumPy or CuPy arrays as the subclass takes them.

    """

    xp: Any
    """The module of the arrays, numpy or cupy."""

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        self.part, self.delegates = part, delegates
        self.vertex_count, self.ranks, self.rank = vertex_count, ranks, part.rank
        self.local = local_count(vertex_count, ranks, part.rank)
        own = delegates % ranks == part.rank
        self._places = (delegates[own] // ranks).astype(numpy.int64)

    def host(self, array: Any) -> NDArray[Any]:
        """Bring an array to the host."""
        return numpy.asarray(array)

    def own_delegates(self, values: Any) -> Any:
        """Pick the values of the delegates that this rank owns, ascending."""
        return values[self._places]

    def of_delegates(self, by_rank: Sequence[Any], dtype: Any) -> Any:
        """Put together what all ranks told of the delegates that they own."""
        values = self.xp.empty(len(self.delegates), dtype)
        owners = self.delegates % self.ranks
        for rank, values_of_rank in enumerate(by_rank):
            values[self.xp.flatnonzero(owners == rank)] = values_of_rank
        return values

    def _position(self, vertex: int) -> int:
        if not len(self.delegates):
            return -1
        place = int(self.xp.searchsorted(self.delegates, self.xp.asarray([vertex], self.delegates.dtype))[0])
        there = place < len(self.delegates) and int(self.delegates[place]) == vertex
        return place if there else -1

    def _neighbours(self, vertex: int) -> list[Any]:
        """Give the vertices along arcs of a vertex that are held here, ascending in each array."""
        place, own = self._position(vertex), vertex % self.ranks == self.rank
        if place < 0 and not own:
            return []
        to_normal, to_delegate = ("dn", "dd") if place >= 0 else ("nn", "nd")
        row = place if place >= 0 else vertex // self.ranks
        rows = []
        for name in (to_normal, to_delegate):
            offsets, columns = self.part.subgraph(name)
            rows.append(columns[int(offsets[row]) : int(offsets[row + 1])].astype(numpy.int64))
        if place >= 0:
            rows[0] = rows[0] * self.ranks + self.rank
        rows[1] = self.delegates[rows[1]].astype(numpy.int64)
        return rows

    def _first(self, bits: Any, rule: int) -> list[int]:
        places = self.host(self.xp.flatnonzero(bits & numpy.uint8(rule))[:NAMED])
        return [int(place) * self.ranks + self.rank for place in places]
