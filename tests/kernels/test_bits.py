"""Bits in words, against Python's integers."""

from __future__ import annotations

import numpy

from kernels.layouts.bits import next_one


def test_the_next_one_lies_before_the_end():
    """What is set at the end belongs to the next row."""
    words = numpy.array([0x80000001, 0, 0x00000110, 0x80000000], numpy.uint32)
    ones = [place for place in range(128) if words[place // 32] >> numpy.uint32(place % 32) & numpy.uint32(1)]
    for position in range(128):
        for end in range(position, 129):
            expected = next((one for one in ones if position <= one < end), -1)
            assert next_one(words, position, end) == expected, (position, end)
