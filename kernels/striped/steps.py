"""The inner loops of a striped search: expand and filter, partition into bins, contract.

A bin holds what is for one rank, in the order of the frontier: `ids` are uint32 there (v // p), `tails`
uint32 here, empty where only distances are wanted. Frontiers ascend where a tree is wanted, so the first
arc of a rank to a vertex comes from the smallest of its possible predecessors here.

The bitmask has the bits of one owner's vertices side by side, from word `word_starts[owner]` on, so that
bins share no word: each can be filtered by a thread of its own, without atomics, and exactly. The paper's is
exact only as far as its threads do not race ("best-effort").
"""

from __future__ import annotations

import numpy

from gravel.kernels.atomics import compare_and_swap, fetch_add, fetch_min
from gravel.kernels.jit import serial

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
