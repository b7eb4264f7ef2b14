"""Connected components over a partition: FastSV (Zhang, Azad, Hu, SIAM PP 2020) with delegate reductions.

Every vertex holds a label, first itself, that only ever falls. In a round each vertex learns its label's
label, hooks itself and its label onto the smallest of its neighbours' label's labels, and shortcuts to its
own. Labels of delegates are kept equal on all ranks by a minimum over the ranks; values for a normal vertex
of another rank travel point to point. The labels that no longer change are each component's smallest vertex.
"""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from kernels.components import ComponentsResult
from kernels.jit import serial
from kernels.partition.layout import PartitionedGraph, RankGraph, local_count, row_lengths


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
def _keep_smaller(places, values, labels):  # type: ignore[no-untyped-def]
    changed = False
    for position in range(len(places)):
        place = places[position]
        if values[position] < labels[place]:
            labels[place] = values[position]
            changed = True
    return changed


class _RankLabels:
    """One rank's labels: of its own vertices (a delegate's at its owner) and of all delegates."""

    def __init__(self, part: RankGraph, delegates: NDArray[Any], vertex_count: int, ranks: int) -> None:
        self.part, self.rank, self.ranks = part, part.rank, ranks
        local = local_count(vertex_count, ranks, part.rank)
        self.labels = numpy.arange(local, dtype=numpy.int64) * ranks + part.rank
        self.delegates = delegates
        self.own = delegates % ranks == part.rank
        self.own_places = delegates[self.own] // ranks
        self.grand = self.labels.copy()
        self.delegate_grand = delegates.copy()
        lengths = row_lengths(part.nn)
        self.nn_rows = numpy.repeat(numpy.arange(local, dtype=numpy.int64), lengths)
        self.nn_targets = part.nn.column_indices.astype(numpy.int64)

    def owned_grand(self) -> NDArray[Any]:
        """Give this rank's word on the delegates' label's labels: its own delegates', else the largest."""
        known = numpy.full(len(self.delegates), numpy.iinfo(numpy.int64).max)
        known[self.own] = self.grand[self.own_places]
        return known

    def neighbours(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Find the best label around each vertex and delegate along nd, dn and dd arcs."""
        part, best = self.part, self.grand.copy()
        best_delegates = self.delegate_grand.copy()
        local, count = len(self.labels), len(self.delegates)
        around = (self.grand, self.delegate_grand, best, best_delegates)
        _best_neighbours(local, *part.nd, *around)
        _best_neighbours(count, *part.dn, around[1], around[0], around[3], around[2])
        _best_neighbours(count, *part.dd, around[1], around[1], around[3], around[3])
        return best, best_delegates


def _deliver(vertices: NDArray[Any], values: NDArray[Any], labels: list[NDArray[Any]]) -> None:
    """Bring (vertex, value) pairs to the vertices' owners, where the smaller values stay in `labels`."""
    p = len(labels)
    if p == 1:
        _keep_smaller(vertices, values, labels[0])
        return
    owner = vertices % p
    for rank, mine in enumerate(labels):
        to_rank = owner == rank
        _keep_smaller(vertices[to_rank] // p, values[to_rank], mine)


def _look_up(ranks: list[_RankLabels], wanted: list[NDArray[Any]], field: str) -> list[NDArray[Any]]:
    """Answer every rank's question about one field of any vertices: a request and a reply, both exchanged."""
    p = len(ranks)
    answers = []
    for vertices in wanted:
        distinct, places = numpy.unique(vertices, return_inverse=True)
        answer = numpy.empty(len(distinct), numpy.int64)
        owner = distinct % p
        for rank in ranks:
            mine = owner == rank.rank
            answer[mine] = getattr(rank, field)[distinct[mine] // p]
        answers.append(answer[places])
    return answers


def _round(ranks: list[_RankLabels], symmetric: bool) -> bool:
    """Do one round on all ranks; say whether any label fell."""
    before = [rank.labels for rank in ranks]
    for rank, grand in zip(ranks, _look_up(ranks, before, "labels"), strict=True):
        rank.grand = grand
    delegate_grand = numpy.minimum.reduce([rank.owned_grand() for rank in ranks])
    for rank in ranks:
        rank.delegate_grand = delegate_grand

    around = [rank.neighbours() for rank in ranks]
    best = [vertices for vertices, _ in around]
    best_delegates = numpy.minimum.reduce([delegates for _, delegates in around])
    for rank in ranks:
        _deliver(rank.nn_targets, rank.grand[rank.nn_rows], best)
    if not symmetric:
        for rank, mine, values in zip(
            ranks, best, _look_up(ranks, [rank.nn_targets for rank in ranks], "grand"), strict=True
        ):
            _keep_smaller(rank.nn_rows, values, mine)
    hooks = []
    for rank, mine in zip(ranks, best, strict=True):
        mine[rank.own_places] = numpy.minimum(mine[rank.own_places], best_delegates[rank.own])
        falls = mine < rank.labels
        hooks.append((rank.labels[falls], mine[falls]))
        rank.labels = numpy.minimum(rank.labels, mine)
    changed = any(len(vertices) for vertices, _ in hooks)
    for vertices, values in hooks:
        _deliver(vertices, values, [rank.labels for rank in ranks])
    return changed


def components(graph: PartitionedGraph, *, symmetric: bool) -> ComponentsResult:
    """Label every vertex with the smallest vertex of its component, in the numbering that was partitioned.

    Parameters
    ----------
    symmetric : whether every arc has its reverse; without it arcs between normal vertices are followed
        both ways at the cost of a further exchange.

    Returns labels in the dtype of the delegate list, with the time of all rounds.

    """
    started = time.perf_counter()
    delegates = graph.delegates.astype(numpy.int64)
    ranks = [_RankLabels(part, delegates, graph.vertex_count, graph.ranks) for part in graph.parts]
    while _round(ranks, symmetric):
        pass
    labels = numpy.empty(graph.vertex_count, graph.delegates.dtype)
    for rank in ranks:
        labels[rank.rank :: graph.ranks] = rank.labels
    return ComponentsResult(labels, (time.perf_counter() - started) * 1e3, "partition")
