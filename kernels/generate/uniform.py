"""Edges between uniformly drawn vertices (Erdős and Rényi's m random pairs), each from its number alone."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.counter import STEP, draw, mix
from gravel.kernels.generate.sizes import size
from gravel.kernels.index import index_dtype
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, run_blocks

PAIR_STREAM = 3

_LOW = numpy.uint64(0xFFFFFFFF)
_HALF = numpy.uint64(32)
_STEP = numpy.uint64(STEP)
_TWO = numpy.uint64(2)


def uniform(
    vertices: int, edges: int, seed: int = 0, *, first: int = 0, count: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make edges `first` to `first + count` of `edges` random pairs; loops and duplicates occur.

    Returns source and target (count,), uint32 below 2^32 vertices, else uint64. Raises ValueError for
    parameters that cannot be.
    """
    total = size("uniform", vertices=vertices, edges=edges, seed=seed).edges
    count = total - first if count is None else count
    if first < 0 or count < 0 or first + count > total:
        raise ValueError(f"edges {first} to {first + count} were asked for; there are {total}")
    dtype = index_dtype(vertices)
    source, target = numpy.empty(count, dtype), numpy.empty(count, dtype)
    start = numpy.uint64(draw(seed, PAIR_STREAM))

    def make(low: int, high: int) -> None:
        _pairs(source[low:high], target[low:high], numpy.uint64(first + low), numpy.uint64(vertices), start)

    run_blocks(make, even_blocks(count))
    return source, target


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
def scale_down(bits: numpy.uint64, bound: numpy.uint64) -> numpy.uint64:
    """Map 64 random bits to 0..bound-1: the upper 64 bits of bits * bound (Lemire, ACM TOMACS 2019)."""
    low, high = bits & _LOW, bits >> _HALF
    bound_low, bound_high = bound & _LOW, bound >> _HALF
    middle = high * bound_low + ((low * bound_low) >> _HALF)
    other = low * bound_high + (middle & _LOW)
    return high * bound_high + (middle >> _HALF) + (other >> _HALF)


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
