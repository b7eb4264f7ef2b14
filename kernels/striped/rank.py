"""One rank's state in a striped search, and its steps between two exchanges."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import compare_and_swap, fetch_add, fetch_min
from gravel.kernels.bfs.asked import Asked
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.partition import buffers
from gravel.kernels.partition.layout import RankGraph, local_count
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks
from gravel.kernels.striped.options import StripedOptions

BINS_ALONE = 1 << 12
"""Vertices of a bin up to which one thread contracts it, without asking whether more would help."""


NOBODY = numpy.int64(0x7FFFFFFFFFFFFFFF)
"""The predecessor that every other one is smaller than."""


@serial
def expand_block(  # type: ignore[no-untyped-def]
    frontier, first, last, before, offsets, columns, ranks, words, word_starts, masked, history,
    heads, tails, tree, counts, culled,
):  # fmt: skip
    """Gather the neighbours of frontier[first:last] and keep those that neither filter drops.

    Survivors go to heads[before[first]:], their number by owner to `counts`; `culled` counts what the
    history and the bitmask dropped. `history` is the number of its entries, 0 for none.
    """
    seen = numpy.full(max(1, history), -1, numpy.int64)
    mask = numpy.int64(history - 1)
    place = before[first]
    for position in range(first, last):
        local = frontier[position]
        for arc in range(numpy.int64(offsets[local]), numpy.int64(offsets[local + 1])):
            v = columns[arc]
            if history:
                cell = numpy.int64(v) & mask
                if seen[cell] == numpy.int64(v):
                    culled[0] += 1
                    continue
                seen[cell] = numpy.int64(v)
            owner = v % ranks
            there = v // ranks
            if masked:
                word = words[word_starts[owner] + numpy.int64(there >> 6)]
                if (word >> numpy.uint64(there & 63)) & numpy.uint64(1):
                    culled[1] += 1
                    continue
            heads[place] = v
            if tree:
                tails[place] = local
            place += 1
            counts[owner] += 1


@serial
def scatter_block(start, count, heads, tails, ranks, places, ids, sources, tree):  # type: ignore[no-untyped-def]
    """Sort a block's survivors into the bins; `places` has the block's first place in each."""
    for position in range(start, start + count):
        v = heads[position]
        owner = v % ranks
        place = places[owner]
        places[owner] = place + 1
        ids[place] = v // ranks
        if tree:
            sources[place] = tails[position]


@serial
def cull_bins(first, last, starts, ids, sources, tree, words, word_starts, kept):  # type: ignore[no-untyped-def]
    """Keep of each of some bins what the bitmask does not have yet, and enter it there."""
    for owner in range(first, last):
        base = word_starts[owner]
        place = starts[owner]
        for position in range(starts[owner], starts[owner + 1]):
            there = ids[position]
            index = base + numpy.int64(there >> 6)
            bit = numpy.uint64(1) << numpy.uint64(there & 63)
            if words[index] & bit:
                continue
            words[index] |= bit
            ids[place] = there
            if tree:
                sources[place] = sources[position]
            place += 1
        kept[owner] = place - starts[owner]


@serial
def contract(  # type: ignore[no-untyped-def]
    ids, tails, scale, shift, level, distance, predecessor, tree, newly, marked
):
    """Claim what a bin brings, alone; tail t is vertex t * scale + shift. Returns how many are new."""
    for position in range(len(ids)):
        local = ids[position]
        if distance[local] == -1:
            distance[local] = level + 1
            newly[marked] = local
            marked += 1
        elif not tree or distance[local] != level + 1:
            continue
        if tree:
            predecessor[local] = min(predecessor[local], numpy.int64(tails[position]) * scale + shift)
    return marked


@serial
def contract_block(  # type: ignore[no-untyped-def]
    first, last, ids, tails, scale, shift, level, distance, predecessor, tree, newly, marker
):
    """Claim a part of a bin while other threads claim others; `marker[0]` counts what is newly visited."""
    for position in range(first, last):
        local = ids[position]
        if distance[local] == -1:
            if compare_and_swap(distance, local, numpy.int32(-1), numpy.int32(level + 1)) == -1:
                newly[fetch_add(marker, 0, numpy.int64(1))] = local
        elif not tree or distance[local] != level + 1:
            continue
        if tree:
            fetch_min(predecessor, local, numpy.int64(tails[position]) * scale + shift)


@serial
def mark(newly, base, words):  # type: ignore[no-untyped-def]
    """Enter this rank's own new vertices in the bitmask."""
    for position in range(len(newly)):
        there = newly[position]
        words[base + numpy.int64(there >> 6)] |= numpy.uint64(1) << numpy.uint64(there & 63)


class Bins:
    """What a level sends, by rank, and what was dropped before: arrays that nobody writes again."""

    def __init__(
        self,
        starts: NDArray[Any],
        kept: NDArray[Any],
        ids: NDArray[Any],
        tails: NDArray[Any],
        *,
        arcs: int = 0,
        duplicates: int = 0,
        masked: int = 0,
    ) -> None:
        self.kept = tuple(int(count) for count in kept)
        self.arcs, self.duplicates, self.masked = arcs, duplicates, masked
        self._starts, self._ids, self._tails = starts, ids, tails

    def of(self, rank: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give ids there and tails here for one rank; tails are empty where none are carried."""
        first = int(self._starts[rank])
        mine = slice(first, first + self.kept[rank])
        return self._ids[mine], self._tails[mine]


class StripedRankSearch:
    """One rank's state: `distance` (int32) and with a tree `predecessor` (int64) of its own vertices."""

    def __init__(
        self,
        part: RankGraph,
        vertex_count: int,
        ranks: int,
        asked: Asked = Asked(),
        options: StripedOptions = StripedOptions(),
    ) -> None:
        self._rows = part.nn
        self.rank = part.rank
        self.ranks = ranks
        self.asked, self.options, self.tree = asked, options, asked.tree
        counts = [local_count(vertex_count, ranks, rank) for rank in range(ranks)]
        local = counts[self.rank]
        self.level = 0
        self._word_starts = numpy.zeros(ranks + 1, numpy.int64)
        self._word_starts[1:] = numpy.cumsum([(count + 63) // 64 for count in counts])
        words = int(self._word_starts[-1]) * options.bitmask
        arrays = make(buffers.stripe_on_cpu(local, words, tree=self.tree), numpy)
        self.distance, self.predecessor = arrays["distance"], arrays["predecessor"]
        self._newly, self._words = arrays["newly"], arrays["bitmask"]
        self._marker = numpy.zeros(1, numpy.int64)
        self._frontier = self._newly[:0].copy()
        columns = part.nn.column_indices.dtype
        # Modulo and quotient are several times faster in the width of the columns.
        self._divisor = columns.type(ranks)
        self._vertex = f"u{columns.itemsize}"
        self._heads, self._tails = make(buffers.stripe_queue(0, self._vertex, tree=self.tree), numpy).values()

    def start(self, source: int) -> None:
        """Forget the last search and place the source, a vertex, on the rank that owns it."""
        self.distance.fill(-1)
        self.predecessor.fill(NOBODY)
        self._words.fill(0)
        self._marker[0] = 0
        self.level = 0
        self._frontier = numpy.empty(0, numpy.uint32)
        if source % self.ranks == self.rank:
            self._frontier = numpy.array([source // self.ranks], numpy.uint32)
            self.distance[self._frontier] = 0
            self._mark()

    @property
    def frontier_size(self) -> int:
        """Count the vertices of the frontier that live here."""
        return len(self._frontier)

    def _mark(self) -> None:
        if self.options.bitmask:
            mark(self._frontier, self._word_starts[self.rank], self._words)

    def expand(self) -> Bins:
        """Expand the frontier, drop what needs not be sent, and sort the rest into bins by owner."""
        frontier, stripe, ranks, tree = self._frontier, self._rows, self.ranks, self.tree
        if not len(frontier):
            nothing = numpy.zeros(ranks + 1, numpy.int64)
            return Bins(nothing, nothing[1:], self._newly[:0], self._newly[:0])
        before = numpy.zeros(len(frontier) + 1, numpy.int64)
        numpy.cumsum(
            stripe.row_offsets[frontier + numpy.uint32(1)] - stripe.row_offsets[frontier], out=before[1:]
        )
        arcs = int(before[-1])
        if arcs > len(self._heads):
            queue = make(buffers.stripe_queue(arcs, self._vertex, tree=tree), numpy)
            self._heads, self._tails = queue["heads"], queue["tails"]
        blocks = row_blocks(before)
        places = {first: place for place, (first, _) in enumerate(blocks)}
        counts = numpy.zeros((len(blocks), ranks), numpy.int64)
        culled = numpy.zeros((len(blocks), 2), numpy.int64)
        history = self.options.history if self.options.local_duplicates else 0
        look = (self._words, self._word_starts, self.options.bitmask, history)

        def expand_one(first: int, last: int) -> None:
            place = places[first]
            rows = (*stripe, self._divisor)
            queue = (self._heads, self._tails, tree, counts[place], culled[place])
            expand_block(frontier, first, last, before, *rows, *look, *queue)

        run_blocks(expand_one, blocks)
        ends = numpy.cumsum(counts.T.ravel()).reshape(ranks, len(blocks)).T
        firsts = numpy.ascontiguousarray(ends - counts)
        starts = numpy.zeros(ranks + 1, numpy.int64)
        starts[1:] = ends[-1]
        # Others read the bins while this rank goes on, so every level has arrays of its own.
        ids, tails = make(buffers.bins(int(starts[-1]), tree=tree), numpy).values()

        def scatter_one(first: int, _: int) -> None:
            place = places[first]
            queue = (before[first], counts[place].sum(), self._heads, self._tails, self._divisor)
            scatter_block(*queue, firsts[place], ids, tails, tree)

        run_blocks(scatter_one, blocks)
        kept = numpy.diff(starts)
        duplicates, masked = (int(count) for count in culled.sum(0))
        if self.options.bitmask:
            bins = [(rank, rank + 1) for rank in range(ranks)] if len(blocks) > 1 else [(0, ranks)]
            fill = (starts, ids, tails, tree, self._words, self._word_starts, kept)
            run_blocks(lambda first, last: cull_bins(first, last, *fill), bins)
            masked += len(ids) - int(kept.sum())
        return Bins(starts, kept, ids, tails, arcs=arcs, duplicates=duplicates, masked=masked)

    def receive(self, sender: int, ids: NDArray[Any], tails: NDArray[Any]) -> None:
        """Contract one rank's bin: look up the status of its vertices and claim the unvisited."""
        if not len(ids):
            return
        arguments = (ids, tails, self.ranks, sender, self.level, self.distance, self.predecessor, self.tree)
        # Cutting takes longer than the work of a small bin, and most levels of a deep graph have such.
        blocks = even_blocks(len(ids)) if len(ids) > BINS_ALONE else []
        if len(blocks) > 1:
            run_blocks(lambda a, b: contract_block(a, b, *arguments, self._newly, self._marker), blocks)
        else:
            self._marker[0] = contract(*arguments, self._newly, self._marker[0])

    def commit(self) -> int:
        """End a level: what was claimed is the next frontier. Returns how many vertices."""
        self.level += 1
        self._frontier = self._newly[: self._marker[0]].copy()
        self._marker[0] = 0
        if self.tree:
            self._frontier.sort()
        self._mark()
        return len(self._frontier)

    def own_predecessors(self) -> NDArray[Any] | None:
        """Give the predecessors of the own vertices, int64 with -1 for none; None without a tree."""
        if not self.tree:
            return None
        return numpy.where(self.predecessor == NOBODY, -1, self.predecessor)
