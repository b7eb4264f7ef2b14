"""Edges between uniformly drawn vertices (Erdős and Rényi's m random pairs), each from its number alone."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.counter import STEP, draw
from gravel.kernels.generate.draws import mix, scale_down
from gravel.kernels.generate.on_threads import make_edges
from gravel.kernels.generate.shapes import Uniform
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

PAIR_STREAM = 3

_STEP = numpy.uint64(STEP)
_TWO = numpy.uint64(2)


def uniform(shape: Uniform, first: int, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count` of the random pairs."""
    start = numpy.uint64(draw(shape.seed, PAIR_STREAM))
    return make_edges(_pairs, shape.vertices, first, count, numpy.uint64(shape.vertices), start)


def random_targets(target: NDArray[Any], first: int, vertices: int, start: int) -> None:
    """Fill `target` with draws `first`, `first + 1`, ... of a stream among the vertices."""

    def make(low: int, high: int) -> None:
        _draws(target[low:high], numpy.uint64(first + low), numpy.uint64(vertices), numpy.uint64(start))

    run_blocks(make, even_blocks(len(target)))


@serial
def _draws(target: NDArray[Any], first: numpy.uint64, vertices: numpy.uint64, start: numpy.uint64) -> None:
    for i in range(len(target)):
        target[i] = scale_down(mix(start + (first + numpy.uint64(i)) * _STEP), vertices)


@serial
def _pairs(
    source: NDArray[Any],
    target: NDArray[Any],
    first: numpy.uint64,
    vertices: numpy.uint64,
    start: numpy.uint64,
) -> None:
    for i in range(len(source)):
        counter = start + (first + numpy.uint64(i)) * _TWO * _STEP
        source[i] = scale_down(mix(counter), vertices)
        target[i] = scale_down(mix(counter + _STEP), vertices)
