"""The papers' baseline searches: every switch and block over the zoo, and the CPU searches beside them."""

from functools import cache

import numpy
import pytest

from gravel.kernels.bfs import Asked, prepare
from gravel.kernels.threads import thread_count
from tests.kernels.cuda_case import ZOO, fast_csr, on_device, rmat, smallest_predecessors
from tests.zoo import ZooGraph, scipy_distances

WAYS = {
    "quadratic": [{"mapping": "thread"}, {"mapping": "warp"}],
    "linear_queue": [{}],
    "hierarchical_queue": [{}, {"one_block": 0}, {"one_block": 1 << 40}, {"one_block": 7}],
    "adaptive": [{}, {"threshold": 1}, {"threshold": 3}, {"threshold": 1 << 40}],
    "flex": [
        *({"configuration": name} for name in ("fixed", "baseline", "config1", "config2", "config3")),
        {"configuration": "fixed", "fixed_threads": 96},
        {"configuration": "config1", "headroom": 1, "shrink": 1},
        {"configuration": "config3", "headroom": 1 << 20, "hub_degree": 1},
        {"configuration": "config3", "headroom": 1, "hub_degree": 3, "hub_share": 1, "block": 32},
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


@cache
def graph_named(name: str) -> ZooGraph:
    return rmat(14) if name == "rmat_14" else next(graph for graph in ZOO if graph.name == name)


@cache
def csr_of(name: str, symmetric: bool, index: type = numpy.uint32):
    return fast_csr(graph_named(name), symmetric=symmetric, index=index)


@cache
def answers(name: str, symmetric: bool, source: int, max_depth: int | None):
    """Distances, smallest predecessors and the arcs of the vertices at each distance that is expanded."""
    offsets, columns = csr_of(name, symmetric)
    distance = scipy_distances(offsets, columns, source)
    if max_depth is not None:
        distance[distance > max_depth] = -1
    degrees = numpy.diff(offsets)
    arcs = tuple(int(degrees[distance == depth].sum()) for depth in range(distance.max() + 1))
    return distance, smallest_predecessors(offsets, columns, distance), arcs[:max_depth]


def check(name, strategy, *, symmetric, output="both", index=numpy.uint32, max_depth=None, **options) -> None:
    """Compare distances, predecessors, levels and counted arcs with SciPy's."""
    search = prepare(
        *on_device(*csr_of(name, symmetric, index)),
        strategy=strategy,
        symmetric=symmetric,
        output=output,
        max_depth=max_depth,
        statistics=True,
        **options,
    )
    n = graph_named(name).vertex_count
    for source in sorted({0, n // 2, n - 1}):
        distance, predecessor, arcs = answers(name, symmetric, source, max_depth)
        result = search.run(source)
        assert result.directions == ("push",) * len(arcs)
        assert result.expanded == arcs
        if output != "predecessor":
            assert result.distance.dtype == numpy.int32
            numpy.testing.assert_array_equal(result.distance.get(), distance)
        if output != "distance":
            numpy.testing.assert_array_equal(result.predecessor.get(), predecessor)
        assert (result.distance is None) == (output == "predecessor")
        assert (result.predecessor is None) == (output == "distance")


@on_gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_the_zoo(strategy, way, block, symmetric) -> None:
    for graph in ZOO:
        for output in ("distance", "predecessor", "both") if block == 256 else ("distance", "both"):
            check(graph.name, strategy, symmetric=symmetric, output=output, **{"block": block, **way})


@on_gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_hubs(strategy, way, symmetric) -> None:
    for output in ("distance", "both"):
        check("rmat_14", strategy, symmetric=symmetric, output=output, **way)


@on_gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("narrow", [1, 1 << 31])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_wide_vertices_and_predecessors(monkeypatch, strategy, way, narrow, index) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
    check("rmat_14", strategy, symmetric=True, index=index, **way)
    if index is numpy.uint64:
        check("rmat_14", strategy, symmetric=True, index=index, output="distance", **way)


@on_gpu
@pytest.mark.parametrize("max_depth", [0, 1, 2, 7])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_depth_is_bounded(strategy, way, max_depth) -> None:
    for name in ("rmat_14", "path_33", "grid_13x17", "star_300"):
        for output in ("distance", "both"):
            check(name, strategy, symmetric=True, output=output, max_depth=max_depth, **way)


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
        ("flex", {"headroom": 0}, "headroom is 0"),
        ("flex", {"fixed_threads": 0}, "fixed_threads is 0"),
        *((strategy, {"block": block}, "multiple of 32") for strategy in WAYS for block in (0, 100, 2048)),
    ],
)
def test_unfit_constants_are_refused(strategy, options, message) -> None:
    from gravel.kernels.strategy import strategies_in

    with pytest.raises(ValueError, match=message):
        strategies_in("gravel.kernels.bfs")[strategy].load("cuda")(
            None, None, Asked(symmetric=True), **options
        )


def test_a_search_has_as_many_threads_as_asked_for() -> None:
    csr = fast_csr(rmat(10), symmetric=True)
    before = thread_count()
    results = []
    for threads in (None, 1, 4):
        search = prepare(
            *csr, strategy="top_down", symmetric=True, output="both", serial_below=1, threads=threads
        )
        assert search._team.threads == (threads or before)
        results.append(search.run(1))
    assert thread_count() == before
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
