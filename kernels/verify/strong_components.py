"""Strongly connected components: checked from labels and rows alone, by searches that no strategy shares.

Each vertex and its label reach one another within the label, so no component is too large. Arcs between
labels make no cycle, so none is too small.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.verify import buffers
from gravel.kernels.verify.given import refuse_labels
from gravel.kernels.verify.result import Check

RULES = {
    "ranges": "labels are vertices of the graph",
    "smallest": "a label is no larger than its vertex and is the label of itself",
    "from_label": "a label reaches its vertices along arcs between them",
    "to_label": "vertices reach their label along arcs between them",
    "acyclic": "arcs between labels make no cycle",
}


def check_strong_components(
    row_offsets: NDArray[Any], column_indices: NDArray[Any], component: NDArray[Any]
) -> list[Check]:
    """Check labels of strongly connected components, on one thread.

    Parameters
    ----------
    row_offsets, column_indices : rows of successors, int64 and uint32 or uint64.
    component : labels, any integer (vertices,).

    Raises ValueError for labels of another number of vertices.

    """
    n = len(row_offsets) - 1
    refuse_labels((n,), component=component)
    strange = numpy.flatnonzero((component < 0) | (component >= n))
    if len(strange):
        return [Check.of(RULES, "ranges", strange)]
    label, queue, seen, entering = make(buffers.strong_searches(n), numpy).values()
    label[:] = component
    odd = numpy.flatnonzero((label > numpy.arange(n)) | (label[label] != label))
    _reach(row_offsets, column_indices, label, queue, seen)
    from_label = numpy.flatnonzero(~seen)
    _reach(*_turned(row_offsets, column_indices), label, queue, seen)
    to_label = numpy.flatnonzero(~seen)
    members = numpy.argsort(label, kind="stable")
    first = numpy.searchsorted(label[members], numpy.arange(n + 1))
    left = _in_cycles(row_offsets, column_indices, label, members, first, entering, queue)
    return [
        Check.of(RULES, "ranges", strange),
        Check.of(RULES, "smallest", odd),
        Check.of(RULES, "from_label", from_label),
        Check.of(RULES, "to_label", to_label),
        Check.of(RULES, "acyclic", left),
    ]


def _turned(
    row_offsets: NDArray[Any], column_indices: NDArray[Any]
) -> tuple[NDArray[numpy.int64], NDArray[Any]]:
    """Return the rows of predecessors, made by a sort that no strategy uses."""
    n = len(row_offsets) - 1
    tails = numpy.repeat(numpy.arange(n, dtype=column_indices.dtype), numpy.diff(row_offsets))
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(column_indices.astype(numpy.int64), minlength=n), out=offsets[1:])
    return offsets, tails[numpy.argsort(column_indices, kind="stable")]


@serial
def _reach(row_offsets, columns, label, queue, seen):  # type: ignore[no-untyped-def]
    """Search from all labels at once, along arcs between vertices of one label."""
    size, at = 0, 0
    for v in range(len(label)):
        seen[v] = label[v] == v
        if seen[v]:
            queue[size] = v
            size += 1
    while at < size:
        v = queue[at]
        at += 1
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[k])
            if not seen[w] and label[w] == label[v]:
                seen[w] = True
                queue[size] = w
                size += 1


@serial
def _in_cycles(row_offsets, columns, label, members, first, entering, queue):  # type: ignore[no-untyped-def]
    """Return the labels that are left when those that no arc enters are removed, one after the other."""
    n = len(label)
    for v in range(n):
        for k in range(row_offsets[v], row_offsets[v + 1]):
            target = label[numpy.int64(columns[k])]
            entering[target] += target != label[v]
    size, at = 0, 0
    for v in range(n):
        if first[v] < first[v + 1] and entering[v] == 0:
            queue[size] = v
            size += 1
    while at < size:
        of = queue[at]
        at += 1
        for i in range(first[of], first[of + 1]):
            v = members[i]
            for k in range(row_offsets[v], row_offsets[v + 1]):
                target = label[numpy.int64(columns[k])]
                if target != of:
                    entering[target] -= 1
                    if entering[target] == 0:
                        queue[size] = target
                        size += 1
    return numpy.flatnonzero(entering > 0)
