"""Edges of boxes of vertices, each joined to those at given offsets: what all lattices are made of.

Vertices are numbered with the last dimension fastest. An offset has one edge for each vertex whose partner
lies inside the box; those vertices are a smaller box, so edge k needs only k.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import edges, make, vertex_type
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

Offset = tuple[int, ...]


def star_offsets(dimensions: int) -> list[Offset]:
    """List one step along each dimension: 5 points in two dimensions, 7 in three, the middle one included."""
    return [tuple(int(place == axis) for place in range(dimensions)) for axis in range(dimensions)]


def box_offsets(dimensions: int) -> list[Offset]:
    """List the steps along each dimension, then those to all other corners of a unit box: 9 or 27 points."""
    star = star_offsets(dimensions)
    ahead = [step for step in itertools.product((-1, 0, 1), repeat=dimensions) if step > (0,) * dimensions]
    return [*star, *(step for step in ahead if step not in star)]


def offset_edges(dims: Sequence[int], offset: Offset) -> int:
    """Count the edges of one offset."""
    return math.prod(max(0, length - abs(step)) for length, step in zip(dims, offset, strict=True))


def box_edges(
    dims: Sequence[int], offsets: Sequence[Offset], first: int, count: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count` of the offsets, one offset after the other.

    `dims` holds two or three lengths. Returns source and target (count,), uint32 below 2^32 vertices, else
    uint64.
    """
    source, target = make(edges(count, vertex_type(math.prod(dims)), "host"), numpy).values()
    begin = 0
    for offset in offsets:
        end = begin + offset_edges(dims, offset)
        low, high = max(first, begin), min(first + count, end)
        if low < high:
            place = slice(low - first, high - first)
            _one_offset(source[place], target[place], low - begin, dims, offset)
        begin = end
    return source, target


def _one_offset(
    source: NDArray[Any], target: NDArray[Any], first: int, dims: Sequence[int], offset: Offset
) -> None:
    lead = (1,) * (3 - len(dims))
    lengths, steps = (*lead, *dims), (*(0 for _ in lead), *offset)
    box = numpy.array([*lengths, *steps], numpy.int64)

    def make(low: int, high: int) -> None:
        _edges(source[low:high], target[low:high], first + low, box)

    run_blocks(make, even_blocks(len(source)))


@serial
def _edges(source: NDArray[Any], target: NDArray[Any], first: int, box: NDArray[Any]) -> None:
    rows, depth = box[1], box[2]
    inner = depth - abs(box[5])
    middle = rows - abs(box[4])
    distance = (box[3] * rows + box[4]) * depth + box[5]
    for i in range(len(source)):
        edge = first + i
        z = edge % inner - min(0, box[5])
        y = edge // inner % middle - min(0, box[4])
        x = edge // inner // middle - min(0, box[3])
        vertex = (x * rows + y) * depth + z
        source[i] = vertex
        target[i] = vertex + distance
