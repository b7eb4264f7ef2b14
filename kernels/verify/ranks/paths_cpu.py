"""One rank's part of the checks of a search by weights, on all threads of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, Subgraph
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks
from gravel.kernels.verify.ranks.rows import RankRows
from gravel.kernels.verify.result import NAMED
from gravel.kernels.verify.sssp import COMPONENT, EXACT, RELAXED

TREE_ARC = 4
"""Of a row's bits: an arc of it leads to the predecessor and is as long as the two are apart."""

SEEN = (RELAXED, COMPONENT, TREE_ARC)


@serial
def _normal_bits(  # type: ignore[no-untyped-def]
    first, last, nn_offsets, nn_columns, nn_weights, nd_offsets, nd_columns, nd_weights, delegates, rank,
    ranks, known, reached, parents, bits,
):  # fmt: skip
    """Write what own rows show, those of vertices that are no delegates."""
    for local in range(first, last):
        v = local * ranks + rank
        parent = numpy.int64(parents[local]) if len(parents) else numpy.int64(-1)
        seen = numpy.uint8(0)
        for arc in range(numpy.int64(nn_offsets[local]), numpy.int64(nn_offsets[local + 1])):
            seen |= _seen(v, numpy.int64(nn_columns[arc]), nn_weights[arc], parent, known, reached)
        for arc in range(numpy.int64(nd_offsets[local]), numpy.int64(nd_offsets[local + 1])):
            seen |= _seen(v, numpy.int64(delegates[nd_columns[arc]]), nd_weights[arc], parent, known, reached)
        bits[local] = seen


@serial
def _delegate_bits(  # type: ignore[no-untyped-def]
    first,
    last,
    offsets,
    columns,
    weights,
    to_delegates,
    delegates,
    rank,
    ranks,
    known,
    reached,
    parents,
    bits,
):
    """Add what delegates' rows show in one subgraph, dd (`to_delegates`) or dn."""
    for row in range(first, last):
        v = numpy.int64(delegates[row])
        parent = numpy.int64(parents[row]) if len(parents) else numpy.int64(-1)
        seen = bits[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            column = numpy.int64(columns[arc])
            w = numpy.int64(delegates[column]) if to_delegates else column * ranks + rank
            seen |= _seen(v, w, weights[arc], parent, known, reached)
        bits[row] = seen


@serial
def _seen(v, w, weight, parent, known, reached):  # type: ignore[no-untyped-def]
    """Give what the arc from v to w shows; arcs go both ways with one weight."""
    seen = numpy.uint8(0)
    if w == parent and known[w] + weight == known[v]:
        seen |= numpy.uint8(TREE_ARC)
    if reached[v]:
        if not reached[w]:
            seen |= numpy.uint8(COMPONENT)
        elif known[v] + weight < known[w]:
            seen |= numpy.uint8(RELAXED)
    return seen


class RankPathChecker(RankRows):
    """A rank's checks of a search by weights; `known` has the distances of all vertices.

    `exact` is int64 or float64, in which distances are compared. Raises ValueError for a part without
    weights.
    """

    xp = numpy

    def __init__(
        self, part: RankGraph, delegates: NDArray[Any], vertex_count: int, ranks: int, exact: Any
    ) -> None:
        super().__init__(part, delegates, vertex_count, ranks)
        if not part.weights:
            raise ValueError("the graph has no weights, by which the traversal's distances were found")
        self.exact = numpy.dtype(exact).type
        taken = EXACT[self.exact]
        self._weights = {
            name: of if of.dtype in taken else of.astype(self.exact) for name, of in part.weights.items()
        }
        self.known = numpy.empty(vertex_count, self.exact)
        self._reached = numpy.empty(0, numpy.bool_)
        self._bits = self._delegate_bits = numpy.empty(0, numpy.uint8)
        self._parents_of_delegates = numpy.empty(0, numpy.int64)

    def reached(self, distance: NDArray[Any]) -> NDArray[numpy.bool_]:
        """Tell which of some vertices are reached."""
        return numpy.isfinite(distance) if distance.dtype.kind == "f" else distance >= 0

    def strange(self, distance: NDArray[Any], predecessor: NDArray[Any] | None) -> NDArray[numpy.int64]:
        """List own vertices whose labels nothing can have."""
        reached, none = self.reached(distance), numpy.inf if distance.dtype.kind == "f" else -1
        strange = ~reached & (distance != none) | (distance < -1) | reached & (distance < 0)
        if predecessor is not None:
            strange |= (predecessor < -1) | (predecessor >= self.vertex_count)
        return numpy.flatnonzero(strange)

    def vertices_at(self, places: NDArray[Any]) -> list[int]:
        """Name own vertices by their places."""
        return [int(place) * self.ranks + self.rank for place in places]

    def learn(self, rank: int, first: int, distances: NDArray[Any]) -> None:
        """Take in distances of a rank's vertices from its local index `first` on."""
        self.known[rank + first * self.ranks :: self.ranks][: len(distances)] = distances

    def nearer_all_the_way(self, predecessor: NDArray[Any], source: int) -> bool:
        """Tell whether own vertices have predecessors that are nearer, and those not reached have none.

        Where this holds on all ranks, predecessors form a tree.
        """
        self._reached = self.reached(self.known)
        own = self.known[self.rank :: self.ranks]
        reached = self._reached[self.rank :: self.ranks]
        there = predecessor >= 0
        parents = numpy.where(there, predecessor, 0)
        fine = numpy.where(reached, there & self._reached[parents] & (self.known[parents] < own), ~there)
        if source % self.ranks == self.rank:
            fine[source // self.ranks] = True
        return bool(fine.all())

    def see_rows(self, predecessor: NDArray[Any] | None, of_delegates: NDArray[Any] | None) -> list[Any]:
        """Look at all arcs; returns a bit for each delegate and each of `SEEN`, packed into uint8."""
        self._reached = self.reached(self.known)
        self._parents_of_delegates = numpy.empty(0, numpy.int64) if of_delegates is None else of_delegates
        parents = numpy.empty(0, numpy.int64) if predecessor is None else predecessor
        rows = [array for name in SUBGRAPHS[:2] for array in (*self.part.subgraph(name), self._weights[name])]
        self._bits = numpy.empty(self.local, numpy.uint8)
        here = self.delegates, self.rank, self.ranks, self.known, self._reached
        given = *rows, *here, parents, self._bits
        run_blocks(lambda a, b: _normal_bits(a, b, *given), even_blocks(self.local))
        # Delegates have rows of their own.
        self._bits[self._places] = TREE_ARC
        bits = numpy.zeros(len(self.delegates), numpy.uint8)
        rest = *here, self._parents_of_delegates, bits
        for name in SUBGRAPHS[2:]:
            self._see(self.part.subgraph(name), self._weights[name], name == "dd", rest)
        return [numpy.packbits((bits & seen) != 0, bitorder="little") for seen in SEEN]

    def _see(self, rows: Subgraph, weights: Any, to_delegates: bool, rest: tuple[Any, ...]) -> None:
        given = *rows, weights, to_delegates, *rest
        run_blocks(lambda a, b: _delegate_bits(a, b, *given), row_blocks(rows.row_offsets))

    def join_delegates(self, gathered: Sequence[Sequence[NDArray[Any]]]) -> None:
        """Put together what all ranks saw in delegates' rows."""
        self._delegate_bits = numpy.zeros(len(self.delegates), numpy.uint8)
        for place, seen in enumerate(SEEN):
            together = numpy.bitwise_or.reduce([of_rank[place] for of_rank in gathered])
            flags = numpy.unpackbits(together, count=len(self.delegates), bitorder="little")
            self._delegate_bits |= flags * numpy.uint8(seen)

    def faults(self, rule: int, predecessor: NDArray[Any] | None) -> tuple[int, int, list[int]]:
        """Count own normal vertices and all delegates that break a rule, and name the first of both."""
        bits, of_delegates = self._bits & rule, self._delegate_bits & rule
        if rule == TREE_ARC:
            assert predecessor is not None
            bits = (bits == 0) & (predecessor >= 0)
            of_delegates = (of_delegates == 0) & (self._parents_of_delegates >= 0)
        own, others = numpy.flatnonzero(bits), numpy.flatnonzero(of_delegates)
        named = [*self.vertices_at(own[:NAMED]), *(int(v) for v in self.delegates[others[:NAMED]])]
        return len(own), len(others), named

    def parent_of(self, vertex: int, predecessor: NDArray[Any]) -> int:
        """Give the predecessor of an own vertex, -1 of others."""
        return int(predecessor[vertex // self.ranks]) if vertex % self.ranks == self.rank else -1

    def offender(self, vertex: int, rule: int) -> int:
        """Give the first neighbour along an arc held here for which a row breaks a rule, -1 for none."""
        found = []
        for neighbours, weights in zip(self._neighbours(vertex), self._weights_of(vertex), strict=True):
            bad = ~self._reached[neighbours]
            if rule == RELAXED:
                bad = ~bad & (self.known[vertex] + weights < self.known[neighbours])
            found += neighbours[bad][:1].tolist()
        return min(found, default=-1)

    def _weights_of(self, vertex: int) -> list[NDArray[Any]]:
        """Give the weights of the arcs of `_neighbours`."""
        place, own = self._position(vertex), vertex % self.ranks == self.rank
        if place < 0 and not own:
            return []
        names, row = (SUBGRAPHS[2:], place) if place >= 0 else (SUBGRAPHS[:2], vertex // self.ranks)
        offsets = {name: self.part.subgraph(name).row_offsets for name in names}
        return [self._weights[name][int(of[row]) : int(of[row + 1])] for name, of in offsets.items()]
