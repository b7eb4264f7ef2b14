"""Ids in order, each once, in about the time that sorting takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from gravel.kernels.ids.distinct import distinct


@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.uint32, numpy.int64, numpy.uint64])
@pytest.mark.parametrize("shape", [0, 1, 1000, (30, 2)])
def test_ids_are_those_of_numpy(dtype: Any, shape: Any) -> None:
    ids = numpy.random.default_rng(1).integers(0, 200, shape).astype(dtype)
    before = ids.copy()
    found = distinct(ids)
    numpy.testing.assert_array_equal(found, numpy.unique(ids))
    numpy.testing.assert_array_equal(ids, before)
    assert found.dtype == dtype


def test_it_takes_little_longer_than_sorting() -> None:
    ids = numpy.random.default_rng(1).integers(0, 1 << 60, 300_000)

    def seconds(work: Callable[[Any], object]) -> float:
        began = time.thread_time()
        work(ids)
        return time.thread_time() - began

    assert min(seconds(distinct) for _ in range(3)) < 20 * min(seconds(numpy.sort) for _ in range(3))
