"""The papers' baseline searches: every switch and block over the zoo, and the CPU searches beside them."""

import numba
import numpy
import pytest

from kernels.bfs import prepare
from tests.kernels.cuda_case import ZOO, fast_csr, on_device, rmat, smallest_predecessors
from tests.zoo import scipy_distances

WAYS = {
    "quadratic": [{"mapping": "thread"}, {"mapping": "warp"}],
    "linear_queue": [{}],
    "hierarchical_queue": [{}, {"one_block": 0}, {"one_block": 1 << 40}, {"one_block": 7}],
    "adaptive": [{}, {"threshold": 1}, {"threshold": 3}, {"threshold": 1 << 40}],
    "flex": [
        *({"configuration": name} for name in ("fixed", "baseline", "config1", "config2", "config3")),
        {"configuration": "fixed", "fixed_threads": 96},
        {"configuration": "config1", "grow": 1, "shrink": 1},
        {"configuration": "config3", "grow": 1 << 40, "hub_degree": 1},
        {"configuration": "config3", "shrink": 1 << 40, "grow": 1, "hub_degree": 3},
    ],
}
"""Switches and tuning constants that lead through different code, by strategy."""

BLOCKS = (32, 64, 128, 256, 512, 1024)
CASES = [
    pytest.param(strategy, way, id="-".join([strategy, *map(str, way.values())]))
    for strategy, ways in WAYS.items()
    for way in ways
]
on_gpu = pytest.mark.gpu


def arcs_by_level(offsets, distance) -> tuple[int, ...]:
    """Arcs of the vertices at each distance: what a search that expands every vertex once gathers."""
    degrees = numpy.diff(offsets)
    return tuple(int(degrees[distance == depth].sum()) for depth in range(distance.max() + 1))


def check(graph, strategy, *, symmetric, output="both", index=numpy.uint32, max_depth=None, **options):
    """Compare distances, predecessors, levels and counted arcs with SciPy's; returns the search."""
    offsets, columns = fast_csr(graph, symmetric=symmetric, index=index)
    search = prepare(
        *on_device(offsets, columns),
        strategy=strategy,
        symmetric=symmetric,
        output=output,
        max_depth=max_depth,
        statistics=True,
        **options,
    )
    n = graph.vertex_count
    for source in sorted({0, n // 2, n - 1}):
        expected = scipy_distances(offsets, columns, source)
        if max_depth is not None:
            expected[expected > max_depth] = -1
        result = search.run(source)
        arcs = arcs_by_level(offsets, expected)[:max_depth]
        assert result.directions == ("push",) * len(arcs)
        assert result.expanded == arcs
        if output != "predecessor":
            assert result.distance.dtype == numpy.int32
            numpy.testing.assert_array_equal(result.distance.get(), expected)
        if output != "distance":
            predecessor = smallest_predecessors(offsets, columns, expected)
            numpy.testing.assert_array_equal(result.predecessor.get(), predecessor)
        assert (result.distance is None) == (output == "predecessor")
        assert (result.predecessor is None) == (output == "distance")
    return search


@on_gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_the_zoo(strategy, way, symmetric) -> None:
    for graph in ZOO:
        for block in BLOCKS:
            for output in ("distance", "predecessor", "both") if block in (32, 256) else ("distance", "both"):
                check(graph, strategy, symmetric=symmetric, output=output, block=block, **way)


@pytest.fixture(scope="module")
def skewed():
    return rmat(14)


@on_gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_hubs(skewed, strategy, way, symmetric) -> None:
    for output in ("distance", "both"):
        check(skewed, strategy, symmetric=symmetric, output=output, **way)


@on_gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("narrow", [1, 1 << 31])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_wide_vertices_and_predecessors(skewed, strategy, way, narrow, index) -> None:
    check(skewed, strategy, symmetric=True, index=index, narrow=narrow, **way)
    if index is numpy.uint64:
        check(skewed, strategy, symmetric=True, index=index, output="distance", **way)


@on_gpu
@pytest.mark.parametrize("max_depth", [0, 1, 2, 7])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_depth_is_bounded(skewed, strategy, way, max_depth) -> None:
    few = [graph for graph in ZOO if graph.name in ("path_33", "grid_13x17", "star_300")]
    for graph in (skewed, *few):
        for output in ("distance", "both"):
            check(graph, strategy, symmetric=True, output=output, max_depth=max_depth, **way)


@on_gpu
@pytest.mark.parametrize("strategy", WAYS)
def test_statistics_are_off_unless_asked_for(strategy) -> None:
    search = prepare(*on_device(*fast_csr(ZOO[0], symmetric=True)), strategy=strategy, symmetric=True)
    assert search.run(0).expanded is None
    with pytest.raises(ValueError, match="source 1 is not a vertex"):
        search.run(1)


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        ("quadratic", {"mapping": "block"}, "'thread' or 'warp'"),
        ("adaptive", {"threshold": 0}, "threshold is 0"),
        ("hierarchical_queue", {"one_block": -1}, "one_block is -1"),
        ("flex", {"configuration": "config4"}, "fixed, baseline, config1"),
        ("flex", {"grow": 0}, "grow is 0"),
        ("flex", {"fixed_threads": 0}, "fixed_threads is 0"),
        *((strategy, {"block": block}, "multiple of 32") for strategy in WAYS for block in (0, 100, 2048)),
    ],
)
def test_unfit_constants_are_refused(strategy, options, message) -> None:
    from kernels.strategy import strategies_in

    with pytest.raises(ValueError, match=message):
        strategies_in("kernels.bfs")[strategy].load("cuda")(
            None, None, output="both", symmetric=True, **options
        )


def test_a_search_has_as_many_threads_as_asked_for() -> None:
    csr = fast_csr(rmat(10), symmetric=True)
    before = numba.get_num_threads()
    results = []
    for threads in (None, 1, 4):
        search = prepare(
            *csr, strategy="top_down", symmetric=True, output="both", serial_below=1, threads=threads
        )
        assert search._team.threads == (threads or before)
        results.append(search.run(1))
    assert numba.get_num_threads() == before
    for result in results:
        numpy.testing.assert_array_equal(result.distance, results[0].distance)
        numpy.testing.assert_array_equal(result.predecessor, results[0].predecessor)
    with pytest.raises(ValueError, match="threads is 0"):
        prepare(*csr, strategy="top_down", symmetric=True, threads=0)


def test_the_serial_search_agrees_with_scipy_on_directed_graphs() -> None:
    graph = rmat(10)
    for symmetric in (True, False):
        offsets, columns = fast_csr(graph, symmetric=symmetric)
        search = prepare(offsets, columns, strategy="serial", symmetric=symmetric)
        for source in (0, 5, 1023):
            expected = scipy_distances(offsets, columns, source)
            result = search.run(source)
            numpy.testing.assert_array_equal(result.distance, expected)
            numpy.testing.assert_array_equal(
                result.predecessor, smallest_predecessors(offsets, columns, expected)
            )
