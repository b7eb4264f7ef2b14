"""A forest over the vertices that threads join at the same time: component[v] is v's parent, never larger.

A root is only ever hooked under a smaller vertex, so the root of a tree is its smallest vertex.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import compare_and_swap
from gravel.kernels.jit import serial
from gravel.kernels.layouts.host_parts import count_in_part, span_in_part, values_of_part


@serial
def compress(component: NDArray[Any], first: int, last: int) -> None:
    """Make every vertex a child of its root."""
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        parent = component[v]
        while component[parent] != parent:
            parent = component[parent]
        component[v] = parent


@serial
def link(component: NDArray[Any], u: int, v: int) -> None:
    """Join the trees of two vertices: the larger root becomes a child of a smaller vertex."""
    high, low = component[u], component[v]
    while high != low:
        if high < low:
            high, low = low, high
        above = component[high]
        if above == low:
            return
        if above == high:
            found = compare_and_swap(component, high, high, low)
            if found == high:
                return
            above = found
        high = component[above]
        low = component[low]


def most_frequent(component: NDArray[Any], samples: int) -> int:
    """Return the label that most of so many vertices have, which are the same in every run.

    A bad sample costs time and never correctness.
    """
    places = numpy.random.default_rng(27491095).integers(0, len(component), samples)
    labels, counts = numpy.unique(component[places], return_counts=True)
    return int(labels[numpy.argmax(counts)])


@serial
def join_part(rows: Any, first_row: int, low: int, high: int, component: NDArray[Any], once: bool) -> Any:
    """Join what a part has of rows `low` to below `high`; returns a row that is damaged, or -1.

    Row i is that of vertex first_row + i. With `once` arcs to larger vertices are left out, which
    is right where every arc has its reverse.
    """
    values = values_of_part(rows)
    for row in range(low, high):
        count = count_in_part(rows, row)
        if count < 0:
            return row
        if count > len(values):
            values = numpy.empty(2 * count, values.dtype)
        begin, end = span_in_part(rows, row, values)
        if end - begin < count:
            return row
        v = numpy.uint64(first_row + row)
        for k in range(begin, end):
            u = values[numpy.uint64(k)]
            if once and u >= v:
                break
            if component[u] != component[v]:
                link(component, v, u)
    return -1
