"""The loops of components over ranks on the CPU: trees of one rank's arcs, and labels that lead across ranks.

`labels[i]` is a vertex of the component of own vertex i * ranks + rank that is no larger, and that vertex
itself of a root. So labels lead from vertex to vertex, over all ranks, down to a root. A union of two
vertices walks down from the larger one. It goes on at the rank that owns what it comes to, or ends where a
root gets the smaller vertex as its label.
"""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.components.cpu.forest import link
from gravel.kernels.jit import serial

SAMPLED_ROWS, SAMPLED_ARCS = 64, 2
"""One row in so many, and each row of a root, tells so many arcs before the largest component is known."""

SAMPLED, DESCENDING, ALL = 0, 1, 2
"""Arcs that `arcs_to_others` gives: of a sample, to smaller vertices, or all of rows that are not skipped."""


@serial
def separate(delegates, rank, ranks, parents):  # type: ignore[no-untyped-def]
    """Make every node a root; own vertices that are delegates hang on these."""
    for node in range(len(parents)):
        parents[node] = node
    for d in range(len(delegates)):
        vertex = numpy.int64(delegates[d])
        if vertex % ranks == rank:
            parents[len(delegates) + vertex // ranks] = d


@serial
def join_rows(offsets, columns, row_node, column_node, parents):  # type: ignore[no-untyped-def]
    """Join the nodes of rows with those of columns; the first row and column are these nodes."""
    for row in range(len(offsets) - 1):
        node = numpy.uint64(row_node + row)
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            other = numpy.uint64(column_node + numpy.int64(columns[arc]))
            if parents[node] != parents[other]:
                link(parents, node, other)


@serial
def join_own(offsets, columns, rank, ranks, symmetric, first, parents):  # type: ignore[no-untyped-def]
    """Join own vertices, nodes `first` and on, along nn arcs to own vertices."""
    for row in range(len(offsets) - 1):
        own = row * ranks + rank
        node = numpy.uint64(first + row)
        for arc in range(numpy.int64(offsets[row]), numpy.int64(offsets[row + 1])):
            head = numpy.int64(columns[arc])
            if symmetric and head > own:
                break
            if head % ranks == rank:
                other = numpy.uint64(first + head // ranks)
                if parents[node] != parents[other]:
                    link(parents, node, other)


@serial
def label_trees(parents, delegates, rank, ranks, has_own, smallest, labels):  # type: ignore[no-untyped-def]
    """Label trees whose nodes point at their roots: delegates, and behind them own vertices.

    An own vertex gets the smallest own one of its tree. So does `smallest` of a delegate; in a tree without
    own vertices it is the first delegate. `has_own`, all 0, is used up.
    """
    count = len(delegates)
    smallest[:] = delegates
    for i in range(len(labels)):
        root = numpy.int64(parents[count + i])
        if root >= count:
            labels[i] = (root - count) * ranks + rank
            continue
        if not has_own[root]:
            has_own[root] = 1
            smallest[root] = i * ranks + rank
        labels[i] = smallest[root]
    for d in range(count):
        smallest[d] = smallest[numpy.int64(parents[d])]


@serial
def walk_down(a, b, labels, rank, ranks):  # type: ignore[no-untyped-def]
    """Unite two vertices as far as labels lead here; returns two to unite at the first's rank, or equals."""
    while a != b:
        if a < b:
            a, b = b, a
        if a % ranks != rank:
            break
        place = a // ranks
        below = numpy.int64(labels[place])
        if below == a:
            labels[place] = b
            return b, b
        if below % ranks == rank:
            further = numpy.int64(labels[below // ranks])
            if further % ranks == rank:
                labels[place] = further
                below = further
        a = below
    return a, b


@serial
def top_of(place, labels, rank, ranks):  # type: ignore[no-untyped-def]
    """Find the label behind all labels that are here: a root's own vertex, or one of another rank."""
    vertex = place * ranks + rank
    while True:
        below = numpy.int64(labels[vertex // ranks])
        if below == vertex or below % ranks != rank:
            return below
        vertex = below


@serial
def unite(places, values, labels, rank, ranks, at, to):  # type: ignore[no-untyped-def]
    """Unite own vertices at `places` with `values`; returns how many go on, by `at` and `to`."""
    count = 0
    for position in range(len(places)):
        own = numpy.int64(places[position]) * ranks + rank
        a, b = walk_down(own, numpy.int64(values[position]), labels, rank, ranks)
        if a != b:
            at[count] = a
            to[count] = b
            count += 1
    return count


@serial
def unite_delegates(first, delegates, smallest, labels, rank, ranks, at, to):  # type: ignore[no-untyped-def]
    """Unite delegates from `first` on with their trees; returns the next delegate, and how many go on."""
    count = 0
    d = first
    while d < len(delegates) and count < len(at):
        a, b = walk_down(numpy.int64(delegates[d]), numpy.int64(smallest[d]), labels, rank, ranks)
        if a != b:
            at[count] = a
            to[count] = b
            count += 1
        d += 1
    return d, count


@serial
def arcs_to_others(  # type: ignore[no-untyped-def]
    row, arc, offsets, columns, which, skipped, labels, rank, ranks, at, to
):
    """Unite ends of nn arcs to other ranks, from an arc of a row on.

    Returns the next row and arc, and how many go on.
    """
    count = 0
    while row < len(offsets) - 1:
        own = row * ranks + rank
        end = numpy.int64(offsets[row + 1])
        left: Any = end
        if which == SAMPLED:
            left = SAMPLED_ARCS if row % SAMPLED_ROWS == 0 or labels[row] == own else 0
        elif skipped[row]:
            left = 0
        arc = max(arc, numpy.int64(offsets[row]))
        while left and arc < end:
            head = numpy.int64(columns[arc])
            if which == DESCENDING and head > own:
                break
            if head % ranks != rank:
                if count == len(at):
                    return row, arc, count
                left -= 1
                a, b = walk_down(top_of(row, labels, rank, ranks), head, labels, rank, ranks)
                if a != b:
                    at[count] = a
                    to[count] = b
                    count += 1
            arc += 1
        row += 1
        arc = end
    return row, arc, count


@serial
def ask(place, labels, rank, ranks, asked, askers, wanted, answers):  # type: ignore[no-untyped-def]
    """List own vertices from a place on whose labels are of other ranks, and those labels, most of them once.

    `answers` has for each which of `wanted` is its label. Returns the next place, and both counts.
    """
    count = 0
    distinct = 0
    while place < len(labels) and count < len(askers):
        label = numpy.int64(labels[place])
        if label % ranks != rank:
            kept_at = (label // ranks) % len(asked)
            known: Any = numpy.int64(asked[kept_at])
            if known >= distinct or numpy.int64(wanted[known]) != label:
                known = distinct
                asked[kept_at] = known
                wanted[known] = label
                distinct += 1
            askers[count] = place
            answers[count] = known
            count += 1
        place += 1
    return place, count, distinct


@serial
def tops_of(places, labels, rank, ranks, tops):  # type: ignore[no-untyped-def]
    """Find `top_of` for own vertices."""
    for position in range(len(places)):
        tops[position] = top_of(numpy.int64(places[position]), labels, rank, ranks)


@serial
def replace(askers, answers, found, labels):  # type: ignore[no-untyped-def]
    """Give vertices that asked what was found for their labels; returns whether any label fell."""
    fell = False
    for position in range(len(askers)):
        label = found[answers[position]]
        fell |= label < labels[askers[position]]
        labels[askers[position]] = label
    return fell


@serial
def flatten(labels, rank, ranks, giant, skipped):  # type: ignore[no-untyped-def]
    """Mark own vertices whose way down leads to `giant`, or with none (-1) give each its root for a label."""
    for place in range(len(labels)):
        label = top_of(place, labels, rank, ranks)
        if giant < 0:
            labels[place] = label
        else:
            skipped[place] = label == giant
