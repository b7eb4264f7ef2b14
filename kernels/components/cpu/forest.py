"""A forest over the vertices that threads join at the same time: component[v] is v's parent, never larger.

A root is only ever hooked under a smaller vertex, so the root of a tree is its smallest vertex.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import compare_and_swap
from gravel.kernels.jit import serial

_ONE = numpy.uint64(1)


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
            held = compare_and_swap(component, high, high, low)
            if held == high:
                return
            above = held
        high = component[above]
        low = component[low]


@serial
def join_part(
    row_offsets: NDArray[Any],
    first_row: int,
    low: int,
    high: int,
    columns: NDArray[Any],
    first_arc: int,
    component: NDArray[Any],
    once: bool,
) -> None:
    """Join the arcs of `columns`, which begin with arc `first_arc`, of rows `low` to `high`.

    Row i is that of vertex first_row + i. With `once` arcs to larger vertices are left out, which
    is right where every arc has its reverse.
    """
    past = first_arc + len(columns)
    for row in range(numpy.uint64(low), numpy.uint64(high)):
        v = numpy.uint64(first_row) + row
        for k in range(max(row_offsets[row], first_arc), min(row_offsets[row + _ONE], past)):
            u = columns[k - first_arc]
            if once and u >= v:
                break
            if component[u] != component[v]:
                link(component, v, u)
