"""Breadth-first search on one rank: local steps between two exchanges a level (Pan, Pearce, Owens 2018).

A level is `visit` (expand what became known last), an exchange, and `settle` (take in what the others
found). Delegates travel as a bit mask that is OR-reduced over all ranks (section V-A); a normal vertex on
another rank travels point to point as its 32-bit local id there (section V-B). A delegate's predecessor is
found by a minimum over all ranks once, when the search has ended.

Searches run top-down on every subgraph. Predecessors are the smallest possible, which needs all of a
level's arcs anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.jit import serial
from kernels.partition.layout import RankGraph, local_count, mask_words

NOBODY = numpy.int64(0x7FFFFFFFFFFFFFFF)
"""The predecessor that every other one is smaller than."""


@dataclass(frozen=True)
class Found:
    """What one rank found in a level: all that it tells the others."""

    delegates: NDArray[Any]  # uint64 words: delegates reached by this rank
    vertices: tuple[NDArray[Any], ...]  # per rank: uint32 local ids there, ascending and distinct
    predecessors: tuple[NDArray[Any], ...]  # per rank: the smallest predecessor of each, vertices, int64


@serial
def _visit_normal(  # type: ignore[no-untyped-def]
    frontier, ranks, rank, nn_offsets, nn_columns, nd_offsets, nd_columns, seen, found, parents, outgoing, by
):
    filled = 0
    for position in range(len(frontier)):
        local = frontier[position]
        v = local * ranks + rank
        for arc in range(numpy.int64(nn_offsets[local]), numpy.int64(nn_offsets[local + 1])):
            outgoing[filled] = numpy.int64(nn_columns[arc])
            by[filled] = v
            filled += 1
        for arc in range(numpy.int64(nd_offsets[local]), numpy.int64(nd_offsets[local + 1])):
            d = numpy.int64(nd_columns[arc])
            if not (seen[d >> 6] >> numpy.uint64(d & 63)) & numpy.uint64(1):
                found[d >> 6] |= numpy.uint64(1) << numpy.uint64(d & 63)
                parents[d] = min(parents[d], v)
    return filled


@serial
def _visit_delegates(  # type: ignore[no-untyped-def]
    frontier,
    names,
    level,
    dn_offsets,
    dn_columns,
    dd_offsets,
    dd_columns,
    seen,
    found,
    parents,
    distance,
    predecessor,
    fresh,
):
    """Expand delegates; normal vertices that they reach are local and are marked at once."""
    marked = 0
    for position in range(len(frontier)):
        x = frontier[position]
        v = numpy.int64(names[x])
        for arc in range(numpy.int64(dn_offsets[x]), numpy.int64(dn_offsets[x + 1])):
            local = numpy.int64(dn_columns[arc])
            if distance[local] == -1:
                distance[local] = level + 1
                fresh[marked] = local
                marked += 1
            if distance[local] == level + 1:
                predecessor[local] = min(predecessor[local], v)
        for arc in range(numpy.int64(dd_offsets[x]), numpy.int64(dd_offsets[x + 1])):
            d = numpy.int64(dd_columns[arc])
            if not (seen[d >> 6] >> numpy.uint64(d & 63)) & numpy.uint64(1):
                found[d >> 6] |= numpy.uint64(1) << numpy.uint64(d & 63)
                parents[d] = min(parents[d], v)
    return marked


@serial
def _receive(vertices, parents, level, distance, predecessor, fresh, marked):  # type: ignore[no-untyped-def]
    """Take in what others found here; `fresh[:marked]` lists the vertices of the level so far."""
    for position in range(len(vertices)):
        local = numpy.int64(vertices[position])
        if distance[local] == -1:
            distance[local] = level + 1
            fresh[marked] = local
            marked += 1
        if distance[local] == level + 1:
            predecessor[local] = min(predecessor[local], parents[position])
    return marked


class RankSearch:
    """One rank's state: `distance` and `predecessor` of its own vertices, `delegate_*` of all delegates."""

    def __init__(self, part: RankGraph, delegates: NDArray[Any], vertex_count: int, ranks: int) -> None:
        self.part = part
        self.rank = part.rank
        self.ranks = ranks
        self.delegates = delegates
        local = local_count(vertex_count, ranks, part.rank)
        self.distance = numpy.empty(local, numpy.int32)
        self.predecessor = numpy.empty(local, numpy.int64)
        self.delegate_distance = numpy.empty(len(delegates), numpy.int32)
        self.delegate_predecessor = numpy.empty(len(delegates), numpy.int64)
        self._seen = numpy.empty(mask_words(len(delegates)), numpy.uint64)
        self._level = 0
        self._frontier = numpy.empty(0, numpy.int64)
        self._delegate_frontier = numpy.empty(0, numpy.int64)
        self._fresh = numpy.empty(local, numpy.int64)
        self._marked = 0

    def start(self, source: int) -> None:
        """Forget the last search and place the source, a vertex, wherever it lives."""
        self.distance.fill(-1)
        self.predecessor.fill(NOBODY)
        self.delegate_distance.fill(-1)
        self.delegate_predecessor.fill(NOBODY)
        self._seen.fill(0)
        self._level = 0
        self._frontier = self._delegate_frontier = numpy.empty(0, numpy.int64)
        place = int(numpy.searchsorted(self.delegates, source))
        if place < len(self.delegates) and int(self.delegates[place]) == source:
            self._delegate_frontier = numpy.array([place])
            self.delegate_distance[place] = 0
            self._seen[place >> 6] = numpy.uint64(1) << numpy.uint64(place & 63)
        elif source % self.ranks == self.rank:
            self._frontier = numpy.array([source // self.ranks])
            self.distance[source // self.ranks] = 0

    def visit(self) -> Found:
        """Expand the frontier along all four subgraphs."""
        part, found = self.part, numpy.zeros_like(self._seen)
        lengths = part.nn.row_offsets[self._frontier + 1].astype(numpy.int64)
        lengths -= part.nn.row_offsets[self._frontier]
        outgoing, by = (numpy.empty(int(lengths.sum()), numpy.int64) for _ in range(2))
        reached = (self._seen, found, self.delegate_predecessor)
        _visit_normal(self._frontier, self.ranks, self.rank, *part.nn, *part.nd, *reached, outgoing, by)
        self._marked = _visit_delegates(
            self._delegate_frontier,
            self.delegates,
            self._level,
            *part.dn,
            *part.dd,
            *reached,
            self.distance,
            self.predecessor,
            self._fresh,
        )
        vertices, predecessors = self._sort_out(outgoing, by)
        return Found(found, vertices, predecessors)

    def _sort_out(
        self, outgoing: NDArray[Any], by: NDArray[Any]
    ) -> tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]:
        """Give each rank its vertices once ("uniquify"), as 32-bit ids, with the smallest predecessor."""
        order = numpy.lexsort((by, outgoing))
        outgoing, by = outgoing[order], by[order]
        first = numpy.ones(len(outgoing), numpy.bool_)
        first[1:] = outgoing[1:] != outgoing[:-1]
        outgoing, by = outgoing[first], by[first]
        owner = outgoing % self.ranks
        chosen = [owner == rank for rank in range(self.ranks)]
        vertices = tuple((outgoing[mine] // self.ranks).astype(numpy.uint32) for mine in chosen)
        return vertices, tuple(by[mine] for mine in chosen)

    def settle(self, delegates: NDArray[Any], arrivals: list[tuple[NDArray[Any], NDArray[Any]]]) -> int:
        """Take in the reduced mask and what other ranks found here; count this rank's part of the frontier.

        Parameters
        ----------
        delegates : the OR of all ranks' masks.
        arrivals : (vertices, predecessors) addressed to this rank, from every rank.

        """
        for vertices, predecessors in arrivals:
            mine = (self._level, self.distance, self.predecessor, self._fresh, self._marked)
            self._marked = _receive(vertices, predecessors, *mine)
        self._level += 1
        self._frontier = self._fresh[: self._marked].copy()
        bits = numpy.unpackbits(delegates.view(numpy.uint8), bitorder="little")
        self._delegate_frontier = numpy.flatnonzero(bits)
        self.delegate_distance[self._delegate_frontier] = self._level
        self._seen |= delegates
        return len(self._frontier) + len(self._delegate_frontier)


def combine(founds: list[Found], rank: int) -> tuple[NDArray[Any], list[tuple[NDArray[Any], NDArray[Any]]]]:
    """Do the exchange for one rank: reduce the masks of all ranks and pick what is addressed to it."""
    mask = numpy.bitwise_or.reduce([found.delegates for found in founds])
    return mask, [(found.vertices[rank], found.predecessors[rank]) for found in founds]
