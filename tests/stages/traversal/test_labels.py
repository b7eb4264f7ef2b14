"""Distances are stored in the smallest type that holds those of all searches."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.context import MemorySink
from gravel.stages.traversal.labels import Distances, smallest_type


@pytest.mark.parametrize(
    ("depth", "name"), [(0, "int8"), (127, "int8"), (128, "int16"), (32767, "int16"), (32768, "int32")]
)
def test_smallest_type(depth: int, name: str) -> None:
    assert smallest_type(depth) == numpy.dtype(name)


@pytest.mark.parametrize(
    "depths", [[3, 5], [3, 127, 128, 4], [200, 3], [3, 70_000, 300], [40_000], [127], [32_768, 32_767]]
)
@pytest.mark.parametrize("rows", [None, 4])
def test_rows_are_kept_through_wider_types(depths: list[int], rows: int | None) -> None:
    random = numpy.random.default_rng(1)
    searches = [random.integers(-1, depth + 1, 50).astype(numpy.int32) for depth in depths]
    for depth, distance in zip(depths, searches, strict=True):
        distance[0] = depth

    def make(dtype: Any) -> MemorySink:
        return MemorySink(dtype, (50,), rows=rows)

    written = Distances(make)
    for distance in searches:
        written.append(distance)
    found = written.close()
    assert found.dtype == smallest_type(max(depths))
    numpy.testing.assert_array_equal(found, numpy.stack(searches))


def test_no_search_has_no_rows() -> None:
    assert Distances(lambda dtype: MemorySink(dtype, (5,))).close().shape == (0, 5)
