"""Bit strings in byte arrays, for CPU kernels: the lowest bit of a byte first, numbers from their lowest bit.

Class codes: a number x is written as a class of 4 bits and an offset. Class c < 14 holds the 2^c numbers from
2^c - 1 on, in c bits; class 14 the next 2^18; class 15 the rest, in as many bits as a vertex has.
"""

from __future__ import annotations

import numpy

from gravel.kernels.bits import trailing_zeros
from gravel.kernels.jit import serial

CLASS_BITS = 4
LAST_EXACT = 13
WIDE_BITS = 18
WIDE_BASE = (1 << (LAST_EXACT + 1)) - 1
LAST_BASE = WIDE_BASE + (1 << WIDE_BITS)


@serial
def low_width_bits(vertex_bits):  # type: ignore[no-untyped-def]
    """Bits that say how wide low parts are."""
    return 5 if vertex_bits == 32 else 6


@serial
def get_bits(words, position, width):  # type: ignore[no-untyped-def]
    """Read `width` <= 64 bits from uint32 words as uint64; the caller has checked that they are there."""
    value = numpy.uint64(0)
    done_bits = 0
    while done_bits < width:
        inside = position & 31
        part = numpy.uint64(words[position >> 5]) >> numpy.uint64(inside)
        value |= part << numpy.uint64(done_bits)
        done_bits += 32 - inside
        position += 32 - inside
    if width < 64:
        value &= (numpy.uint64(1) << numpy.uint64(width)) - numpy.uint64(1)
    return value


@serial
def put_bits(stream, position, value, width):  # type: ignore[no-untyped-def]
    """Write the `width` lowest bits of `value` into zeroed bytes; returns the position behind them."""
    left = width
    while left > 0:
        inside = position & 7
        done_bits = min(left, 8 - inside)
        part = value & numpy.uint64((1 << done_bits) - 1)
        stream[position >> 3] |= numpy.uint8(part << numpy.uint64(inside))
        value >>= numpy.uint64(done_bits)
        position += done_bits
        left -= done_bits
    return position


@serial
def floor_log2(value):  # type: ignore[no-untyped-def]
    """Position of the highest bit of a uint64, 0 for 0."""
    log = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> numpy.uint64(step):
            value >>= numpy.uint64(step)
            log += step
    return log


@serial
def class_of(number):  # type: ignore[no-untyped-def]
    """Class of a uint64."""
    if number < numpy.uint64(WIDE_BASE):
        return floor_log2(number + numpy.uint64(1))
    return 14 if number < numpy.uint64(LAST_BASE) else 15


@serial
def class_width(number_class, vertex_bits):  # type: ignore[no-untyped-def]
    """Bits of the offset in a class."""
    if number_class <= LAST_EXACT:
        return number_class
    return WIDE_BITS if number_class == 14 else vertex_bits


@serial
def class_base(number_class):  # type: ignore[no-untyped-def]
    """Smallest number of a class."""
    if number_class <= 14:
        return (numpy.uint64(1) << numpy.uint64(number_class)) - numpy.uint64(1)
    return numpy.uint64(LAST_BASE)


@serial
def code_width(number, vertex_bits):  # type: ignore[no-untyped-def]
    """Bits of a number's code, class and offset."""
    return CLASS_BITS + class_width(class_of(number), vertex_bits)


@serial
def put_class(stream, position, number):  # type: ignore[no-untyped-def]
    """Write a number's class; returns the position behind it."""
    return put_bits(stream, position, numpy.uint64(class_of(number)), CLASS_BITS)


@serial
def put_offset(stream, position, number, vertex_bits):  # type: ignore[no-untyped-def]
    """Write a number's offset in its class; returns the position behind it."""
    found = class_of(number)
    return put_bits(stream, position, number - class_base(found), class_width(found, vertex_bits))


@serial
def get_class(words, position):  # type: ignore[no-untyped-def]
    """Read a class that is there."""
    return numpy.int64(get_bits(words, position, CLASS_BITS))


@serial
def get_offset(words, position, end, found, vertex_bits):  # type: ignore[no-untyped-def]
    """Read a number of a class: it and the position behind; -1 where it passes `end` or came as -1."""
    width = class_width(found, vertex_bits)
    if position < 0 or position + width > end:
        return numpy.uint64(0), -1
    return class_base(found) + get_bits(words, position, width), position + width


@serial
def next_one(words, position, end):  # type: ignore[no-untyped-def]
    """Position of the first set bit from `position` on, or -1 where there is none before `end`."""
    while position < end:
        inside = position & 31
        word = numpy.uint64(words[position >> 5]) >> numpy.uint64(inside)
        if word:
            position += numpy.int64(trailing_zeros(word))
            return position if position < end else -1
        position += 32 - inside
    return -1
