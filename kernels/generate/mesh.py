"""A triangulated plane: a lattice whose every cell has one of its two diagonals, drawn by seed."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.counter import STEP, draw
from gravel.kernels.generate.draws import mix
from gravel.kernels.generate.lattice import box_edges, star_offsets
from gravel.kernels.generate.shapes import Mesh
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

DIAGONAL_STREAM = 4

_STEP = numpy.uint64(STEP)
_HIGH = numpy.uint64(63)


def mesh(shape: Mesh, first: int, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count`: those of the 5-point lattice, then a diagonal for each cell."""
    total, dims = shape.size().edges, shape.dims
    rows, columns = dims
    straight = total - (rows - 1) * (columns - 1)
    # Every cell's upper left corner is the start of its edge to the lower right one.
    source, target = box_edges(dims, [*star_offsets(2), (1, 1)], first, count)
    skipped = max(0, straight - first)
    start = numpy.uint64(draw(shape.seed, DIAGONAL_STREAM))
    cell = max(0, first - straight)
    tails, heads = source[skipped:], target[skipped:]

    def turn(low: int, high: int) -> None:
        _turn(tails[low:high], heads[low:high], numpy.uint64(cell + low), start)

    run_blocks(turn, even_blocks(len(tails)))
    return source, target


@serial
def _turn(source: NDArray[Any], target: NDArray[Any], first: numpy.uint64, start: numpy.uint64) -> None:
    for i in range(len(source)):
        if mix(start + (first + numpy.uint64(i)) * _STEP) >> _HIGH:
            source[i] += 1
            target[i] -= 1
