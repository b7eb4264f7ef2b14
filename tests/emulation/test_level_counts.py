"""Levels of a search that stays on a GPU, counted there at once or a part of the vertices at a time."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.level_statistics import level_sums
from gravel.stages.traversal import graph, records
from tests.emulation import strict_cupy

VERTICES = 1000


@pytest.mark.parametrize("at_once", [7, 999, 1000, 1 << 20])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("loops", [True, False])
def test_parts_add_up(
    on_cpu: None, at_once: int, whole: bool, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (records, graph):
        monkeypatch.setattr(module, "COUNTED_AT_ONCE", at_once)
    rng = numpy.random.default_rng(at_once)
    offsets = numpy.zeros(VERTICES + 1, numpy.int64)
    numpy.cumsum(rng.integers(0, 40, VERTICES), out=offsets[1:])
    distance = rng.integers(-1, 6, VERTICES).astype(numpy.int32)
    distance[:7] = -1  # a part of which nothing is reached
    extra = rng.integers(-9, 9, VERTICES).astype(numpy.int32) if loops else None
    placed: Any = None if whole else "pinned"
    searched = graph.SearchedGraph(
        vertex_count=VERTICES,
        arc_count=int(offsets[-1]),
        symmetric=True,
        backend="cuda",
        first_offsets=offsets,
        extra_ends=extra,
        permutation=None,
        row_offsets=None,
        columns=None,
        partition=None,
        notes=[],
        placed=placed,
    )
    vertices, arcs = numpy.zeros(6, numpy.int64), numpy.zeros(6, numpy.int64)
    given = numpy.empty(0, numpy.int32) if extra is None else extra
    summed = level_sums(distance, offsets, given, vertices, arcs)
    found = records._sums_on_device(searched, strict_cupy.on_device(distance))
    assert found[0].tolist() == vertices.tolist()
    assert found[1].tolist() == arcs.tolist()
    assert found[2] == summed
