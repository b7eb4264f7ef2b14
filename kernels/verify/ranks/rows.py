"""One rank's arcs as its checks look at them, whichever side the arrays are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.layout import RankGraph, local_count
from gravel.kernels.verify.result import NAMED

ROWS = 1 << 18
"""Rows whose arcs are counted at once."""


class RankRows:
    """What the checks of one rank have in common.

    Parameters
    ----------
    part : of a symmetric graph, with delegates ascending; NumPy or CuPy arrays as the subclass takes them.

    """

    xp: Any = numpy
    """The module of the arrays, numpy or cupy."""

    def __init__(self, part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> None:
        self.part, self.delegates = part, delegates
        self.vertex_count, self.ranks, self.rank = vertex_count, ranks, part.rank
        self.local = local_count(vertex_count, ranks, part.rank)
        own = delegates % ranks == part.rank
        self._places = (delegates[own] // ranks).astype(numpy.int64)
        self.delegate_levels = self.xp.empty(0, numpy.int32)

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

    def level_sums(self, distance: Any) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Count own vertices, and arcs held here, by the level of the vertex and of the arc's source.

        `delegate_levels` have to be those of the same search.
        """
        part, vertices = self.part, [numpy.zeros(1, numpy.int64)]
        arcs: list[NDArray[Any]] = [numpy.zeros(1)]
        for levels, pairs in (
            (distance, (part.nn.row_offsets, part.nd.row_offsets)),
            (self.delegate_levels, (part.dn.row_offsets, part.dd.row_offsets)),
        ):
            for first in range(0, len(levels), ROWS):
                some = levels[first : first + ROWS]
                reached = some >= 0
                if levels is distance:
                    vertices.append(numpy.bincount(some[reached], minlength=1))
                one, other = (each[first : first + len(some) + 1].astype(numpy.int64) for each in pairs)
                lengths = one[1:] - one[:-1] + other[1:] - other[:-1]
                # Sums of whole numbers below 2^53, which floating point holds.
                weights = lengths[reached].astype(numpy.float64)
                arcs.append(numpy.bincount(some[reached], weights=weights, minlength=1))
        return padded_sum(vertices), padded_sum(arcs).astype(numpy.int64)

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


def padded_sum(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Add arrays of different lengths up."""
    total = numpy.zeros(max(map(len, arrays)), arrays[0].dtype)
    for each in arrays:
        total[: len(each)] += each
    return total
