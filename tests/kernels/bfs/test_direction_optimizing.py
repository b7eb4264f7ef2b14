"""The direction-optimizing search with every tuning that leads through other code; see also `test_bfs`."""

import numpy
import pytest

from gravel.kernels.bfs import prepare
from tests.kernels.conformance import (
    ALWAYS_PULL,
    GRAPHS,
    STEPS,
    csr_of,
    hub_rows,
    long_rows,
    search_all,
)
from tests.kernels.cuda_case import fast_csr, on_device

pytestmark = pytest.mark.gpu
DEFERRED_ROWS = (True, False)
TUNINGS = STEPS | {
    "default": {},
    "pull_near": ALWAYS_PULL | {"deferred_rows": False},
    "pull_far": ALWAYS_PULL | {"deferred_rows": True},
    "pull_groups": ALWAYS_PULL | {"neighbour_groups": 1},
    "pull_more_groups": ALWAYS_PULL | {"neighbour_groups": 3},
    "pull_by_degree": ALWAYS_PULL | {"by_degree": True},
    "pull_by_degree_groups": ALWAYS_PULL | {"by_degree": True, "neighbour_groups": 2},
    "team_of_three": {"alpha": 0.0, "team_blocks": 3},
    "medium_blocks": {"block": 256, "alpha": 2.0},
}


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("name", GRAPHS)
def test_direction_optimizing(name, tuning, output) -> None:
    search_all(csr_of(name, True), "direction_optimizing", output=output, **TUNINGS[tuning])


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_direction_optimizing_on_hubs(tuning, output) -> None:
    search_all(hub_rows(True), "direction_optimizing", output=output, **TUNINGS[tuning])


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("neighbour_groups", [0, 1])
@pytest.mark.parametrize("deferred_rows", DEFERRED_ROWS)
def test_the_longest_rows_are_read_by_blocks_or_not(output, neighbour_groups, deferred_rows) -> None:
    for index in (numpy.uint32, numpy.uint64):
        tuning = ALWAYS_PULL | {"neighbour_groups": neighbour_groups, "deferred_rows": deferred_rows}
        csr = fast_csr(long_rows(), symmetric=True, index=index)
        search_all(csr, "direction_optimizing", output=output, **tuning)


def test_directions_are_named() -> None:
    offsets, columns = hub_rows(True)
    search = prepare(*on_device(offsets, columns), strategy="direction_optimizing", symmetric=True)
    hub = int(numpy.diff(offsets).argmax())
    assert search.run(hub).directions[:2] == ("push", "pull")
    assert search.run(hub).milliseconds > 0
