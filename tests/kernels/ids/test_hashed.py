"""Ids far from each other get their ranks, whatever the columns hold."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.ids.hashed import EMPTY, ranked
from gravel.stages.vertex_ids.integers import number_integers

FORMS = {
    "random": lambda generator, count: generator.integers(-(2**62), 2**62, count),
    "multiples": lambda generator, count: generator.integers(0, 50, count) * 2**40,
    "equal": lambda generator, count: numpy.full(count, 2**60),
    "ends": lambda generator, count: generator.choice([EMPTY + 1, 0, 2**63 - 1], count),
    "many": lambda generator, count: numpy.arange(count) * 100_003,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 100, 40_000])
def test_ranks_are_those_of_sorting(form, count):
    generator = numpy.random.default_rng(count)
    columns = [FORMS[form](generator, count).astype(numpy.int64) for _ in range(2)]
    expected, inverse = numpy.unique(numpy.concatenate(columns), return_inverse=True)
    ids, found = ranked(columns, numpy.uint32)
    numpy.testing.assert_array_equal(ids, expected)
    numpy.testing.assert_array_equal(numpy.concatenate(found), inverse)
    assert found[0].dtype == numpy.uint32


@pytest.mark.parametrize("dtype", [numpy.int8, numpy.uint16, numpy.int32, numpy.uint32, numpy.int64])
@pytest.mark.parametrize("span", [3, 100, 1 << 40])
def test_integers_of_every_type(dtype, span):
    most = min(span, int(numpy.iinfo(dtype).max))
    generator = numpy.random.default_rng(span)
    columns = [generator.integers(0, most, 500).astype(dtype), generator.integers(0, most, 300).astype(dtype)]
    expected, inverse = numpy.unique(numpy.concatenate(columns).astype(numpy.int64), return_inverse=True)
    found = number_integers(columns)
    ids = numpy.arange(found.distinct) + found.first if found.ids is None else found.ids
    numpy.testing.assert_array_equal(ids, expected)
    numpy.testing.assert_array_equal(numpy.concatenate(found.columns), inverse)


def test_the_marker_is_no_id():
    with pytest.raises(ValueError, match="is no vertex id"):
        number_integers([numpy.array([EMPTY, 5])])
