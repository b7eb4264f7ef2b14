"""The table of measures by distances, on a path of four vertices and one beside it."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.distances.many import aggregate
from gravel.kernels.distances.measures import DISTANCE_MEASURES

OFFSETS = numpy.array([0, 1, 3, 5, 6, 6])
COLUMNS = numpy.array([1, 0, 2, 1, 3, 2], numpy.uint32)

EXPECTED = {
    "closeness": [3 / 6 * 3 / 4, 3 / 4 * 3 / 4, 3 / 4 * 3 / 4, 3 / 6 * 3 / 4, 0],
    "harmonic": [1 + 1 / 2 + 1 / 3, 2.5, 2.5, 1 + 1 / 2 + 1 / 3, 0],
    "eccentricity": [3, 2, 2, 3, 0],
    "neighbourhood": [4, 4, 4, 4, 1],
    "average_path_length": [2, 4 / 3, 4 / 3, 2, 0],
}


@pytest.mark.parametrize("name", DISTANCE_MEASURES)
def test_each_measure_is_what_its_sentence_says(name: str) -> None:
    found = aggregate(OFFSETS, COLUMNS, numpy.arange(5), symmetric=True)
    values = DISTANCE_MEASURES[name].values(found, 5)
    assert values.tolist() == pytest.approx(EXPECTED[name])
