"""nn arcs culled on the CPU before they are sent (Merrill, Garland, Grimshaw, PPoPP 2012, section 6.1).

A rank gathers the ends of its frontier's nn arcs, drops local duplicates and then what its bitmask has,
counts the rest by owner, and sorts it into bins that begin where a prefix sum of the counts says. The
frontier ascends, so that of all arcs to a vertex the one that is kept has the smallest tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.parts import REMEMBERED, SPREAD
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.layouts.spans import span, values_of
from gravel.kernels.partition import buffers
from gravel.kernels.partition.layout import RankPart, local_count


@dataclass(frozen=True)
class Gathered:
    """What became of a level's nn arcs where they are culled; the rest led to own vertices."""

    arcs: int
    duplicates: int  # dropped since they were gathered shortly before
    masked: int  # dropped since the bitmask had their ends
    sent: int  # to other ranks


@serial
def gather_culled(  # type: ignore[no-untyped-def]
    frontier, ranks, rank, offsets, columns, distance, words, word_starts, masked, remembered, spread,
    heads, tails, counts, dropped,
):  # fmt: skip
    """List in `heads` and `tails` the arcs that are not dropped; returns how many.

    `words` have a bit for each vertex of the graph, from word_starts[owner] on, none unless `masked`;
    `remembered` is the number of entries of the history, 0 for none. `counts` are by owner, of those that
    are kept; `dropped` counts those that the history and the bitmask have, and all arcs.
    """
    values = values_of(columns)
    history = numpy.full(max(1, remembered), -1, numpy.int64)
    place = 0
    for position in range(len(frontier)):
        local = frontier[position]
        first, last = span(columns, offsets, local, values)
        dropped[2] += last - first
        for arc in range(first, last):
            v = numpy.int64(values[numpy.uint64(arc)])
            if remembered:
                # As `hashed` of kernels/bfs/cuda/culling.cuh.
                cell = ((v * spread) & 0xFFFFFFFF) >> 16 & (remembered - 1)
                if history[cell] == v:
                    dropped[0] += 1
                    continue
                history[cell] = v
            owner, there = v % ranks, v // ranks
            if masked:
                word = word_starts[owner] + (there >> 6)
                bit = numpy.uint64(1) << numpy.uint64(there & 63)
                if words[word] & bit or (owner == rank and distance[there] != -1):
                    dropped[1] += 1
                    continue
                words[word] |= bit
            heads[place] = v
            tails[place] = local
            counts[owner] += 1
            place += 1
    return place


@serial
def scatter(kept, ranks, heads, tails, places, ids, sources):  # type: ignore[no-untyped-def]
    """Sort what is kept into bins; `places` has the first place in each."""
    for position in range(kept):
        v = numpy.int64(heads[position])
        place = places[v % ranks]
        places[v % ranks] = place + 1
        ids[place] = v // ranks
        sources[place] = tails[position]


class Culling:
    """What a rank keeps from level to level of a search: a queue of ends, and with `masked` a bitmask."""

    def __init__(self, whole: RankPart, *, masked: bool, local_duplicates: bool) -> None:
        self._ranks, self._rank = whole.ranks, whole.graph.rank
        self._masked, self._remembered = masked, REMEMBERED if local_duplicates else 0
        counts = [local_count(whole.vertex_count, whole.ranks, rank) for rank in range(whole.ranks)]
        self._word_starts = numpy.zeros(whole.ranks + 1, numpy.int64)
        numpy.cumsum([(count + 63) // 64 for count in counts], out=self._word_starts[1:])
        self._vertex = f"u{whole.delegates.dtype.itemsize}"
        arrays = make(buffers.culling_on_cpu(int(self._word_starts[-1]) * masked), numpy)
        self._words: NDArray[Any] = arrays["bitmask"]

    def start(self) -> None:
        """Forget what was sent."""
        self._words.fill(0)

    def bins(
        self, frontier: NDArray[Any], rows: Any, arcs: int, distance: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Gathered]:
        """Sort what a frontier's nn `arcs` reach by owner.

        Returns where each rank's bin begins, int64 (ranks + 1,), ids there and tails here, uint32, and
        counts.
        """
        heads, queue_tails = make(buffers.nn_queue_on_cpu(arcs, self._vertex), numpy).values()
        counts, dropped = numpy.zeros(self._ranks, numpy.int64), numpy.zeros(3, numpy.int64)
        look = (distance, self._words, self._word_starts, self._masked, self._remembered, SPREAD)
        kept = gather_culled(
            frontier, self._ranks, self._rank, *rows, *look, heads, queue_tails, counts, dropped
        )
        starts = numpy.zeros(self._ranks + 1, numpy.int64)
        numpy.cumsum(counts, out=starts[1:])
        ids, tails = make(buffers.bins(kept), numpy).values()
        scatter(kept, self._ranks, heads, queue_tails, starts[:-1].copy(), ids, tails)
        duplicates, masked, gathered = (int(count) for count in dropped)
        sent = kept - int(counts[self._rank])
        return starts, ids, tails, Gathered(gathered, duplicates, masked, sent)
