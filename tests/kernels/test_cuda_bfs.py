"""CUDA searches against SciPy's distances and the smallest predecessors, over the zoo and the tuning."""

import numpy
import pytest

from kernels.bfs import prepare
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat, smallest_predecessors
from tests.zoo import scipy_distances

pytestmark = pytest.mark.gpu

ALWAYS_PULL = {"alpha": 1e18, "floor": 0.0, "beta": 1e18}
TUNINGS = {
    "default": {},
    "pull": ALWAYS_PULL,
    "pull_uncached": ALWAYS_PULL | {"words_per_open": 0.0},
    "alternate": ALWAYS_PULL | {"beta": 0.0, "patience": 0},
    "pull_then_push": ALWAYS_PULL | {"alpha": 50.0, "beta": 4.0, "patience": 1, "team_limit": 0},
    "push": {"alpha": 0.0, "team_limit": 0, "flood": 1e18},
    "flood": {"alpha": 0.0, "team_limit": 0, "flood": 0.0},
    "flood_and_pull": {"alpha": 3.0, "floor": 0.0, "team_limit": 0, "flood": 0.0, "beta": 3.0, "patience": 1},
    "team_of_one": {"alpha": 0.0, "team_blocks": 1},
    "team_of_all": {"alpha": 0.0, "team_blocks": 128, "team_limit": 1 << 20},
    "team_of_three": {"alpha": 0.0, "team_blocks": 3},
    "team_spills": {"alpha": 0.0, "team_blocks": 2, "team_capacity": 32},
    "small_blocks": {"block": 64},
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


@pytest.mark.parametrize("output", ["distance", "predecessor"])
@pytest.mark.parametrize("block", [128, 256])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_two_phase(graph, symmetric, block, output) -> None:
    check(graph, "two_phase", symmetric=symmetric, output=output, block=block)


@pytest.fixture(scope="module")
def skewed():
    return rmat(14)


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("tuning", TUNINGS)
def test_direction_optimizing_on_hubs(skewed, tuning, output) -> None:
    check(skewed, "direction_optimizing", symmetric=True, output=output, **TUNINGS[tuning])


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_two_phase_on_hubs(skewed, symmetric, output) -> None:
    check(skewed, "two_phase", symmetric=symmetric, output=output)


@pytest.mark.parametrize("strategy", ["direction_optimizing", "two_phase"])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("narrow", [1, 1 << 31])
def test_wide_vertices_and_predecessors(skewed, strategy, index, narrow) -> None:
    check(skewed, strategy, symmetric=True, index=index, narrow=narrow)
    if index is numpy.uint64:
        check(skewed, strategy, symmetric=True, index=index, output="distance")


@pytest.mark.parametrize("strategy", ["direction_optimizing", "two_phase"])
@pytest.mark.parametrize("max_depth", [0, 1, 2, 7])
@pytest.mark.parametrize("output", ["distance", "both"])
def test_depth_is_bounded(skewed, strategy, max_depth, output) -> None:
    for graph in (skewed, *(g for g in ZOO if g.name in ("path_33", "grid_13x17", "star_300"))):
        check(graph, strategy, symmetric=True, output=output, max_depth=max_depth)


def test_directions_are_named(skewed) -> None:
    offsets, columns = fast_csr(skewed, symmetric=True)
    search = prepare(*on_device(offsets, columns), strategy="direction_optimizing", symmetric=True)
    hub = int(numpy.diff(offsets).argmax())
    assert search.run(hub).directions[:2] == ("push", "pull")
    assert search.run(hub).milliseconds > 0


@pytest.mark.parametrize("strategy", ["direction_optimizing", "two_phase"])
def test_a_source_that_does_not_exist_is_refused(strategy) -> None:
    offsets, columns = fast_csr(ZOO[0], symmetric=True)
    search = prepare(*on_device(offsets, columns), strategy=strategy, symmetric=True)
    with pytest.raises(ValueError, match="source 1 is not a vertex"):
        search.run(1)


def test_unfit_blocks_are_refused() -> None:
    arrays = on_device(*fast_csr(ZOO[0], symmetric=True))
    with pytest.raises(ValueError, match="multiple of 32"):
        prepare(*arrays, strategy="direction_optimizing", symmetric=True, block=100)
    with pytest.raises(ValueError, match="128 or 256"):
        prepare(*arrays, strategy="two_phase", symmetric=True, block=512)
