"""RMAT edges made on the CPU."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.counter import STEP
from gravel.kernels.generate.draws import mix
from gravel.kernels.index import index_dtype
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)
_HALF = numpy.uint64(32)
_LOW = numpy.uint64(0xFFFFFFFF)
_STEP = numpy.uint64(STEP)


def make_edges(
    scale: int, first: int, count: int, constants: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count` with the constants of `edge_constants`; arrays (count,)."""
    dtype = index_dtype(1 << scale)
    source, target = numpy.empty(count, dtype), numpy.empty(count, dtype)

    def make(low: int, high: int) -> None:
        _edges(source[low:high], target[low:high], numpy.uint64(first + low), scale, constants)

    run_blocks(make, even_blocks(count))
    return source, target


@serial
def relabelled(vertex: numpy.uint64, scale: int, constants: NDArray[Any]) -> numpy.uint64:
    """Relabel a vertex by the bijection on 0..2^scale-1 that the constants hold."""
    mask = (_ONE << numpy.uint64(scale)) - _ONE
    shift = numpy.uint64(max(1, (scale + 1) // 2))
    for index in range(constants[4]):
        vertex = (vertex * constants[5 + 2 * index] + constants[6 + 2 * index]) & mask
        vertex ^= vertex >> shift
    return vertex


@serial
def _edges(
    source: NDArray[Any], target: NDArray[Any], first: numpy.uint64, scale: int, constants: NDArray[Any]
) -> None:
    start, a, ab, abc = constants[0], constants[1], constants[2], constants[3]
    draws = numpy.uint64((scale + 1) // 2)
    for i in range(len(source)):
        counter = start + (first + numpy.uint64(i)) * draws * _STEP
        row, column, bits = _ZERO, _ZERO, _ZERO
        for level in range(scale):
            if level & 1:
                bits >>= _HALF
            else:
                bits = mix(counter)
                counter += _STEP
            chance = bits & _LOW
            down = numpy.uint64(chance >= ab)
            right = numpy.uint64(chance >= a) ^ down ^ numpy.uint64(chance >= abc)
            row = (row << _ONE) | down
            column = (column << _ONE) | right
        source[i] = relabelled(row, scale, constants)
        target[i] = relabelled(column, scale, constants)
