"""The conformance suite: what every BFS strategy must do, on every backend that it has.

A strategy is tested here as soon as it is registered; `tests.kernels.conformance` says how.
"""

import inspect
from functools import cache

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.bfs import bfs, prepare
from tests.kernels.conformance import (
    BLOCKS,
    GRAPHS,
    ON_CPU,
    ON_CUDA,
    ON_EACH_BACKEND,
    OUTPUTS,
    STRATEGIES,
    check,
    csr_of,
    expected,
    fetch,
    hubs,
    large_graph,
    place,
    sources_of,
)
from tests.kernels.cuda_case import fast_csr

TINY_LEVELS_TOO = {"serial_below": 1}
"""Makes the CPU strategies share even the smallest levels among threads."""

LARGE = large_graph(3)

on_each_backend = pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
on_cuda = pytest.mark.parametrize(("strategy", "backend"), ON_CUDA)
each_symmetry = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])


def skips(strategy, symmetric) -> bool:
    return not symmetric and not STRATEGIES[strategy].directed


def search_all(
    csr, strategy, backend, *, symmetric, output, count=4, max_depth=None, statistics=False, **tuning
):
    placed = place(backend, *csr)
    search = prepare(
        *placed,
        strategy=strategy,
        symmetric=symmetric,
        output=output,
        max_depth=max_depth,
        statistics=statistics,
        **tuning,
    )
    assert (search.strategy, search.reason) == (strategy, "asked for")
    counted = statistics and backend in STRATEGIES[strategy].counts
    for source in sources_of(len(csr[0]) - 1, count):
        check(search.run(source), csr, source, output, max_depth, counted)


@cache
def legal_blocks(strategy, backend) -> tuple[int, ...]:
    """The sizes that a strategy takes; it refuses others by a ValueError that says so."""
    placed, legal = place(backend, *csr_of("star_300", True)), []
    for block in BLOCKS:
        try:
            prepare(*placed, strategy=strategy, symmetric=True, block=block)
        except ValueError:
            with pytest.raises(ValueError, match=r"block|threads"):
                prepare(*placed, strategy=strategy, symmetric=True, block=block)
        else:
            legal.append(block)
    return tuple(legal)


def test_the_registry_holds_the_strategies() -> None:
    assert {"direction_optimizing", "top_down", "two_phase", "multi_source"} <= set(STRATEGIES)


@on_each_backend
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@each_symmetry
def test_zoo(strategy, backend, index, symmetric) -> None:
    if skips(strategy, symmetric):
        with pytest.raises(ValueError, match="symmetric"):
            prepare(*place(backend, *csr_of("one_edge", False)), strategy=strategy, symmetric=False)
        return
    for name in GRAPHS:
        for output in OUTPUTS if index is numpy.uint32 else ("both", "distance"):
            search_all(
                csr_of(name, symmetric, index), strategy, backend, symmetric=symmetric, output=output, count=3
            )


@on_each_backend
@each_symmetry
def test_duplicate_arcs_and_self_loops(strategy, backend, symmetric) -> None:
    if skips(strategy, symmetric):
        return
    for name in ("one_loop", "duplicates_and_loops", "many_duplicates", "skewed_random", "sparse_random"):
        csr = csr_of(name, symmetric, raw=True)
        assert len(csr[1]) > len(csr_of(name, symmetric)[1])
        for output in ("both", "distance"):
            search_all(csr, strategy, backend, symmetric=symmetric, output=output)


@on_each_backend
@pytest.mark.parametrize("output", OUTPUTS)
def test_max_depth(strategy, backend, output) -> None:
    for name in GRAPHS:
        for max_depth in (0, 1, 2, 5):
            search_all(
                csr_of(name, True),
                strategy,
                backend,
                symmetric=True,
                output=output,
                count=2,
                max_depth=max_depth,
            )


@on_cuda
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_size(strategy, backend, block) -> None:
    if "block" not in inspect.signature(STRATEGIES[strategy].load(backend)).parameters:
        return
    if block not in legal_blocks(strategy, backend):
        return
    for symmetric in (True, False):
        if skips(strategy, symmetric):
            continue
        for name in GRAPHS:
            for output in ("both", "distance"):
                search_all(
                    csr_of(name, symmetric),
                    strategy,
                    backend,
                    symmetric=symmetric,
                    output=output,
                    count=2,
                    block=block,
                )


@on_cuda
def test_some_block_sizes_are_legal(strategy, backend) -> None:
    if "block" not in inspect.signature(STRATEGIES[strategy].load(backend)).parameters:
        return
    assert len(legal_blocks(strategy, backend)) >= 2
    placed = place(backend, *csr_of("star_300", True))
    for block in (0, 33, 100, 2048):
        with pytest.raises(ValueError, match=r"block|threads"):
            prepare(*placed, strategy=strategy, symmetric=True, block=block)


@on_cuda
@each_symmetry
@pytest.mark.parametrize("output", OUTPUTS)
def test_hubs(strategy, backend, symmetric, output) -> None:
    if skips(strategy, symmetric):
        return
    csr = fast_csr(hubs(), symmetric=symmetric)
    search_all(csr, strategy, backend, symmetric=symmetric, output=output)


@on_cuda
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_wide_predecessors(monkeypatch, strategy, backend, index) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    for csr in (fast_csr(hubs(), symmetric=True, index=index), csr_of("hub_and_chain", True, index)):
        search = prepare(*place(backend, *csr), strategy=strategy, symmetric=True)
        for source in sources_of(len(csr[0]) - 1, 2):
            result = search.run(source)
            assert result.predecessor.dtype == numpy.int64
            check(result, csr, source, "both")


@on_each_backend
def test_statistics_count_what_is_gathered(strategy, backend) -> None:
    graphs = [csr_of(name, True) for name in GRAPHS]
    for csr in graphs if backend == "cpu" else [*graphs, fast_csr(hubs(), symmetric=True)]:
        for output in ("both", "distance"):
            search_all(csr, strategy, backend, symmetric=True, output=output, count=2, statistics=True)


@on_each_backend
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_graph_with_levels_of_every_kind(strategy, backend, output) -> None:
    csr = LARGE
    search = prepare(*place(backend, *csr), strategy=strategy, output=output, symmetric=True)
    directions = set()
    for source in (7, 0, 20_000, 39_999):
        result = search.run(source)
        directions |= set(result.directions)
        check(result, csr, source, output)
    if strategy in ("direction_optimizing", "top_down"):
        assert ("pull" in directions) == (strategy == "direction_optimizing")
    # A search leaves nothing behind that the next one sees.
    first = fetch(search.run(7).distance if output == "distance" else search.run(7).predecessor)
    check(search.run(0), csr, 0, output)
    again = search.run(7)
    check(again, csr, 7, output)
    numpy.testing.assert_array_equal(
        first, fetch(again.distance if output == "distance" else again.predecessor)
    )


@on_each_backend
def test_what_cannot_be_is_refused(strategy, backend) -> None:
    csr = place(backend, *csr_of("path_33", True))
    with pytest.raises(ValueError, match="output"):
        prepare(*csr, strategy=strategy, symmetric=True, output="nothing")
    search = prepare(*csr, strategy=strategy, symmetric=True)
    for source in (-1, 33):
        with pytest.raises(ValueError, match=f"source {source} is not a vertex; there are 33"):
            search.run(source)
    none = prepare(*place(backend, *csr_of("empty", True)), strategy=strategy, symmetric=True)
    with pytest.raises(ValueError, match="source 0 is not a vertex; there are 0"):
        none.run(0)


@pytest.mark.parametrize(("strategy", "backend"), ON_CPU)
def test_a_negative_depth_is_refused(strategy, backend) -> None:
    with pytest.raises(ValueError, match="max_depth"):
        prepare(*csr_of("one_edge", True), strategy=strategy, symmetric=True, max_depth=-1)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="direction_optimizing"):
        prepare(*csr_of("one_edge", True), strategy="sideways", symmetric=True)


@pytest.mark.parametrize("strategy", sorted(name for name, each in STRATEGIES.items() if each.cpu))
def test_every_strategy_has_its_cpu_twin(strategy) -> None:
    csr = csr_of("random_tree", True)
    for output in OUTPUTS:
        search_all(csr, strategy, "cpu", symmetric=True, output=output, count=1)


@pytest.mark.parametrize(("strategy", "backend"), ON_CPU)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(strategy, backend, threads, monkeypatch) -> None:
    if "serial_below" not in inspect.signature(STRATEGIES[strategy].load("cpu")).parameters:
        return
    # More threads than this machine may have: they are a team's own, not Numba's.
    monkeypatch.setattr("gravel.kernels.bfs.cpu.search.thread_count", lambda: threads)
    for name in GRAPHS:
        for output in OUTPUTS:
            search_all(
                csr_of(name, True), strategy, "cpu", symmetric=True, output=output, count=3, **TINY_LEVELS_TOO
            )


@pytest.mark.parametrize(
    "constants", [{"alpha": 10**9, "beta": 10**9}, {"alpha": 10**9, "beta": 1}, {"alpha": 0}]
)
def test_constants_change_the_way_and_not_the_result(constants) -> None:
    for extra in ({}, TINY_LEVELS_TOO):
        search = prepare(*LARGE, strategy="direction_optimizing", symmetric=True, **constants, **extra)
        for source in (7, 123):
            check(search.run(source), LARGE, source, "both")


@pytest.mark.parametrize(("strategy", "backend"), ON_CPU)
@settings(max_examples=40, deadline=None)
@given(data=draw.data())
def test_random_graphs(strategy, backend, data) -> None:
    n = data.draw(draw.integers(1, 150))
    vertex = draw.integers(0, n - 1)
    pairs = data.draw(draw.lists(draw.tuples(vertex, vertex), max_size=300))
    ordered = sorted({(u, v) for u, v in pairs} | {(v, u) for u, v in pairs})
    offsets = numpy.zeros(n + 1, numpy.int64)
    for u, _ in ordered:
        offsets[u + 1] += 1
    csr = numpy.cumsum(offsets), numpy.array([v for _, v in ordered], numpy.uint32)
    source = data.draw(vertex)
    max_depth = data.draw(draw.none() | draw.integers(0, 6))
    options = {"symmetric": True, "max_depth": max_depth}
    if "serial_below" in inspect.signature(STRATEGIES[strategy].load("cpu")).parameters:
        options |= data.draw(draw.sampled_from([{}, TINY_LEVELS_TOO]))
    result = bfs(*csr, source, strategy=strategy, **options)
    check(result, csr, source, "both", max_depth)


def test_the_answers_are_answers() -> None:
    distance, predecessor = expected(csr_of("tail_on_clique", True), 5)
    assert distance[:6].tolist() == [1, 1, 1, 1, 1, 0]
    assert predecessor[29:32].tolist() == [5, 29, 30]
    assert expected(csr_of("two_parts", True), 0, 1)[0].tolist() == [0, 1] + [-1] * 8
