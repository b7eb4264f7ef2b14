"""What every BFS strategy must do; a strategy is tested here as soon as it is registered."""

import inspect

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from kernels.bfs import bfs, prepare
from kernels.strategy import strategies_in
from tests.zoo import scipy_distances, zoo

STRATEGIES = strategies_in("kernels.bfs")
CPU_NAMES = {
    strategy.cpu: name
    for name, strategy in sorted(
        STRATEGIES.items(), key=lambda item: f"cpu.{item[0]}:" in (item[1].cpu or "")
    )
    if strategy.cpu
}
"""Each CPU implementation once, however many strategies have it as their twin."""

ON_EACH_BACKEND = [
    pytest.param(name, backend, id=f"{name}-{backend}", marks=[pytest.mark.gpu] if backend == "cuda" else [])
    for name, strategy in sorted(STRATEGIES.items())
    for backend in ("cpu", "cuda")
    if (strategy.cuda if backend == "cuda" else CPU_NAMES.get(strategy.cpu) == name)
]
ON_CPU = [parameter for parameter in ON_EACH_BACKEND if parameter.values[1] == "cpu"]
OUTPUTS = ("both", "distance", "predecessor")


def tiny_levels_too(strategy):
    """Make a CPU strategy share even the smallest levels among threads, if it shares any."""
    taken = inspect.signature(STRATEGIES[strategy].load("cpu")).parameters
    return {"serial_below": 1} if "serial_below" in taken else {}


def place(backend, *arrays):
    if backend == "cpu":
        return arrays
    import cupy

    return tuple(cupy.asarray(array) for array in arrays)


def fetch(array):
    if array is None or isinstance(array, numpy.ndarray):
        return array
    return array.get()


def expected(row_offsets, column_indices, source, max_depth=None):
    """Distances by SciPy, and the smallest neighbour one step nearer, found one arc at a time."""
    distance = scipy_distances(row_offsets, column_indices, source)
    if max_depth is not None:
        distance = numpy.where(distance > max_depth, -1, distance).astype(numpy.int32)
    predecessor = numpy.full(len(distance), -1, numpy.int64)
    tail = numpy.repeat(numpy.arange(len(distance)), numpy.diff(row_offsets))
    head = column_indices.astype(numpy.int64)
    tree = (distance[tail] >= 0) & (distance[head] == distance[tail] + 1)
    # Written from the largest tail to the smallest, so that the smallest stays.
    predecessor[head[tree][::-1]] = tail[tree][::-1]
    return distance, predecessor


def sources_of(row_offsets, count=3):
    n = len(row_offsets) - 1
    return sorted({0, n // 2, n - 1})[:count] if n else []


def check(result, row_offsets, column_indices, source, output, max_depth=None):
    distance, predecessor = expected(row_offsets, column_indices, source, max_depth)
    found = fetch(result.distance), fetch(result.predecessor)
    assert (found[0] is None) == (output == "predecessor")
    assert (found[1] is None) == (output == "distance")
    if found[0] is not None:
        assert found[0].dtype == numpy.int32
        numpy.testing.assert_array_equal(found[0], distance)
    if found[1] is not None:
        assert found[1].dtype == numpy.int32
        numpy.testing.assert_array_equal(found[1], predecessor)
    assert result.source == source
    assert result.milliseconds > 0
    assert set(result.directions) <= {"push", "pull"}


def test_the_registry_holds_the_strategies():
    assert {"direction_optimizing", "top_down", "two_phase"} <= set(STRATEGIES)


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_zoo(strategy, backend, index, symmetric):
    if not symmetric and not STRATEGIES[strategy].directed:
        with pytest.raises(ValueError, match="symmetric"):
            prepare(*place(backend, *next(zoo()).csr(index=index)), strategy=strategy, symmetric=False)
        return
    for graph in zoo():
        csr = graph.csr(symmetric=symmetric, index=index)
        placed = place(backend, *csr)
        for output in OUTPUTS:
            search = prepare(*placed, strategy=strategy, output=output, symmetric=symmetric)
            assert search.strategy == strategy
            for source in sources_of(csr[0]):
                result = search.run(source)
                check(result, *csr, source, output)
                # Each level of the frontier was expanded, the deepest one in vain.
                depth = expected(*csr, source)[0].max()
                if backend == "cpu":
                    assert len(result.directions) == depth + 1


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
@pytest.mark.parametrize("output", OUTPUTS)
def test_max_depth(strategy, backend, output):
    for graph in zoo():
        csr = graph.csr()
        placed = place(backend, *csr)
        for max_depth in (0, 1, 2, 5):
            search = prepare(*placed, strategy=strategy, output=output, symmetric=True, max_depth=max_depth)
            for source in sources_of(csr[0], 2):
                result = search.run(source)
                check(result, *csr, source, output, max_depth)
                assert len(result.directions) <= max_depth


@pytest.mark.parametrize(("strategy", "backend"), ON_CPU)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(strategy, backend, threads, monkeypatch):
    # More threads than this machine may have: they are a team's own, not Numba's.
    monkeypatch.setattr("kernels.bfs.cpu.search.thread_count", lambda: threads)
    for graph in zoo():
        csr = graph.csr()
        for output in OUTPUTS:
            search = prepare(
                *csr, strategy=strategy, output=output, symmetric=True, **tiny_levels_too(strategy)
            )
            for source in sources_of(csr[0]):
                check(search.run(source), *csr, source, output)


def large_graph(seed):
    """Skewed enough that every kind of level occurs, with lists that are longer than a chunk of arcs."""
    random = numpy.random.default_rng(seed)
    n = 40_000
    pairs = (random.random((150_000, 2)) ** 3 * n).astype(numpy.int64)
    hub = numpy.stack([numpy.full(20_000, 7), random.integers(0, n, 20_000)], axis=1)
    pairs = numpy.concatenate([pairs, hub])
    pairs = numpy.concatenate([pairs, pairs[:, ::-1]])
    keys = numpy.unique(pairs[pairs[:, 0] != pairs[:, 1]] @ numpy.array([n, 1]))
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(keys // n, minlength=n))
    return offsets, (keys % n).astype(numpy.uint32)


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_graph_with_levels_of_every_kind(strategy, backend, output):
    csr = large_graph(3)
    search = prepare(*place(backend, *csr), strategy=strategy, output=output, symmetric=True)
    sources = (7, 0, 20_000, 39_999)
    directions = set()
    for source in sources:
        result = search.run(source)
        directions |= set(result.directions)
        check(result, *csr, source, output)
    assert ("pull" in directions) == (strategy == "direction_optimizing")
    # A search leaves nothing behind that the next one sees.
    check(search.run(7), *csr, 7, output)


@pytest.mark.parametrize(
    "constants", [{"alpha": 10**9, "beta": 10**9}, {"alpha": 10**9, "beta": 1}, {"alpha": 0}]
)
def test_constants_change_the_way_and_not_the_result(constants):
    csr = large_graph(5)
    for extra in ({}, tiny_levels_too("direction_optimizing")):
        search = prepare(*csr, strategy="direction_optimizing", symmetric=True, **constants, **extra)
        for source in (7, 123):
            check(search.run(source), *csr, source, "both")


@pytest.mark.parametrize(("strategy", "backend"), ON_CPU)
@settings(max_examples=40, deadline=None)
@given(data=draw.data())
def test_random_graphs(strategy, backend, data):
    n = data.draw(draw.integers(1, 150))
    vertex = draw.integers(0, n - 1)
    pairs = data.draw(draw.lists(draw.tuples(vertex, vertex), max_size=300))
    ordered = sorted({(u, v) for u, v in pairs} | {(v, u) for u, v in pairs})
    offsets = numpy.zeros(n + 1, numpy.int64)
    for u, _ in ordered:
        offsets[u + 1] += 1
    offsets = numpy.cumsum(offsets)
    columns = numpy.array([v for _, v in ordered], numpy.uint32)
    source = data.draw(vertex)
    max_depth = data.draw(draw.none() | draw.integers(0, 6))
    options = {
        "symmetric": True,
        "max_depth": max_depth,
        **data.draw(draw.sampled_from([{}, tiny_levels_too(strategy)])),
    }
    result = bfs(offsets, columns, source, strategy=strategy, **options)
    check(result, offsets, columns, source, "both", max_depth)


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
def test_what_cannot_be_is_refused(strategy, backend):
    csr = place(backend, *list(zoo())[5].csr())
    with pytest.raises(ValueError, match="output"):
        prepare(*csr, strategy=strategy, symmetric=True, output="nothing")
    search = prepare(*csr, strategy=strategy, symmetric=True)
    for source in (-1, 33):
        with pytest.raises(ValueError, match="source"):
            search.run(source)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ValueError, match="direction_optimizing"):
        prepare(*next(zoo()).csr(), strategy="sideways", symmetric=True)


@pytest.mark.parametrize("strategy", ["direction_optimizing", "serial", "top_down"])
def test_a_negative_depth_is_refused(strategy):
    with pytest.raises(ValueError, match="max_depth"):
        prepare(*next(zoo()).csr(), strategy=strategy, symmetric=True, max_depth=-1)
