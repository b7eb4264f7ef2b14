"""Levels of a search that stays on a GPU, counted there a part of the vertices at a time, as on the host."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy
import pytest

from gravel.kernels.level_statistics import level_sums
from gravel.stages.searching import counts
from tests.emulation import device_cupy

VERTICES = 1000


@pytest.mark.parametrize("at_once", [1, 7, 999, 1000, 1 << 20])
@pytest.mark.parametrize("there", [True, False], ids=["as searched", "renumbered"])
@pytest.mark.parametrize("loops", [True, False])
def test_parts_add_up(at_once: int, there: bool, loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", device_cupy.module())
    monkeypatch.setattr(counts, "COUNTED_AT_ONCE", at_once)
    rng = numpy.random.default_rng(at_once)
    offsets = numpy.zeros(VERTICES + 1, numpy.int64)
    numpy.cumsum(rng.integers(0, 40, VERTICES), out=offsets[1:])
    distance = rng.integers(-1, 6, VERTICES).astype(numpy.int32)
    ends = rng.integers(0, 40, VERTICES) if loops else None
    graph: Any = types.SimpleNamespace(
        row_offsets=device_cupy.on_device(offsets) if there else None,
        first_offsets=offsets,
        permutation=None if there else numpy.arange(VERTICES),
        ends=ends,
    )
    depth = int(distance.max())
    vertices, arcs = numpy.zeros(depth + 1, numpy.int64), numpy.zeros(depth + 1, numpy.int64)
    given = numpy.empty(0, numpy.int64) if ends is None else ends
    summed = int(level_sums(distance, offsets, given, vertices, arcs))
    found = counts._sums_on_device(graph, device_cupy.on_device(distance), depth)
    assert numpy.array_equal(found[0], vertices)
    assert numpy.array_equal(found[1], arcs)
    assert found[2] == (0 if ends is None else summed)
