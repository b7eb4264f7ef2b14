"""The direction-optimizing search with every tuning that leads through other code; see also `test_bfs`."""

import numpy
import pytest

from gravel.kernels.bfs import prepare
from tests.kernels.bfs.test_encoded import ALWAYS_PULL
from tests.kernels.bfs.test_encoded import TUNINGS as OF_ALL_ROWS
from tests.kernels.conformance import long_rows
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat, smallest_predecessors
from tests.zoo import scipy_distances

pytestmark = pytest.mark.gpu

DEFERRED_ROWS = (True, False)
TUNINGS = OF_ALL_ROWS | {
    "default": {},
    "pull_near": ALWAYS_PULL | {"deferred_rows": False},
    "pull_far": ALWAYS_PULL | {"deferred_rows": True},
    "pull_planes": ALWAYS_PULL | {"planes": 1},
    "pull_more_planes": ALWAYS_PULL | {"planes": 3},
    "pull_by_degree": ALWAYS_PULL | {"by_degree": True},
    "pull_by_degree_planes": ALWAYS_PULL | {"by_degree": True, "planes": 2},
    "team_of_three": {"alpha": 0.0, "team_blocks": 3},
    "medium_blocks": {"block": 256, "alpha": 2.0},
}


def check(graph, strategy, *, symmetric, output="both", index=numpy.uint32, max_depth=None, **tuning) -> None:
    offsets, columns = fast_csr(graph, symmetric=symmetric, index=index)
    search = prepare(
        *on_device(offsets, columns),
        strategy=strategy,
        symmetric=symmetric,
        output=output,
        max_depth=max_depth,
        **tuning,
    )
    n = graph.vertex_count
    for source in sorted({0, n // 2, n - 1, n // 3}):
        expected = scipy_distances(offsets, columns, source)
        if max_depth is not None:
            expected[expected > max_depth] = -1
        result = search.run(source)
        levels = int(expected.max()) + 1
        assert len(result.directions) == (levels if max_depth is None else min(levels, max_depth))
        if output != "predecessor":
            assert result.distance.dtype == numpy.int32
            numpy.testing.assert_array_equal(result.distance.get(), expected)
        else:
            assert result.distance is None
        if output != "distance":
            predecessor = smallest_predecessors(offsets, columns, expected)
            numpy.testing.assert_array_equal(result.predecessor.get(), predecessor)
        else:
            assert result.predecessor is None


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_direction_optimizing(graph, tuning, output) -> None:
    check(graph, "direction_optimizing", symmetric=True, output=output, **TUNINGS[tuning])


@pytest.fixture(scope="module")
def skewed():
    return rmat(14)


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_direction_optimizing_on_hubs(skewed, tuning, output) -> None:
    check(skewed, "direction_optimizing", symmetric=True, output=output, **TUNINGS[tuning])


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("planes", [0, 1])
@pytest.mark.parametrize("deferred_rows", DEFERRED_ROWS)
def test_the_longest_rows_are_read_by_blocks_or_not(output, planes, deferred_rows) -> None:
    for index in (numpy.uint32, numpy.uint64):
        tuning = ALWAYS_PULL | {"planes": planes, "deferred_rows": deferred_rows}
        check(long_rows(), "direction_optimizing", symmetric=True, output=output, index=index, **tuning)


def test_directions_are_named(skewed) -> None:
    offsets, columns = fast_csr(skewed, symmetric=True)
    search = prepare(*on_device(offsets, columns), strategy="direction_optimizing", symmetric=True)
    hub = int(numpy.diff(offsets).argmax())
    assert search.run(hub).directions[:2] == ("push", "pull")
    assert search.run(hub).milliseconds > 0
