"""A counter-based random function on 64 bits: any draw without the draws before it.

`mix` is the output function of SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number
Generators, OOPSLA 2014, figure 16 with the constants of variant 13), applied to `start + index * STEP`.
"""

from __future__ import annotations

import numba
import numpy

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, odd
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB

_FIRST = numpy.uint64(FIRST)
_SECOND = numpy.uint64(SECOND)
_27 = numpy.uint64(27)
_30 = numpy.uint64(30)
_31 = numpy.uint64(31)


def mix_integer(value: int) -> int:
    """`mix` for Python integers, to derive starts and constants from a seed."""
    value = ((value ^ (value >> 30)) * FIRST) & MASK
    value = ((value ^ (value >> 27)) * SECOND) & MASK
    return value ^ (value >> 31)


def draw(seed: int, stream: int, index: int = 0) -> int:
    """A 64-bit number that depends on the seed, on what it is for, and on an index."""
    start = mix_integer((mix_integer(seed & MASK) + stream * STEP) & MASK)
    return mix_integer((start + (seed >> 64) * FIRST + index * STEP) & MASK)


@numba.njit(inline="always")
def mix(value: numpy.uint64) -> numpy.uint64:
    """Turn a counter into 64 random bits."""
    value = (value ^ (value >> _30)) * _FIRST
    value = (value ^ (value >> _27)) * _SECOND
    return value ^ (value >> _31)
