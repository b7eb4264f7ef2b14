"""Random numbers inside compiled CPU code: 64 bits of a counter, and a number below a bound of them."""

from __future__ import annotations

import numba
import numpy

from gravel.kernels.generate.counter import FIRST, SECOND
from gravel.kernels.jit import serial

_FIRST = numpy.uint64(FIRST)
_SECOND = numpy.uint64(SECOND)
_27 = numpy.uint64(27)
_30 = numpy.uint64(30)
_31 = numpy.uint64(31)
_LOW = numpy.uint64(0xFFFFFFFF)
_HALF = numpy.uint64(32)


@numba.njit(inline="always")
def mix(value: numpy.uint64) -> numpy.uint64:
    """Turn a counter into 64 random bits, as `gravel.kernels.generate.counter.mix_integer` does."""
    value = (value ^ (value >> _30)) * _FIRST
    value = (value ^ (value >> _27)) * _SECOND
    return value ^ (value >> _31)


@serial
def scale_down(bits: numpy.uint64, bound: numpy.uint64) -> numpy.uint64:
    """Map 64 random bits to 0..bound-1: the upper 64 bits of bits * bound (Lemire, ACM TOMACS 2019)."""
    low, high = bits & _LOW, bits >> _HALF
    bound_low, bound_high = bound & _LOW, bound >> _HALF
    middle = high * bound_low + ((low * bound_low) >> _HALF)
    other = low * bound_high + (middle & _LOW)
    return high * bound_high + (middle >> _HALF) + (other >> _HALF)
