"""Reverse Cuthill-McKee: neighbours get near numbers, which makes bandwidth and gaps small.

Cuthill, McKee (ACM 1969): number breadth-first, children of earlier parents first, of one parent by
ascending degree, equal degrees by vertex; then reverse. Each component starts at a pseudo-peripheral vertex
after George, Liu (An Implementation of a Pseudoperipheral Node Finder, ACM TOMS 1979): search from the
vertex of least degree in the last level until the depth no longer grows. Components come in the order of
their smallest vertices.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make, vertex_type
from gravel.kernels.jit import serial
from gravel.kernels.order import buffers

DONE = 2  # mark of a numbered vertex; 0 and 1 alternate between searches
Graph = tuple[NDArray[numpy.int64], NDArray[Any]]
"""Row offsets and columns."""

SHORT = 32  # children sorted by insertion up to here, by merging beyond


def rcm(row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]) -> NDArray[Any]:
    """Order a symmetric graph with sorted lists; returns (vertices,), permutation[old] = new."""
    vertices = len(row_offsets) - 1
    vertex = vertex_type(vertices)
    order: NDArray[Any] = buffers.order(vertices, vertex, "host").make(numpy)
    queue, mark, begins = make(buffers.rcm_on_host(vertices, vertex), numpy).values()
    if vertices:
        by_component((row_offsets, column_indices), queue, mark, order, begins)
        _number_backwards(queue, order)
    return order


@serial
def _number_backwards(queue: NDArray[Any], order: NDArray[Any]) -> None:
    last = len(queue) - 1
    for place in range(len(queue)):
        order[numpy.int64(queue[place])] = last - place


@serial
def by_component(
    graph: Graph,
    queue: NDArray[Any],
    mark: NDArray[numpy.uint8],
    spare: NDArray[Any],
    level_begins: NDArray[Any],
) -> None:
    """Fill `queue` with the vertices in Cuthill-McKee order, component by component.

    All marks are 0, and `spare` is for sorting.

    Unless `level_begins` is empty, levels stay unsorted, and it takes for each vertex the place at which its
    level begins in the queue.
    """
    row_offsets, _ = graph
    begin: Any = 0
    for vertex in range(len(queue)):
        if mark[vertex] == DONE:
            continue
        root: Any = vertex
        if row_offsets[vertex] < row_offsets[vertex + 1]:
            root = _peripheral(graph, queue, begin, vertex, mark)
        if len(level_begins):
            begin = _search(graph, queue, begin, root, mark, DONE, level_begins)[0]
        else:
            begin = _number(graph, queue, begin, root, mark, spare)


@serial
def _peripheral(
    graph: Graph, queue: NDArray[Any], begin: int, vertex: int, mark: NDArray[numpy.uint8]
) -> Any:
    """Find the vertex from which a component is numbered, which has arcs and whose marks are all 0.

    `queue` is used from `begin` on. The root is the start of the deepest search, of several the one whose
    largest level is smallest, of several the first; each search starts far from the last one's start.
    """
    row_offsets, _ = graph
    flag = 1
    root: Any = vertex
    none = numpy.empty(0, queue.dtype)
    end, last, depth, width = _search(graph, queue, begin, root, mark, flag, none)
    while depth > 1:
        far = numpy.int64(queue[last])
        for place in range(last + 1, end):
            other = numpy.int64(queue[place])
            more = _degree(row_offsets, other) - _degree(row_offsets, far)
            if more < 0 or (more == 0 and other < far):
                far = other
        flag = 1 - flag
        end, last, new_depth, new_width = _search(graph, queue, begin, far, mark, flag, none)
        if new_depth > depth or (new_depth == depth and new_width < width):
            root = far
        if new_depth <= depth:
            break
        depth, width = new_depth, new_width
    return root


@serial
def _degree(row_offsets: NDArray[Any], vertex: Any) -> Any:
    return row_offsets[vertex + 1] - row_offsets[vertex]


@serial
def _search(
    graph: Graph,
    queue: NDArray[Any],
    begin: int,
    root: int,
    mark: NDArray[numpy.uint8],
    flag: int,
    level_begins: NDArray[Any],
) -> tuple[int, int, int, int]:
    """Search a component none of whose marks is flag, and turn them to flag.

    `level_begins`, unless it is empty, takes for each vertex the place in the queue where its level begins.

    Returns the end of the queue, the start of the last level in it, the number of levels and the largest.
    """
    row_offsets, column_indices = graph
    queue[begin] = root
    mark[root] = flag
    level, end = begin, begin + 1
    depth = width = 0
    while True:
        stop = end
        depth += 1
        width = max(width, stop - level)
        for place in range(level, stop):
            vertex = numpy.int64(queue[place])
            if len(level_begins):
                level_begins[vertex] = level
            for i in range(row_offsets[vertex], row_offsets[vertex + 1]):
                neighbour = numpy.int64(column_indices[i])
                if mark[neighbour] != flag:
                    mark[neighbour] = flag
                    queue[end] = neighbour
                    end += 1
        if end == stop:
            return end, level, depth, width
        level = stop


@serial
def _number(
    graph: Graph, queue: NDArray[Any], begin: int, root: int, mark: NDArray[numpy.uint8], spare: NDArray[Any]
) -> int:
    """Queue a component in Cuthill-McKee order and mark it as done; returns the end of the queue."""
    row_offsets, column_indices = graph
    queue[begin] = root
    mark[root] = DONE
    place, end = begin, begin + 1
    while place < end:
        vertex = numpy.int64(queue[place])
        place += 1
        first = end
        for i in range(row_offsets[vertex], row_offsets[vertex + 1]):
            neighbour = numpy.int64(column_indices[i])
            if mark[neighbour] != DONE:
                mark[neighbour] = DONE
                queue[end] = neighbour
                end += 1
        _sort_by_degree(row_offsets, queue, first, end, spare)
    return end


@serial
def _sort_by_degree(
    row_offsets: NDArray[numpy.int64], queue: NDArray[Any], first: int, last: int, spare: NDArray[Any]
) -> None:
    """Sort queue[first:last] by degree, leaving equal degrees in their order."""
    for low in range(first, last, SHORT):
        for i in range(low + 1, min(low + SHORT, last)):
            vertex = numpy.int64(queue[i])
            degree = _degree(row_offsets, vertex)
            j = i - 1
            while j >= low and _degree(row_offsets, numpy.int64(queue[j])) > degree:
                queue[j + 1] = queue[j]
                j -= 1
            queue[j + 1] = vertex
    run = SHORT
    while run < last - first:
        for low in range(first, last - run, 2 * run):
            middle, high = low + run, min(low + 2 * run, last)
            for place in range(low, middle):
                spare[place] = queue[place]
            left, right = low, middle
            for place in range(low, high):
                if left == middle:
                    break
                if right < high and _degree(row_offsets, numpy.int64(queue[right])) < _degree(
                    row_offsets, numpy.int64(spare[left])
                ):
                    queue[place] = queue[right]
                    right += 1
                else:
                    queue[place] = spare[left]
                    left += 1
        run *= 2
