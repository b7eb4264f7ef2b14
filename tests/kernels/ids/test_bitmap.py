"""Bitmaps of ids: members, counts and ranks against Python's sets."""

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.ids.bitmap import BLOCK, count_before, mark, members, rank

SPAN = 64 * BLOCK * 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5000), min_size=1), st.sampled_from([0, 64, 1024]))
def test_ranks_and_members(values, base):
    ids = numpy.array(values)
    bitmap = numpy.zeros(SPAN // 64, numpy.uint64)
    outside = numpy.empty(len(ids), int)
    left_out, high = mark(bitmap, base, ids, outside)
    inside = sorted({value for value in values if base <= value < base + SPAN})
    assert outside[:left_out].tolist() == [value for value in values if not base <= value < base + SPAN]
    assert high == max(values)
    before = numpy.empty(len(bitmap) // BLOCK + 1, int)
    count_before(bitmap, before)
    assert before[-1] == len(inside)
    ranks = numpy.full(len(ids), -1)
    rank(bitmap, before, base, ids, ranks)
    assert ranks.tolist() == [inside.index(value) if value in inside else -1 for value in values]
    listed = numpy.empty(SPAN, int)
    assert listed[: members(bitmap, base, listed)].tolist() == inside


def test_the_largest_ids():
    top = (1 << 63) - 1
    ids = numpy.array([top, top - 1, 0])
    bitmap = numpy.zeros(BLOCK, numpy.uint64)
    outside = numpy.empty(3, int)
    left_out, high = mark(bitmap, (1 << 63) - 64, ids, outside)
    assert (left_out, high, outside[0]) == (1, top, 0)
