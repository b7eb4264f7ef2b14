"""The papers' baseline searches: every switch and block over the zoo."""

import numpy
import pytest

from gravel.kernels.bfs import Query, prepare
from gravel.kernels.strategy import strategies_in
from tests.kernels.conformance import BLOCKS, GRAPHS, OUTPUTS, csr_of, hub_rows, search_all
from tests.kernels.cuda_case import ZOO, fast_csr, on_device

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
CASES = [
    pytest.param(strategy, way, id="-".join([strategy, *map(str, way.values())]))
    for strategy, ways in WAYS.items()
    for way in ways
]


def search(csr, strategy, **options) -> None:
    search_all(csr, strategy, statistics=True, exact=True, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_the_zoo(strategy, way, block, symmetric) -> None:
    options = {"symmetric": symmetric, "block": block, **way}
    for name in GRAPHS:
        for output in OUTPUTS if block == 256 else ("distance", "both"):
            search(csr_of(name, symmetric), strategy, output=output, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_hubs(strategy, way, symmetric) -> None:
    for output in ("distance", "both"):
        search(hub_rows(symmetric), strategy, symmetric=symmetric, output=output, **way)


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("narrow", [1, 1 << 31])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_wide_vertices_and_predecessors(monkeypatch, strategy, way, narrow, index) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
    search(hub_rows(True, index), strategy, **way)
    if index is numpy.uint64:
        search(hub_rows(True, index), strategy, output="distance", **way)


@pytest.mark.gpu
@pytest.mark.parametrize("max_depth", [0, 1, 2, 7])
@pytest.mark.parametrize(("strategy", "way"), CASES)
def test_depth_is_bounded(strategy, way, max_depth) -> None:
    for csr in (hub_rows(True), *(csr_of(name, True) for name in ("path_33", "grid_13x17", "star_300"))):
        for output in ("distance", "both"):
            search(csr, strategy, output=output, max_depth=max_depth, **way)


@pytest.mark.gpu
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
    with pytest.raises(ValueError, match=message):
        strategies_in("gravel.kernels.bfs")[strategy].load("cuda")(
            None, None, Query(symmetric=True), **options
        )
