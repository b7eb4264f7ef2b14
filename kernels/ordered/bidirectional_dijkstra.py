"""One shortest path by weights between two vertices, searched from both ends."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


def weighted_path(
    forward: tuple[NDArray[numpy.int64], NDArray[Any], NDArray[Any]],
    backward: tuple[NDArray[numpy.int64], NDArray[Any], NDArray[Any]],
    source: int,
    target: int,
) -> tuple[Any, NDArray[Any]] | None:
    """Return the length of a shortest path and its vertices, or None if there is none.

    `forward` and `backward` are rows as `gravel.kernels.ordered.dijkstra` takes them: (row_offsets,
    column_indices, weights). Both ends take turns, and the path is the one that NetworkX returns.
    """
    n, dtype, weight = len(forward[0]) - 1, forward[1].dtype, forward[2].dtype
    if source == target:
        return weight.type(0), numpy.array([source], dtype)
    states = numpy.zeros((2, n), numpy.uint8)
    before, best = numpy.empty((2, n), dtype), numpy.empty((2, n), weight)
    heaps = tuple(_heap(weight, len(rows[1]) + 1) for rows in (forward, backward))
    middle, length = _search(forward, backward, source, target, states, before, best, heaps)
    if middle < 0:
        return None
    vertices = [middle]
    while vertices[-1] != source:
        vertices.append(int(before[0, vertices[-1]]))
    vertices.reverse()
    while vertices[-1] != target:
        vertices.append(int(before[1, vertices[-1]]))
    return weight.type(length), numpy.array(vertices, dtype)


@serial
def _expand(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    weights: NDArray[Any],
    v: int,
    near: Any,
    side: int,
    states: NDArray[Any],
    before: NDArray[Any],
    best: NDArray[Any],
    keys: NDArray[Any],
    numbers: NDArray[Any],
    vertices: NDArray[Any],
    size: int,
    number: int,
    middle: Any,
    length: Any,
) -> tuple[int, int, Any, Any]:
    """Relax a row; returns the heap's size, the next number, and where the shortest path so far meets."""
    for k in range(row_offsets[v], row_offsets[v + 1]):
        w = numpy.int64(column_indices[k])
        if states[side, w] == 2:
            continue
        longer = near + weights[k]
        if states[side, w] == 0 or longer < best[side, w]:
            states[side, w], best[side, w], before[side, w] = 1, longer, v
            size = _push(keys, numbers, vertices, size, longer, number, w)
            number += 1
            if states[1 - side, w] != 0:
                whole = longer + best[1 - side, w]
                if middle < 0 or whole < length:
                    middle, length = w, whole
    return size, number, middle, length


@serial
def _search(
    forward: Any,
    backward: Any,
    source: int,
    target: int,
    states: NDArray[Any],
    before: NDArray[Any],
    best: NDArray[Any],
    heaps: Any,
) -> tuple[Any, Any]:
    """Return where the two halves of a shortest path meet and its length; -1 if there is none.

    `states` is 0 for unseen, 1 for a vertex in the heap and 2 for one that is done, of each side.
    """
    row_offsets, column_indices, weights = forward
    back_offsets, back_indices, back_weights = backward
    (keys, numbers, vertices), (back_keys, back_numbers, back_vertices) = heaps
    zero = best.dtype.type(0)
    states[0, source], best[0, source] = 1, zero
    states[1, target], best[1, target] = 1, zero
    size = _push(keys, numbers, vertices, 0, zero, 0, source)
    back_size = _push(back_keys, back_numbers, back_vertices, 0, zero, 1, target)
    number, side = 2, 1
    middle, length = numpy.int64(-1), zero
    while size > 0 and back_size > 0:
        side = 1 - side  # an outdated entry is a turn too
        if side == 0:
            near, v = keys[0], vertices[0]
            size = _drop(keys, numbers, vertices, size)
        else:
            near, v = back_keys[0], back_vertices[0]
            back_size = _drop(back_keys, back_numbers, back_vertices, back_size)
        if states[side, v] == 2:
            continue
        states[side, v] = 2
        if states[1 - side, v] == 2:
            return middle, length
        if side == 0:
            size, number, middle, length = _expand(
                row_offsets, column_indices, weights, v, near, side, states, before, best,
                keys, numbers, vertices, size, number, middle, length,
            )  # fmt: skip
        else:
            back_size, number, middle, length = _expand(
                back_offsets, back_indices, back_weights, v, near, side, states, before, best,
                back_keys, back_numbers, back_vertices, back_size, number, middle, length,
            )  # fmt: skip
    return numpy.int64(-1), zero


@serial
def _push(
    keys: NDArray[Any],
    numbers: NDArray[Any],
    vertices: NDArray[Any],
    size: int,
    key: Any,
    number: int,
    vertex: int,
) -> int:
    """Add an entry to a heap of `size` entries, by key and number; returns its new size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[above] < key or (keys[above] == key and numbers[above] < number):
            break
        keys[at], numbers[at], vertices[at] = keys[above], numbers[above], vertices[above]
        at = above
    keys[at], numbers[at], vertices[at] = key, number, vertex
    return size + 1


@serial
def _drop(keys: NDArray[Any], numbers: NDArray[Any], vertices: NDArray[Any], size: int) -> int:
    """Remove the first entry; returns the new size."""
    size -= 1
    key, number, vertex = keys[size], numbers[size], vertices[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            keys[other] < keys[child] or (keys[other] == keys[child] and numbers[other] < numbers[child])
        ):
            child = other
        if key < keys[child] or (key == keys[child] and number < numbers[child]):
            break
        keys[at], numbers[at], vertices[at] = keys[child], numbers[child], vertices[child]
        at = child
    keys[at], numbers[at], vertices[at] = key, number, vertex
    return size


def _heap(dtype: Any, room: int) -> tuple[NDArray[Any], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the arrays of a heap for `room` entries with keys of a dtype."""
    return numpy.empty(room, dtype), numpy.empty(room, numpy.int64), numpy.empty(room, numpy.int64)
