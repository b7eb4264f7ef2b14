"""FlexBFS's launches: what the host feeds back and when the combined kernel returns to it."""

import numpy
import pytest

from gravel.kernels.bfs import prepare
from tests.kernels.cuda_case import fast_csr, on_device
from tests.zoo import ZooGraph, scipy_distances

pytestmark = pytest.mark.gpu

WHOLE_DEVICE = {"headroom": 1 << 20, "shrink": 1 << 40}


def star_of_paths(arms: int, length: int) -> ZooGraph:
    """A frontier of one, then of `arms` vertices for `length` levels."""
    first = numpy.arange(arms) * length + 1
    along = numpy.setdiff1d(numpy.arange(1, arms * length), first + length - 1)
    source = numpy.concatenate([numpy.zeros(arms, numpy.int64), along])
    target = numpy.concatenate([first, along + 1])
    return ZooGraph("star_of_paths", arms * length + 1, source.astype("u4"), target.astype("u4"))


def launches(graph, **options) -> int:
    offsets, columns = fast_csr(graph, symmetric=True)
    search = prepare(
        *on_device(offsets, columns), strategy="flex", symmetric=True, output="distance", **options
    )
    result = search.run(0)
    numpy.testing.assert_array_equal(result.distance.get(), scipy_distances(offsets, columns, 0))
    return len(search.launches)


@pytest.mark.parametrize("configuration", ["fixed", "baseline"])
def test_a_level_is_a_launch(configuration) -> None:
    assert launches(star_of_paths(50, 20), configuration=configuration) == 21


@pytest.mark.parametrize("configuration", ["config1", "config2", "config3"])
def test_levels_within_the_range_share_a_launch(configuration) -> None:
    # 1 vertex, then 4000: out of the range of one block, and within that of its successor to the end. The
    # hub's arcs fit into a block's share.
    assert launches(star_of_paths(50, 20), configuration=configuration) == 1
    assert launches(star_of_paths(4000, 20), configuration=configuration) == 2
    assert launches(star_of_paths(4000, 20), configuration=configuration, **WHOLE_DEVICE) == 1


def test_hubs_wait_for_a_launch_that_fills_the_device() -> None:
    graph = star_of_paths(4000, 20)
    # The source alone; its row; then the 4000 from that launch on if they are enough for all of its threads.
    assert launches(graph, configuration="config3", hub_share=1, shrink=1 << 40) == 2
    assert launches(graph, configuration="config2", hub_share=1, shrink=1 << 40) == 2
    assert launches(graph, configuration="config3", headroom=2, hub_share=1, shrink=8) == 3


def test_a_frontier_that_shrinks_returns_too() -> None:
    star, path = star_of_paths(4000, 2), numpy.arange(8001, 8100)
    graph = ZooGraph(
        "star_with_tail",
        8100,
        numpy.concatenate([star.source, numpy.concatenate([[2], path[:-1]])]).astype("u4"),
        numpy.concatenate([star.target, path]).astype("u4"),
    )
    assert launches(graph, configuration="config1") == 3
    assert launches(graph, configuration="config1", shrink=1 << 40) == 2


def test_rows_beyond_the_threshold_are_set_aside() -> None:
    # Two hubs in one level share the blocks, whose threads claim vertices that both of them reach.
    hubs = numpy.repeat(numpy.array([1, 2]), 3000)
    leaves = numpy.concatenate([numpy.arange(3, 3003), numpy.arange(1503, 4503)])
    graph = ZooGraph(
        "two_hubs",
        4503,
        numpy.concatenate([[0, 0], hubs]).astype("u4"),
        numpy.concatenate([[1, 2], leaves]).astype("u4"),
    )
    for hub_degree in (1, 64, 2999, 3001):
        assert launches(graph, configuration="config3", hub_degree=hub_degree) <= 3


def test_a_full_queue_of_a_block_overflows_into_the_grids() -> None:
    graph = star_of_paths(9000, 2)
    for block in (32, 1024):
        assert launches(graph, configuration="config2", block=block) == 2
