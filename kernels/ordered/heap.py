"""A binary heap of (key, number, vertex) in three arrays; of equal keys the smaller number is first."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


@serial
def push(
    keys: NDArray[Any],
    numbers: NDArray[Any],
    vertices: NDArray[Any],
    size: int,
    key: Any,
    number: int,
    vertex: int,
) -> int:
    """Add an entry to a heap of `size` entries; returns the new size."""
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
def drop(keys: NDArray[Any], numbers: NDArray[Any], vertices: NDArray[Any], size: int) -> int:
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


def heap(dtype: Any, room: int) -> tuple[NDArray[Any], NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the arrays of a heap for `room` entries with keys of a dtype."""
    return numpy.empty(room, dtype), numpy.empty(room, numpy.int64), numpy.empty(room, numpy.int64)
