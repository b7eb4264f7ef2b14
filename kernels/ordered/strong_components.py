"""Strongly connected components of a directed graph.

Tarjan's algorithm with Nuutila's modifications (On Finding the Strongly Connected Components in a Directed
Graph, Information Processing Letters 49, 1994), without recursion, as NetworkX has it: components come in the
same order.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.ordered import buffers


def strong_components(
    row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]
) -> tuple[NDArray[numpy.int64], NDArray[Any]]:
    """Return (offsets, members): component i has the members from offsets[i] to offsets[i + 1]."""
    made = make(buffers.strong_components(len(row_offsets) - 1, column_indices.itemsize), numpy)
    made["cursor"][:] = row_offsets[:-1]
    count = _find(row_offsets, column_indices, *made.values())
    return made["offsets"][: count + 1], made["members"]


@serial
def _find(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    preorder: NDArray[Any],
    lowlink: NDArray[Any],
    done: NDArray[Any],
    cursor: NDArray[Any],
    stack: NDArray[Any],
    waiting: NDArray[Any],
    members: NDArray[Any],
    offsets: NDArray[Any],
) -> int:
    """Fill `members` and `offsets`; returns the number of components.

    `preorder` counts from 1, 0 is unvisited. `stack` is the path of the depth-first search, `waiting` holds
    the vertices whose component is not complete, and `cursor` says where the search goes on in each row.
    """
    number, count, written, queued = 0, 0, 0, 0
    for source in range(len(preorder)):
        if done[source] != 0:
            continue
        top = 0
        stack[0] = source
        while top >= 0:
            v = numpy.int64(stack[top])
            if preorder[v] == 0:
                number += 1
                preorder[v] = number
            deeper = False
            while cursor[v] < row_offsets[v + 1]:
                w = numpy.int64(column_indices[cursor[v]])
                cursor[v] += 1
                if preorder[w] == 0:
                    top += 1
                    stack[top] = w
                    deeper = True
                    break
            if deeper:
                continue
            low = preorder[v]
            for k in range(row_offsets[v], row_offsets[v + 1]):
                w = numpy.int64(column_indices[k])
                if done[w] == 0:
                    low = min(low, lowlink[w] if preorder[w] > preorder[v] else preorder[w])
            lowlink[v] = low
            top -= 1
            if low != preorder[v]:
                waiting[queued] = v
                queued += 1
                continue
            done[v] = 1
            members[written] = v
            written += 1
            while queued > 0 and preorder[numpy.int64(waiting[queued - 1])] > preorder[v]:
                queued -= 1
                w = numpy.int64(waiting[queued])
                done[w] = 1
                members[written] = w
                written += 1
            count += 1
            offsets[count] = written
    return count
