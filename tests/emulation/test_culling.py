"""Culling where the lanes of a warp read labels at once, on CPU threads: redundant expansion and its cure."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs import prepare
from tests.emulation import grid_kernels, strict_cupy
from tests.kernels.papers.merrill2012.culling_case import BOUND, CULLINGS, SPATIAL, factor, rows_of

pytestmark = pytest.mark.usefixtures("on_cpu")

SIZE = 10


def measured(name: str, tiles: str) -> dict[str, float]:
    offsets, columns = rows_of(name, SIZE)
    degrees = numpy.diff(offsets)
    placed = [strict_cupy.on_device(array) for array in (offsets, columns)]
    found = {}
    for culling, switches in CULLINGS.items():
        options = {"claim": "racing", "tiles": tiles, "block": grid_kernels.THREADS, **switches}
        search = prepare(
            *placed, strategy="two_phase", symmetric=True, output="distance", statistics=True, **options
        )
        found[culling] = factor(search, degrees, (0, len(degrees) // 2))
    return found


@pytest.mark.parametrize("name", SPATIAL)
def test_runs_of_tiles_and_culling_gather_next_to_nothing_again(name: str) -> None:
    found = measured(name, "runs")
    assert found["off"] > BOUND, found
    assert 1.0 <= found["both"] < BOUND, found
    assert found["both"] <= min(found["warp"], found["history"]) * 1.01, found
