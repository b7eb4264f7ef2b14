"""The inner loops of one rank's visits, forward and backward (section IV).

A visit finds delegates (nd, dd) or local normal vertices (dn), or sorts what nn arcs reach by rank. Forward,
it expands the rows of the frontier; backward, every unvisited destination checks its own row of the opposite
subgraph for a parent on the frontier and ends at the first, which is the smallest since rows ascend.
Directions give the same finds and the same smallest parents.

`parents` hold the smallest parent found so far, a vertex of the whole graph, `NOBODY` for none. `columns` are
an array, or encoded rows (`gravel.kernels.layouts.spans`).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.layouts.spans import span, values_of

NOBODY = numpy.int64(0x7FFFFFFFFFFFFFFF)
"""The predecessor that every other one is smaller than."""


@serial
def row_work(frontier, offsets):  # type: ignore[no-untyped-def]
    """Count the rows of a frontier that are not empty, and their arcs."""
    rows = 0
    arcs = numpy.int64(0)
    for position in range(len(frontier)):
        row = frontier[position]
        length = numpy.int64(offsets[row + 1]) - numpy.int64(offsets[row])
        arcs += length
        if length:
            rows += 1
    return rows, arcs


@serial
def count_nn(frontier, ranks, offsets, columns, counts):  # type: ignore[no-untyped-def]
    """Count the nn arcs of the frontier by the rank that they lead to."""
    values = values_of(columns)
    for position in range(len(frontier)):
        local = frontier[position]
        first, last = span(columns, offsets, local, values)
        for arc in range(first, last):
            counts[numpy.int64(values[numpy.uint64(arc)]) % ranks] += 1


@serial
def bin_nn(frontier, ranks, offsets, columns, places, ids, tails):  # type: ignore[no-untyped-def]
    """Sort the nn arcs of the frontier by rank: 32-bit ids there, and the local tails of the arcs."""
    values = values_of(columns)
    for position in range(len(frontier)):
        local = frontier[position]
        first, last = span(columns, offsets, local, values)
        for arc in range(first, last):
            v = numpy.int64(values[numpy.uint64(arc)])
            place = places[v % ranks]
            places[v % ranks] = place + 1
            ids[place] = v // ranks
            tails[place] = local


@serial
def delegates_forward(  # type: ignore[no-untyped-def]
    frontier, names, ranks, rank, offsets, columns, seen, found, parents
):
    """Expand rows towards delegates (nd; dd with the delegates' `names`, which nd leaves empty)."""
    values = values_of(columns)
    for position in range(len(frontier)):
        row = numpy.int64(frontier[position])
        v = numpy.int64(names[row]) if len(names) else row * ranks + rank
        first, last = span(columns, offsets, row, values)
        for arc in range(first, last):
            d = numpy.int64(values[numpy.uint64(arc)])
            if not (seen[d >> 6] >> numpy.uint64(d & 63)) & numpy.uint64(1):
                found[d >> 6] |= numpy.uint64(1) << numpy.uint64(d & 63)
                parents[d] = min(parents[d], v)


@serial
def delegates_backward(  # type: ignore[no-untyped-def]
    mask, names, ranks, rank, offsets, columns, seen, labels, level, found, parents
):
    """Let unvisited delegates of a source mask pull (nd in dn's rows; dd in its own)."""
    values = values_of(columns)
    for word in range(len(mask)):
        bits = mask[word] & ~seen[word]
        d = numpy.int64(word) * 64
        while bits:
            if bits & numpy.uint64(1):
                first, last = span(columns, offsets, d, values)
                for arc in range(first, last):
                    place = numpy.int64(values[numpy.uint64(arc)])
                    if labels[place] == level:
                        v = numpy.int64(names[place]) if len(names) else place * ranks + rank
                        found[word] |= numpy.uint64(1) << numpy.uint64(d & 63)
                        parents[d] = min(parents[d], v)
                        break
            bits >>= numpy.uint64(1)
            d += 1


@serial
def normals_forward(  # type: ignore[no-untyped-def]
    frontier, names, offsets, columns, level, distance, parents, newly, marked
):
    """Expand delegates towards the normal vertices here (dn); `newly[:marked]` lists what is found."""
    values = values_of(columns)
    for position in range(len(frontier)):
        x = frontier[position]
        v = numpy.int64(names[x])
        first, last = span(columns, offsets, x, values)
        for arc in range(first, last):
            local = numpy.int64(values[numpy.uint64(arc)])
            if distance[local] == -1:
                distance[local] = level + 1
                newly[marked] = local
                marked += 1
            if distance[local] == level + 1:
                parents[local] = min(parents[local], v)
    return marked


@serial
def normals_backward(  # type: ignore[no-untyped-def]
    sources, names, offsets, columns, level, labels, distance, parents, newly, marked
):
    """Let unvisited normal vertices of the source list pull from delegates on the frontier (dn)."""
    values = values_of(columns)
    for position in range(len(sources)):
        local = numpy.int64(sources[position])
        if distance[local] != -1:
            continue
        first, last = span(columns, offsets, local, values)
        for arc in range(first, last):
            d = numpy.int64(values[numpy.uint64(arc)])
            if labels[d] == level:
                distance[local] = level + 1
                parents[local] = min(parents[local], numpy.int64(names[d]))
                newly[marked] = local
                marked += 1
                break
    return marked


@serial
def arrive(ids, level, distance, newly, marked):  # type: ignore[no-untyped-def]
    """Take in normal vertices that nn arcs reached."""
    for position in range(len(ids)):
        local = numpy.int64(ids[position])
        if distance[local] == -1:
            distance[local] = level + 1
            newly[marked] = local
            marked += 1
    return marked


@serial
def keep_smallest(ids, candidates, scale, shift, level, distance, parents):  # type: ignore[no-untyped-def]
    """Keep the smallest candidate of each vertex of a level; candidate c is vertex c * scale + shift."""
    for position in range(len(ids)):
        local = numpy.int64(ids[position])
        if distance[local] == level + 1:
            parents[local] = min(parents[local], numpy.int64(candidates[position]) * scale + shift)


@serial
def chosen_predecessors(delegates, normals, chosen):  # type: ignore[no-untyped-def]
    """Choose the delegate for a predecessor, else the normal vertex, else -1."""
    for place in range(len(chosen)):
        found = delegates[place] if delegates[place] != NOBODY else normals[place]
        chosen[place] = found if found != NOBODY else -1


def cuts(frontier: NDArray[Any], offsets: NDArray[Any], most: int) -> list[int]:
    """Cut a frontier where its rows have about `most` arcs; returns where each part begins, and the end."""
    if int(offsets[-1]) <= most:
        return [0, len(frontier)]
    ends = numpy.cumsum(offsets[frontier + 1].astype(numpy.int64) - offsets[frontier])
    found, last = [0], 0
    while found[-1] < len(frontier):
        last = max(found[-1] + 1, int(numpy.searchsorted(ends, last + most, side="right")))
        found.append(last)
        last = int(ends[last - 1])
    return found if len(found) > 1 else [0, 0]


def smallest_each(ids: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keep each id once, ascending, with the smallest of its values ("uniquify", where these are tails)."""
    order = numpy.lexsort((values, ids))
    ids, values = ids[order], values[order]
    first = numpy.ones(len(ids), numpy.bool_)
    first[1:] = ids[1:] != ids[:-1]
    return ids[first], values[first]
