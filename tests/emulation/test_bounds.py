"""Bounds of eccentricities by CUDA kernels compiled for the CPU, step by step beside those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.csr import build
from gravel.kernels.distances import eccentricity
from gravel.kernels.distances.bounds import GOALS, Bounds
from gravel.kernels.distances.bounds_cuda import BoundsOnDevice
from tests.emulation import strict_cupy
from tests.emulation.strict_cupy import on_device
from tests.kernels.distances.test_many import ascending, random_rows

pytestmark = pytest.mark.usefixtures("on_cpu")


def pair(offsets: Any, goal: str, known: Any = None) -> tuple[Bounds, Bounds]:
    there = None if known is None else tuple(map(on_device, known))
    return Bounds(numpy, offsets, goal, known), BoundsOnDevice(
        strict_cupy.module(), on_device(offsets), goal, there
    )


def equal(host: Bounds, device: Bounds) -> None:
    assert device.left == host.left
    numpy.testing.assert_array_equal(device.lower.get(), host.lower)
    numpy.testing.assert_array_equal(device.upper.get(), host.upper)
    numpy.testing.assert_array_equal(device.undecided.get(), host.undecided)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("seed", [1, 5, 8, 11])
def test_every_step_is_that_of_the_cpu(goal: str, seed: int) -> None:
    rows = ascending(random_rows(seed, vertices=150))
    search = prepare(*rows, strategy="direction_optimizing", output="distance", symmetric=True)
    host, device = pair(rows[0], goal)
    equal(host, device)
    assert device.hub() == host.hub()
    vertex, before = host.hub(), None
    for step in range(12):
        distance: Any = search.run(vertex).distance.copy()
        there = on_device(distance)
        found = host.tighten(distance)
        assert device.tighten(there) == found
        equal(host, device)
        assert device.farthest(there, found) == host.farthest(distance, found)
        if before is not None:
            both = numpy.flatnonzero((before >= 0) & (distance >= 0))
            if len(both):
                at, other_at = int(before[both[0]]), int(distance[both[0]])
                wanted = host.between(before, at, distance, other_at)
                assert device.between(on_device(before), at, there, other_at) == wanted
        before = distance
        if not host.left:
            break
        for largest in (True, False):
            assert device.next(largest=largest) == host.next(largest=largest)
        vertex = host.next(largest=bool(step % 2))
    known = host.lower.copy(), host.upper.copy()
    equal(*pair(rows[0], goal, known))


@pytest.mark.parametrize("goal", GOALS)
def test_what_batches_decide(goal: str) -> None:
    rows = ascending(random_rows(5, vertices=90))
    host, device = pair(rows[0], goal)
    some = host.most_promising(20)
    numpy.testing.assert_array_equal(numpy.sort(device.most_promising(20).get()), numpy.sort(some))
    for each in (host, device):
        values: Any = numpy.full(len(some), 7, numpy.int64)
        each.decide(*((some, values) if each is host else map(on_device, (some, values))))
    equal(host, device)


def test_a_deep_graph_is_searched_in_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    prepared = eccentricity.single_search

    def noted(rows: Any, strategy: str) -> Any:
        made.append(strategy)
        return prepared(rows, strategy)

    monkeypatch.setattr(eccentricity, "single_search", noted)
    side = numpy.arange(400, dtype=numpy.int64)
    path = build(side[:-1].astype(numpy.uint32), side[1:].astype(numpy.uint32), 400)
    rows = path.row_offsets, path.column_indices
    assert int(eccentricity.eccentricities(*map(on_device, rows), "diameter").max()) == 399
    assert made == ["direction_optimizing", "persistent"]
