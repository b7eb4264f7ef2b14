"""Bits in words, against Python's integers."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.layouts.bits import (
    CLASS_BITS,
    LAST_BASE,
    WIDE_BASE,
    class_of,
    code_width,
    get_class,
    get_offset,
    next_one,
    put_class,
    put_offset,
)


def test_the_next_one_lies_before_the_end():
    """What is set at the end belongs to the next row."""
    words = numpy.array([0x80000001, 0, 0x00000110, 0x80000000], numpy.uint32)
    ones = [place for place in range(128) if words[place // 32] >> numpy.uint32(place % 32) & numpy.uint32(1)]
    for position in range(128):
        for end in range(position, 129):
            expected = next((one for one in ones if position <= one < end), -1)
            assert next_one(words, position, end) == expected, (position, end)


BORDERS = [0, 1, 2, 3, WIDE_BASE, LAST_BASE, LAST_BASE + 1, 1 << 31]


@pytest.mark.parametrize(
    "number", sorted({max(0, border + step) for border in BORDERS for step in (-1, 0, 1)})
)
def test_numbers_on_both_sides_of_every_class_come_back(number: int):
    value, vertex_bits = numpy.uint64(number), 32
    stream = numpy.zeros(16, numpy.uint8)
    end = put_offset(stream, put_class(stream, 0, value), value, vertex_bits)
    assert end == code_width(value, vertex_bits)
    words = stream.view(numpy.uint32)
    assert get_class(words, 0) == class_of(value)
    found = get_offset(words, CLASS_BITS, end, get_class(words, 0), vertex_bits)
    assert (int(found[0]), found[1]) == (number, end)
