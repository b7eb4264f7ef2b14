"""Reductions of masks between emulated devices: every algorithm, any ranks, any length."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.partition.reductions import ALGORITHMS
from tests.benchmarks.reductions_side_by_side import SideBySide, masks_of, reduce_in_turns

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

LAYOUTS = ((1, 1, 0), (2, 2, 0), (3, 3, 0), (7, 4, 0), (8, 1, 0), (8, 3, 2), (6, 2, 3))
"""Ranks, devices and groups."""


@pytest.mark.parametrize(("ranks", "devices", "groups"), LAYOUTS)
def test_every_rank_has_the_or_of_all(ranks: int, devices: int, groups: int) -> None:
    for words in (1, 130, 1000):
        masks = masks_of(ranks, words)
        wanted = numpy.bitwise_or.reduce(masks)
        probe = SideBySide(masks, range(devices), time_limit=60.0)
        for algorithm in ALGORITHMS:
            assert probe.run(algorithm, 2, groups) > 0
            assert all(numpy.array_equal(found, wanted) for found in probe.found())
            seconds, here = reduce_in_turns(masks, algorithm, 2, groups)
            assert seconds > 0
            assert all(numpy.array_equal(found, wanted) for found in here)
