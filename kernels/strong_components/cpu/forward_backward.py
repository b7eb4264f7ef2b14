"""Forward-backward search on the CPU, the plain form of `forward_backward.cu`: the same steps, one thread."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.components import ComponentsResult
from gravel.kernels.jit import serial
from gravel.kernels.strong_components.buffers import forward_backward_on_host


def components(
    row_offsets: NDArray[numpy.int64],
    column_indices: NDArray[Any],
    back_offsets: NDArray[numpy.int64],
    back_columns: NDArray[Any],
) -> ComponentsResult:
    """Label every vertex; see `gravel.kernels.strong_components`."""
    started = time.perf_counter()
    n, dtype = len(row_offsets) - 1, column_indices.dtype
    table = forward_backward_on_host(n, dtype.itemsize)
    component, colours, queue, seen = make(table[:4], numpy).values()
    graph = row_offsets, column_indices, back_offsets, back_columns
    _find(graph, component, colours, (numpy.diff(back_offsets), numpy.diff(row_offsets)), queue, seen)
    return ComponentsResult(component, (time.perf_counter() - started) * 1e3, "forward_backward")


@serial
def _retire(
    graph: Any, component: NDArray[Any], none: Any, left: Any, queue: NDArray[Any], size: int
) -> None:
    """Take labelled vertices out of the graph, and all that has no predecessor or successor then.

    `graph` has the rows of successors and those of predecessors, `left` how many predecessors and how many
    successors each vertex has that are still there.
    """
    row_offsets, columns, back_offsets, back_columns = graph
    inward, outward = left
    at = 0
    while at < size:
        v = queue[at]
        at += 1
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[k])
            inward[w] -= 1
            if inward[w] == 0 and component[w] == none:
                component[w] = w
                queue[size] = w
                size += 1
        for k in range(back_offsets[v], back_offsets[v + 1]):
            w = numpy.int64(back_columns[k])
            outward[w] -= 1
            if outward[w] == 0 and component[w] == none:
                component[w] = w
                queue[size] = w
                size += 1


@serial
def _gather(
    back_offsets: NDArray[Any],
    back_columns: NDArray[Any],
    component: NDArray[Any],
    none: Any,
    colour: NDArray[Any],
    queue: NDArray[Any],
    size: int,
) -> int:
    """Label what reaches the queue within its colour; returns the new size of the queue."""
    at = 0
    while at < size:
        v = queue[at]
        at += 1
        for k in range(back_offsets[v], back_offsets[v + 1]):
            w = numpy.int64(back_columns[k])
            if component[w] == none and colour[w] == colour[v]:
                component[w] = colour[v]
                queue[size] = w
                size += 1
    return size


@serial
def _spread(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    component: NDArray[Any],
    none: Any,
    colour: NDArray[Any],
    queue: NDArray[Any],
    queued: NDArray[Any],
    size: int,
) -> None:
    """Send the smallest colour along the arcs from the queue, which is a ring, until nothing changes."""
    first, room = 0, len(queue)
    while size > 0:
        v = queue[first]
        first = (first + 1) % room
        size -= 1
        queued[v] = False
        for k in range(row_offsets[v], row_offsets[v + 1]):
            w = numpy.int64(columns[k])
            if component[w] == none and colour[v] < colour[w]:
                colour[w] = colour[v]
                if not queued[w]:
                    queued[w] = True
                    queue[(first + size) % room] = w
                    size += 1


@serial
def _find(
    graph: Any,
    component: NDArray[Any],
    colour: NDArray[Any],
    left: Any,
    queue: NDArray[Any],
    queued: NDArray[Any],
) -> None:
    row_offsets, columns, back_offsets, back_columns = graph
    inward, outward = left
    n = len(component)
    none = component.dtype.type(-1)
    size, pivot, best = 0, -1, 0
    for v in range(n):
        if inward[v] == 0 or outward[v] == 0:
            component[v] = v
            queue[size] = v
            size += 1
    _retire(graph, component, none, left, queue, size)
    for v in range(n):
        if component[v] == none and inward[v] * outward[v] > best:
            pivot, best = v, inward[v] * outward[v]
    if pivot >= 0:
        colour[pivot] = pivot
        queue[0] = pivot
        _spread(row_offsets, columns, component, none, colour, queue, queued, 1)
        component[pivot] = pivot
        queue[0] = pivot
        size = _gather(back_offsets, back_columns, component, none, colour, queue, 1)
        smallest = queue[:size].min()
        for i in range(size):
            component[queue[i]] = smallest
        _retire(graph, component, none, left, queue, size)
    while True:
        size = 0
        for v in range(n):
            if component[v] == none:
                colour[v] = v
                queue[size] = v
                queued[v] = True
                size += 1
        if size == 0:
            return
        _spread(row_offsets, columns, component, none, colour, queue, queued, size)
        size = 0
        for v in range(n):
            if component[v] == none and colour[v] == v:
                component[v] = v
                queue[size] = v
                size += 1
        size = _gather(back_offsets, back_columns, component, none, colour, queue, size)
        _retire(graph, component, none, left, queue, size)
