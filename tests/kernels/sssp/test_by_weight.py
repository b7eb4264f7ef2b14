"""Shortest paths on the CPU over rows in the order of weights: light and heavy arcs, and pulls."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.sssp import prepare
from gravel.kernels.sssp.cpu import light_heavy, pull
from gravel.kernels.sssp.cpu.by_weight import CLASSES, is_concentrated, is_symmetric, order_by_weight
from gravel.kernels.sssp.weights import checked
from tests.kernels.sssp_case import (
    WeightedGraph,
    as_floats,
    distances,
    is_tree,
    predecessors,
    random_graph,
    special,
    weighted,
)


def both_ways(graph: WeightedGraph) -> WeightedGraph:
    order = numpy.argsort(graph.weights, kind="stable")  # parallel arcs ascend by weight in both rows
    pairs = numpy.stack([graph.heads, graph.columns.astype(numpy.int64)], axis=1)
    pairs = numpy.repeat(pairs[order], 2, axis=0)
    pairs[1::2] = pairs[1::2, ::-1].copy()
    drawn = numpy.repeat(graph.weights[order], 2)
    n = len(graph.row_offsets) - 1
    return weighted(f"{graph.name}, both ways", n, pairs, drawn)


DIRECTED = [*special(), *map(random_graph, range(48))]
SYMMETRIC = list(map(both_ways, DIRECTED))


def skewed(dtype: Any = numpy.uint32, n: int = 3000, m: int = 30_000) -> WeightedGraph:
    rng = numpy.random.default_rng(5)
    pairs = (n * rng.random((m, 2)) ** 3).astype(numpy.int64)
    drawn = rng.integers(1, 256, m).astype(dtype) / dtype(1 if dtype == numpy.uint32 else 256)
    return both_ways(weighted("skewed", n, pairs, drawn.astype(dtype)))


def agrees(graph: WeightedGraph, source: int, **options: Any) -> Any:
    search = prepare(*graph.rows, by_weight=True, **options)
    found = search.run(source)
    expected = distances(graph, source)
    numpy.testing.assert_array_equal(as_floats(found.distance), expected)
    numpy.testing.assert_array_equal(found.predecessor, predecessors(graph, expected, source))
    assert is_tree(found.predecessor, expected, source)
    return found


@pytest.mark.parametrize("graph", [*DIRECTED, *SYMMETRIC], ids=str)
def test_distances_and_tree(graph: WeightedGraph) -> None:
    n = len(graph.row_offsets) - 1
    for source in sorted({0, n // 2, n - 1}):
        agrees(graph, source)


@pytest.mark.parametrize("graph", SYMMETRIC[::5], ids=str)
@pytest.mark.parametrize(("share", "pulls"), [(0.0, 32), (0.0, 1), (0.0, 2), (2.0, 32)])
def test_pulls_at_once_never_and_given_up(
    graph: WeightedGraph, share: float, pulls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light_heavy, "PULL_FROM", share)
    monkeypatch.setattr(pull, "MAX_PULLS", pulls)
    for width in (1e-9, 0.3, 1e12):
        agrees(graph, 0, width=width)


@pytest.mark.parametrize("graph", [*DIRECTED[::5], *SYMMETRIC[::5]], ids=str)
def test_on_threads(graph: WeightedGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(light_heavy, "THREADED_FROM", 1)
    monkeypatch.setattr(light_heavy, "CHUNK", 3)
    agrees(graph, 0)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_a_skewed_graph_is_pulled(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, pulls = skewed(dtype), []
    whole = pull.to_the_end
    monkeypatch.setattr(pull, "to_the_end", lambda *given: pulls.append(whole(*given)) or pulls[-1])
    pushed = prepare(*graph.rows, by_weight=False)
    for source in (0, 100, 2000):
        assert agrees(graph, source).rounds < pushed.run(source).rounds
    assert len(pulls) == 3
    assert all(done and 1 < count < 10 for count, done in pulls)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_rows_are_ordered_by_classes(dtype: Any) -> None:
    rng = numpy.random.default_rng(2)
    pairs = numpy.concatenate([rng.integers(0, 50, (2000, 2)), [(0, v) for v in range(50)] * 40])
    drawn = (rng.random(len(pairs)) ** 8 * 1e6).astype(dtype)
    drawn[::17] = 0
    graph = weighted("", 50, pairs, drawn)
    ordered = order_by_weight(checked(*graph.rows), symmetric=False)
    least = (ordered.weights.view(numpy.uint32) & ordered.mask).view(dtype)
    keys = ordered.weights.view(numpy.uint32)
    shift = 32 - int(ordered.mask).bit_count()
    finer = numpy.unique(keys[keys > 0] >> max(shift - 1, 0))
    assert len(numpy.unique(least)) <= CLASSES
    assert shift == 0 or finer[-1] - finer[0] + 2 > CLASSES, "classes are as narrow as their number allows"
    assert (least <= ordered.weights).all()
    for u in range(50):
        row = slice(graph.row_offsets[u], graph.row_offsets[u + 1])
        assert (numpy.diff(least[row]) >= 0).all()
        before = sorted(zip(graph.columns[row], graph.weights[row], strict=True))
        assert sorted(zip(ordered.columns[row], ordered.weights[row], strict=True)) == before


def seems_symmetric(graph: WeightedGraph, said: bool | None = None) -> bool:
    place = numpy.empty(len(graph.row_offsets) - 1, numpy.int64)
    return is_symmetric(checked(*graph.rows, said), place)


def test_symmetric_rows_are_known() -> None:
    for graph in SYMMETRIC:
        assert seems_symmetric(graph), graph.name
        assert not seems_symmetric(graph, said=False), graph.name


@pytest.mark.parametrize(
    ("pairs", "drawn"),
    [
        ([(0, 1), (1, 0)], [1, 2]),
        ([(0, 1), (1, 2), (2, 0)], [1, 1, 1]),
        ([(0, 1), (0, 1), (1, 0), (1, 0)], [1, 4, 2, 3]),
        ([(0, 1), (0, 1), (1, 0)], [1, 1, 1]),
        ([(0, 1)], [0]),
        ([(0, 1), (1, 0), (1, 2)], [7, 7, 0]),
        ([(0, 0), (0, 1)], [0, 0]),
        ([(2, 0)], [5]),
    ],
)
def test_other_rows_are_not_taken_for_symmetric(pairs: Any, drawn: Any) -> None:
    graph = weighted("", 3, pairs, numpy.array(drawn, numpy.uint32))
    assert not seems_symmetric(graph)
    assert seems_symmetric(graph, said=True)


def test_rows_are_symmetric_as_their_transpose_is_equal() -> None:
    for seed in range(200):
        rng = numpy.random.default_rng(seed)
        n, m = rng.integers(1, 9), rng.integers(0, 12)
        drawn = rng.integers(0, n, (m, 2)), rng.integers(0, 3, m).astype(numpy.uint32)
        graph = both_ways(weighted("", n, *drawn))
        kept = rng.random(len(graph.columns)) < (1, 0.9)[seed % 2]
        pairs = numpy.stack([graph.heads, graph.columns.astype(numpy.int64)], axis=1)[kept]
        weights = graph.weights[kept]
        arcs = sorted((*pair, weight) for pair, weight in zip(pairs.tolist(), weights, strict=True))
        back = sorted((v, u, weight) for u, v, weight in arcs)
        assert seems_symmetric(weighted("", n, pairs, weights)) is (arcs == back), seed


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_arcs_of_no_length_that_lead_one_way(dtype: Any) -> None:
    """They are arcs as all others: rows with them are no symmetric ones."""
    graph = with_one_way_zeros(dtype)
    search = prepare(*graph.rows)
    for source in (0, 100, 2000, 7):
        found = search.run(source)
        numpy.testing.assert_array_equal(as_floats(found.distance), distances(graph, source))
        agrees(graph, source)
    assert search.ran.options["by_weight"] is False


def with_one_way_zeros(dtype: Any) -> WeightedGraph:
    graph, rng = skewed(dtype), numpy.random.default_rng(1)
    pairs = numpy.stack([graph.heads, graph.columns.astype(numpy.int64)], axis=1)
    pairs = numpy.concatenate([pairs, rng.integers(0, 3000, (3000, 2))])
    drawn = numpy.concatenate([graph.weights, numpy.zeros(3000, dtype)])
    return weighted("one-way zeros", 3000, pairs, drawn)


def test_minus_zero_is_zero() -> None:
    graph = skewed(numpy.float32)
    graph.weights[graph.weights < 0.3] = 0
    weights = numpy.where(graph.weights == 0, numpy.float32(-0.0), graph.weights)
    given = weights.copy()
    for options in ({}, {"by_weight": True}, {"strategy": "dijkstra"}):
        search = prepare(graph.row_offsets, graph.columns, weights, **options)
        for source in (0, 100, 2000):
            found, expected = search.run(source), distances(graph, source)
            numpy.testing.assert_array_equal(found.distance, expected)
            numpy.testing.assert_array_equal(found.predecessor, predecessors(graph, expected, source))
    numpy.testing.assert_array_equal(weights.view(numpy.uint32), given.view(numpy.uint32))


def test_the_first_search_decides() -> None:
    graph = skewed()
    search = prepare(*graph.rows)
    first = search.run(0)
    assert search.ran.options["by_weight"] is False
    assert search.prepare_milliseconds == 0
    second = search.run(0)
    assert search.ran.options["by_weight"] is True
    assert search.prepare_milliseconds > 0
    assert second.rounds < first.rounds
    numpy.testing.assert_array_equal(first.distance, second.distance)
    numpy.testing.assert_array_equal(first.predecessor, second.predecessor)


def test_graphs_of_few_arcs_are_left_as_they_are() -> None:
    rng = numpy.random.default_rng(3)
    for edges, ordered in ((4000, False), (16_000, True)):
        drawn = rng.integers(1, 256, edges).astype(numpy.uint32)
        graph = both_ways(weighted("random", 2000, rng.integers(0, 2000, (edges, 2)), drawn))
        search = prepare(*graph.rows, width=3.0)
        for source in (0, 1):
            search.run(source)
        assert search.ran.options["by_weight"] is ordered


def test_long_paths_and_directed_graphs_are_left_as_they_are() -> None:
    ring = [(v, (v + 1) % 500) for v in range(500)]
    path = both_ways(weighted("ring", 500, ring, numpy.full(500, 7, numpy.uint32)))
    one_way = skewed()
    one_way.weights[numpy.flatnonzero(one_way.heads != one_way.columns)[0]] += 1
    for graph in (path, one_way):
        search = prepare(*graph.rows)
        for source in (0, 1, 2):
            search.run(source)
        assert search.ran.options["by_weight"] is False


def test_a_search_of_little_decides_nothing() -> None:
    graph = skewed()
    n = len(graph.row_offsets) - 1
    apart = both_ways(weighted("", 2, [(0, 1)], numpy.array([3], numpy.uint32)))
    offsets = numpy.concatenate([graph.row_offsets, graph.row_offsets[-1] + apart.row_offsets[1:]])
    columns = numpy.concatenate([graph.columns, apart.columns + numpy.uint32(n)])
    rows = offsets, columns, numpy.concatenate([graph.weights, apart.weights])
    alone = prepare(*rows).run(n)
    assert alone.distance[n + 1] == 3
    assert is_concentrated(checked(*rows), alone.distance, 1.0) is None
    search = prepare(*rows)
    for source in (n, 0, 0):
        assert search.ran.options["by_weight"] is False
        search.run(source)
    assert search.ran.options["by_weight"] is True
