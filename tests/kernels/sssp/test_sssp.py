"""Shortest paths on the CPU: every strategy against SciPy and against Bellman and Ford, with its tree."""

import time

import numpy
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from gravel.kernels.sssp import prepare, sssp
from gravel.kernels.sssp.cpu import delta_stepping, light_heavy
from gravel.kernels.sssp.weights import checked, words_of
from gravel.kernels.strategy import strategies_in
from tests.kernels.sssp_case import (
    as_floats,
    distances,
    is_tree,
    predecessors,
    random_graph,
    special,
    weighted,
)

ON_CPU = sorted(name for name, each in strategies_in("gravel.kernels.sssp").items() if each.cpu)
GRAPHS = [*special(), *map(random_graph, range(48))]


def agrees(graph, source, **options):
    found = sssp(*graph.rows, source, **options)
    expected = distances(graph, source)
    numpy.testing.assert_array_equal(as_floats(found.distance), expected)
    numpy.testing.assert_array_equal(found.predecessor, predecessors(graph, expected, source))
    assert is_tree(found.predecessor, expected, source)
    return found


@pytest.mark.parametrize("strategy", ON_CPU)
@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_distances_and_tree(graph, strategy):
    n = len(graph.row_offsets) - 1
    for source in sorted({0, n // 2, n - 1}):
        agrees(graph, source, strategy=strategy)


@pytest.mark.parametrize("strategy", ON_CPU)
def test_a_search_takes_no_longer_than_it_was_waited_for(strategy):
    search = prepare(*GRAPHS[-1].rows, strategy=strategy)
    search.run(0)
    started = time.perf_counter()
    found = search.run(0)
    assert 0 < found.milliseconds <= (time.perf_counter() - started) * 1e3


@pytest.mark.parametrize("graph", GRAPHS[::4], ids=str)
@pytest.mark.parametrize("width", [1e-9, 1.0, 1e12])
def test_any_width_of_buckets_finds_the_same(graph, width):
    agrees(graph, 0, width=width)


@pytest.mark.parametrize("graph", GRAPHS[::4], ids=str)
def test_rounds_on_threads(graph, monkeypatch):
    monkeypatch.setattr(delta_stepping, "THREADED_FROM", 1)
    monkeypatch.setattr(delta_stepping, "CHUNK", 3)
    agrees(graph, 0)


@pytest.mark.parametrize("graph", GRAPHS[::6], ids=str)
@pytest.mark.parametrize("threaded_from", [2, 5, 40])
def test_rounds_go_to_threads_and_back(graph, threaded_from, monkeypatch):
    """After any number of rounds on one thread, with or without a split pile before."""
    for module in (delta_stepping, light_heavy):
        monkeypatch.setattr(module, "THREADED_FROM", threaded_from)
        monkeypatch.setattr(module, "CHUNK", 2)
    for width in (0.02, 0.3, 4.0):
        for by_weight in (False, True):
            agrees(graph, 0, width=width, by_weight=by_weight)


@pytest.mark.parametrize(("width", "floats"), [(None, True), (1e12, False)])
def test_frontiers_as_large_as_threads_take(width, floats):
    """At the size from which on threads are woken, after rounds of one thread."""
    rng = numpy.random.default_rng(8)
    n, m = 160_000, 640_000
    pairs = rng.integers(0, n, (m, 2))
    drawn = rng.integers(1, 100, m).astype(numpy.float32 if floats else numpy.uint32)
    graph = weighted("", n, numpy.concatenate([pairs, pairs[:, ::-1]]), numpy.concatenate([drawn, drawn]))
    matrix = csr_array((graph.weights.astype(float), graph.columns, graph.row_offsets), shape=(n, n))
    for by_weight in (False, True):
        search = prepare(*graph.rows, width=width, by_weight=by_weight)
        found = search.run(3)
        numpy.testing.assert_array_equal(as_floats(found.distance), dijkstra(matrix, indices=3))


@pytest.mark.parametrize("strategy", ON_CPU)
def test_a_larger_graph_against_scipy(strategy):
    rng = numpy.random.default_rng(3)
    n, m = 30_000, 200_000
    pairs = numpy.unique(rng.integers(0, n, (m, 2)), axis=0)
    graph = weighted("large", n, pairs, rng.integers(1, 256, len(pairs)).astype(numpy.uint32))
    matrix = coo_array((graph.weights.astype(float), (graph.heads, graph.columns)), (n, n)).tocsr()
    found = sssp(*graph.rows, 7, strategy=strategy)
    assert found.distance.dtype == numpy.int32
    numpy.testing.assert_array_equal(as_floats(found.distance), dijkstra(matrix, indices=7))


def test_types_of_distances():
    pairs = [(0, 1), (1, 2)]
    for weights, dtype in (
        (numpy.array([1, 2], numpy.uint32), numpy.int32),
        (numpy.array([1 << 30, (1 << 30) - 2], numpy.int32), numpy.int32),
        (numpy.array([1 << 31, 1], numpy.uint32), numpy.int64),
        (numpy.array([0.5, 0.25], numpy.float32), numpy.float64),
    ):
        found = agrees(weighted("", 3, pairs, weights), 0)
        assert found.distance.dtype == dtype
        assert found.predecessor.dtype == numpy.int32
        assert sssp(*weighted("", 3, pairs, weights).rows, 0, predecessor=False).predecessor is None


@pytest.mark.parametrize(
    ("weight", "said"), [(-1.5, "-1.5"), (numpy.nan, "nan"), (numpy.inf, "inf"), (-3, "-3")]
)
def test_weights_that_cannot_be_name_their_arc(weight, said):
    dtype = numpy.int32 if isinstance(weight, int) else numpy.float32
    graph = weighted("", 6, [(0, 1), (3, 5), (4, 4)], numpy.array([1, weight, 2], dtype))
    with pytest.raises(ValueError, match=rf"the arc \(3, 5\) has the weight {said}; "):
        prepare(*graph.rows)


def test_paths_that_may_not_fit_are_refused_with_numbers():
    """32-bit weights take 2^31 vertices before a path can be too long: only the bound is tested."""
    largest = (1 << 32) - 1
    with pytest.raises(ValueError, match=r"36,893,488,1.* up to 4,294,967,295; .* Scale the weights down"):
        words_of((1 << 33) + 1, largest, largest << 34)
    # The sum of all weights is a bound as well.
    assert words_of((1 << 33) + 1, largest, largest << 8) == numpy.uint64
    assert words_of((1 << 33) + 1, 100, 1000) == numpy.uint32
    assert words_of(1, largest, largest) == numpy.uint64, "a loop is added before it is compared"


def test_more_vertices_than_predecessors_of_32_bits():
    offsets = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.int64), ((1 << 31) + 1,), (0,))
    with pytest.raises(ValueError, match="columns must be uint64"):
        checked(offsets, numpy.zeros(0, numpy.uint32), numpy.zeros(0, numpy.uint32))


def test_what_cannot_be_is_refused():
    graph = weighted("", 3, [(0, 1)], numpy.array([1], numpy.uint32))
    offsets, columns, weights = graph.rows
    for options, message in (
        ({"strategy": "dijstra"}, "dijkstra"),
        ({"width": 0.0}, "must be above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(*graph.rows, **options)
    with pytest.raises(ValueError, match="float64; uint32, int32 or float32"):
        prepare(offsets, columns, weights.astype(float))
    with pytest.raises(ValueError, match="2 weights and 1 arcs"):
        prepare(offsets, columns, numpy.ones(2, numpy.uint32))
    with pytest.raises(ValueError, match="source 3 is not a vertex; there are 3"):
        prepare(*graph.rows).run(3)


def test_a_search_says_who_chose_its_strategy():
    graph = weighted("", 3, [(0, 1), (1, 2)], numpy.array([1, 2], numpy.uint32))
    found = {name: prepare(*graph.rows, strategy=name) for name in ("auto", "delta_stepping")}
    assert {each.strategy for each in found.values()} == {"delta_stepping"}
    assert [each.reason for each in found.values()] == ["it is the default", "asked for"]
