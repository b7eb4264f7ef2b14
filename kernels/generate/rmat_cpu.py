"""RMAT edges made on the CPU."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.counter import STEP
from gravel.kernels.generate.draws import mix
from gravel.kernels.jit import serial

_ZERO = numpy.uint64(0)
_ONE = numpy.uint64(1)
_HALF = numpy.uint64(32)
_LOW = numpy.uint64(0xFFFFFFFF)
_STEP = numpy.uint64(STEP)


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
def rmat_edges(
    source: NDArray[Any], target: NDArray[Any], first: numpy.uint64, scale: int, constants: NDArray[Any]
) -> None:
    """Fill in edges from `first` on with the constants of `edge_constants`."""
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
