"""Loops of a search by weights over one rank's subgraphs, on one thread.

Words are as in `gravel.kernels.sssp`. A vertex is in the next frontier once a round and in the pile of
farther ones once, which `flags` tell. For each head of an nn arc the smallest word is kept that was sent:
only smaller ones go.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.sssp.cpu.words import lengthened

NEXT, PILED = 1, 2
"""Flags of a vertex: it is in the next frontier, in the pile."""

NEAR, FAR = 0, 1
"""Counts of vertices: in the next frontier, and in the pile."""


@serial
def keep(
    v: Any,
    word: Any,
    end: Any,
    words: NDArray[Any],
    flags: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Give a vertex a smaller word, and put it into the frontier, or from `end` on into the pile."""
    words[v] = word
    if word < end:
        if flags[v] & NEXT == 0:
            flags[v] |= NEXT
            near[counts[NEAR]] = v
            counts[NEAR] += 1
    elif flags[v] & PILED == 0:
        flags[v] |= PILED
        far[counts[FAR]] = v
        counts[FAR] += 1


@serial
def to_delegates(
    frontier: NDArray[Any],
    words: NDArray[Any],
    offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    delegate_words: NDArray[Any],
    found: NDArray[Any],
) -> None:
    """Relax the arcs of a frontier to delegates (nd, dd), for what all ranks find together."""
    for i in range(len(frontier)):
        row = numpy.int64(frontier[i])
        word = words[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            d = columns[arc]
            longer = lengthened(word, weights[arc])
            if longer < delegate_words[d] and longer < found[d]:
                found[d] = longer


@serial
def to_own(
    frontier: NDArray[Any],
    delegate_words: NDArray[Any],
    offsets: NDArray[Any],
    columns: NDArray[Any],
    weights: NDArray[Any],
    bound: NDArray[Any],
    words: NDArray[Any],
    flags: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Relax the arcs of delegates to own vertices (dn)."""
    end = bound[0]
    for i in range(len(frontier)):
        row = numpy.int64(frontier[i])
        word = delegate_words[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            v = columns[arc]
            longer = lengthened(word, weights[arc])
            if longer < words[v]:
                keep(v, longer, end, words, flags, near, far, counts)


@serial
def to_heads(
    frontier: NDArray[Any],
    words: NDArray[Any],
    offsets: NDArray[Any],
    heads: NDArray[Any],
    weights: NDArray[Any],
    sent: NDArray[Any],
    flags: NDArray[Any],
    changed: NDArray[Any],
) -> int:
    """Relax nn arcs; returns how many heads have come nearer, which `changed` lists."""
    count = 0
    for i in range(len(frontier)):
        row = numpy.int64(frontier[i])
        word = words[row]
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            head = heads[arc]
            longer = lengthened(word, weights[arc])
            if longer < sent[head]:
                sent[head] = longer
                if flags[head] == 0:
                    flags[head] = 1
                    changed[count] = head
                    count += 1
    for i in range(count):
        flags[changed[i]] = 0
    return count


@serial
def arrive(
    ids: NDArray[Any],
    came: NDArray[Any],
    bound: NDArray[Any],
    words: NDArray[Any],
    flags: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Take in words that came for own vertices, or for delegates."""
    end = bound[0]
    for i in range(len(ids)):
        v = numpy.int64(ids[i])
        if came[i] < words[v]:
            keep(v, came[i], end, words, flags, near, far, counts)


@serial
def leave_next(frontier: NDArray[Any], flags: NDArray[Any]) -> None:
    """Let the vertices of a frontier come into the next one again."""
    for i in range(len(frontier)):
        flags[frontier[i]] &= numpy.uint8(255 - NEXT)


@serial
def nearest(
    words: NDArray[Any], far: NDArray[Any], count: int, bound: NDArray[Any], out: NDArray[Any]
) -> None:
    """Write the smallest word of the pile to out[0]; what was expanded meanwhile is below the bound."""
    for i in range(count):
        word = words[far[i]]
        if bound[0] <= word < out[0]:
            out[0] = word


@serial
def raise_bound(bound: NDArray[Any], width: Any) -> None:
    """End the bucket that begins at bound[0]; none is empty."""
    bound[0] = max(lengthened(bound[0], width), bound[0] + bound.dtype.type(1))


@serial
def take_bucket(
    begin: NDArray[Any],
    bound: NDArray[Any],
    words: NDArray[Any],
    flags: NDArray[Any],
    near: NDArray[Any],
    far: NDArray[Any],
    kept: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Move the vertices of the pile below the bound to the frontier, and those beyond it to `kept`.

    What was expanded before, below the bucket's begin, leaves the pile.
    """
    stay = 0
    for i in range(counts[FAR]):
        v = far[i]
        word = words[v]
        if word >= bound[0]:
            kept[stay] = v
            stay += 1
            continue
        flags[v] &= numpy.uint8(255 - PILED)
        if word >= begin[0]:
            near[counts[NEAR]] = v
            counts[NEAR] += 1
            flags[v] |= NEXT
    counts[FAR] = stay
