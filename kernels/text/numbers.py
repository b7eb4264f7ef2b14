"""Whole numbers and decimals at a place in a byte array; the bytes end in a newline, which ends a number.

Decimals are exact: where the digits fit 53 bits and the power of ten is at most 22, one multiplication or
division rounds correctly (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990, section 3);
the rest goes to the C library's `strtod`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy
from numba import types

from gravel.kernels.jit import serial
from gravel.kernels.text import FINE, NEGATIVE, NOT_INTEGER, TOO_LARGE
from gravel.kernels.text.kinds import COMMENT, OTHER

_strtod = types.ExternalFunction("strtod", types.float64(types.uintp, types.uintp))

_POWERS = numpy.array([10.0**exponent for exponent in range(23)])
_MANTISSA = 1 << 53
_LARGEST = numpy.uint64((1 << 63) - 1)
_TEN = numpy.uint64(10)
_FULL = numpy.uint64((1 << 63) // 10)


SHORT = 18
"""Digits that cannot overflow 63 bits."""


@numba.njit(inline="always")
def _digit(data: Any, place: Any) -> Any:
    """Return the digit at a place; 10 or more where there is none."""
    return numpy.uint8(data[numpy.uintp(place)] - 48)


@numba.njit(inline="always")
def digits_at(data: Any, place: Any) -> Any:
    """Read digits, `SHORT` at most; returns their value and the place after them."""
    value = numpy.int64(0)
    digit = numpy.int64(data[numpy.uintp(place)]) - 48
    while numpy.uint64(digit) < numpy.uint64(10):
        value = value * 10 + digit
        place += 1
        digit = numpy.int64(data[numpy.uintp(place)]) - 48
    return value, place


@serial
def read_integer(data: Any, kinds: Any, place: Any) -> Any:
    """Read a whole number that a separator ends; returns value, place after it and code."""
    begin = place
    value = numpy.uint64(0)
    while _digit(data, place) < 10:
        if value > _FULL:
            return 0, place, TOO_LARGE
        value = value * _TEN + numpy.uint64(_digit(data, place))
        place += 1
    kind = kinds[data[numpy.uintp(place)]]
    if place == begin or kind in (OTHER, COMMENT):
        if place == begin and data[numpy.uintp(place)] == 45 and _digit(data, place + 1) < 10:
            return 0, place, NEGATIVE
        return 0, place, NOT_INTEGER
    if value > _LARGEST:
        return 0, place, TOO_LARGE
    return numpy.int64(value), place, FINE


@serial
def read_decimal(data: Any, kinds: Any, place: Any) -> Any:
    """Read a finite decimal that a separator ends; returns value, place after it and whether it is one."""
    begin = place
    negative = data[numpy.uintp(place)] == 45
    if negative or data[numpy.uintp(place)] == 43:
        place += 1
    mantissa = numpy.int64(0)
    exponent = numpy.int64(0)
    digits = 0
    exact = True
    for part in range(2):
        if part == 1:
            if data[numpy.uintp(place)] != 46:
                break
            place += 1
        while _digit(data, place) < 10:
            if mantissa < _MANTISSA // 10:
                mantissa = mantissa * 10 + numpy.int64(_digit(data, place))
                exponent -= part
            else:
                exact = False
            digits += 1
            place += 1
    if digits == 0:
        return 0.0, begin, False
    if data[numpy.uintp(place)] == 101 or data[numpy.uintp(place)] == 69:
        place += 1
        down = data[numpy.uintp(place)] == 45
        if down or data[numpy.uintp(place)] == 43:
            place += 1
        power = numpy.int64(0)
        first = place
        while _digit(data, place) < 10:
            power = min(power * 10 + numpy.int64(_digit(data, place)), numpy.int64(100000))
            place += 1
        if place == first:
            return 0.0, begin, False
        exponent += -power if down else power
    kind = kinds[data[numpy.uintp(place)]]
    if kind in (OTHER, COMMENT):
        return 0.0, begin, False
    if exact and -22 <= exponent <= 22:
        value = float(mantissa)
        value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
        return (-value if negative else value), place, True
    value = _strtod(numpy.uintp(data.ctypes.data) + numpy.uintp(begin), numpy.uintp(0))
    return value, place, numpy.isfinite(value)
