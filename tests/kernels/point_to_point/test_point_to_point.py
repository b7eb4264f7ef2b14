"""Pairs: lengths against searches of one source, paths of that length, what is refused; GPUs as the CPU."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.point_to_point import cpu, prepare
from gravel.kernels.sssp import sssp
from gravel.kernels.threads import thread_count
from tests.kernels.point_to_point.point_to_point_case import (
    check,
    compare,
    lost_in_rounding,
    pairs_of,
    unweighted,
)
from tests.kernels.sssp_case import random_graph, special, weighted


@pytest.mark.parametrize("graph", [*special(), *map(random_graph, range(72))], ids=str)
def test_lengths_and_paths(graph: Any) -> None:
    pairs = pairs_of(graph)
    for lengths in (graph.weights, None):
        rows = graph.row_offsets, graph.columns, lengths
        queries = prepare(*rows, reverse=reversed_rows(*rows))
        found = queries.run(*pairs)
        check(graph if lengths is not None else unweighted(graph), *pairs, found)
        for _ in range(2):  # a search leaves nothing behind
            alone = queries.run(*pairs, path=False)
            assert alone.vertices is None
            numpy.testing.assert_array_equal(alone.length, found.length)


@pytest.mark.parametrize("graph", lost_in_rounding(), ids=str)
def test_weights_that_are_lost_in_rounding(graph: Any) -> None:
    n = len(graph.row_offsets) - 1
    pairs = numpy.divmod(numpy.arange(n * n), n)
    for width in (None, 1e-9, 1e12):
        check(graph, *pairs, prepare(*graph.rows, width=width).run(*pairs))


def fails_after(call: Any, error: Any) -> Any:
    def failing(*given: Any) -> None:
        call(*given)
        raise error

    return failing


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_did_not_end_leaves_nothing_behind(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(8)
    queries = prepare(*graph.rows, reverse=reversed_rows(*graph.rows), at_once=1)
    pairs = pairs_of(graph)
    expected = queries.run(*pairs)
    for name in ("_walk", "_search", "_forget"):
        with monkeypatch.context() as failing:
            failing.setattr(cpu, name, fails_after(getattr(cpu, name), error))
            with pytest.raises(error):
                queries.run(*pairs)
        found = queries.run(*pairs)
        numpy.testing.assert_array_equal(found.length, expected.length)
        numpy.testing.assert_array_equal(found.vertices, expected.vertices)


@pytest.mark.parametrize("floats", [False, True])
def test_many_pairs_of_an_undirected_graph_on_all_threads(
    floats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = numpy.random.default_rng(3)
    n, m = 20_000, 60_000
    ends = rng.integers(0, n, (m, 2))
    drawn = rng.random(m) if floats else rng.integers(1, 100, m)
    drawn = numpy.concatenate([drawn, drawn]).astype(numpy.float32 if floats else numpy.uint32)
    graph = weighted("large", n, numpy.concatenate([ends, ends[:, ::-1]]), drawn)
    sources, targets = rng.integers(0, n, (2, 300))
    sources[:100] = sources[0]
    matrix = csr_array((graph.weights.astype(float), graph.columns, graph.row_offsets), shape=(n, n))
    expected = dijkstra(matrix, indices=int(sources[0]))[targets[:100]]
    with monkeypatch.context() as at_once:
        at_once.setattr(cpu, "ALONE_SECONDS", 0.0)
        found = prepare(*graph.rows).run(sources, targets)
    lengths = found.length[:100] if floats else numpy.where(found.length < 0, numpy.inf, found.length)[:100]
    numpy.testing.assert_allclose(lengths, expected, rtol=1e-12 if floats else 0)
    # One thread finds the same, and so does a second run.
    again = prepare(*graph.rows, at_once=1)
    for _ in range(2):
        alone = again.run(sources, targets)
        numpy.testing.assert_array_equal(alone.vertices, found.vertices)
        numpy.testing.assert_array_equal(alone.length, found.length)


def test_widths_change_no_length() -> None:
    graph = random_graph(8)
    pairs, back = pairs_of(graph), reversed_rows(*graph.rows)
    for width in (1e-9, 0.5, 1e12):
        check(graph, *pairs, prepare(*graph.rows, reverse=back, width=width).run(*pairs))


def test_long_lengths_are_exact() -> None:
    n = 3000
    pairs = [(v, v + 1) for v in range(n - 1)] + [(v + 1, v) for v in range(n - 1)]
    graph = weighted("path", n, pairs, numpy.full(2 * n - 2, (1 << 32) - 1, numpy.uint32))
    found = prepare(*graph.rows).run([0, 5], [n - 1, 5])
    assert found.length.tolist() == [(n - 1) * ((1 << 32) - 1), 0]
    assert found.vertices.tolist() == [*range(n), 5]
    assert found.length[0] == sssp(*graph.rows, 0).distance[n - 1]


def test_reversed_rows_are_the_transposed_ones() -> None:
    graph = random_graph(5)
    n = len(graph.row_offsets) - 1
    offsets, columns, weights = reversed_rows(*graph.rows)
    found = sorted(zip(numpy.repeat(numpy.arange(n), numpy.diff(offsets)), columns, weights, strict=True))
    assert found == sorted(zip(graph.columns, graph.heads, graph.weights, strict=True))


def test_weights_that_differ_by_direction_need_reverse_rows() -> None:
    path = [(v, v + 1) for v in range(9)]
    both = numpy.array([*path, *((v, u) for u, v in path)])
    graph = weighted("one way is longer", 10, both, numpy.arange(1, 19, dtype=numpy.uint32))
    alone = prepare(*graph.rows)
    for _ in range(2):
        with pytest.raises(ValueError, match="an arc has none back of the same weight; give `reverse` rows"):
            alone.run([0], [9])
    found = prepare(*graph.rows, reverse=reversed_rows(*graph.rows)).run([0], [9])
    assert found.vertices.tolist() == list(range(10))


def test_what_is_refused() -> None:
    graph = random_graph(2)
    n = len(graph.row_offsets) - 1
    queries = prepare(*graph.rows)
    assert queries.at_once == thread_count()
    for pairs, message in (
        (([0], [n]), f"target {n} is not a vertex; there are {n}"),
        (([-1], [0]), "source -1 is not a vertex"),
        (([0, 1], [0]), "2 sources and 1 targets"),
    ):
        with pytest.raises(ValueError, match=message):
            queries.run(*pairs)
    assert queries.run([], []).length.shape == (0,)
    for options, message in (
        ({"width": 0}, "width is 0"),
        ({"at_once": 0}, "at_once is 0"),
        (
            {"reverse": (graph.row_offsets, graph.columns[:-1], graph.weights[:-1])},
            "differ in vertices or arcs",
        ),
        ({"reverse": (graph.row_offsets, graph.columns, None)}, "both have weights, or neither"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(*graph.rows, **options)
    below = weighted("", 6, [(0, 1), (3, 5)], numpy.array([1, -2], numpy.int32))
    with pytest.raises(ValueError, match=r"the arc \(3, 5\) has the weight -2"):
        prepare(*below.rows)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", [*special(), *map(random_graph, range(96)), *lost_in_rounding()], ids=str)
def test_a_gpu_finds_what_the_cpu_does(graph: Any) -> None:
    import cupy

    for lengths in (graph.weights, None):
        for options in ({}, {"block": 64}, {"at_once": 1}):
            compare(graph, lengths, cupy.asarray, on_device=options)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.float32])
def test_thousands_of_pairs_on_a_gpu(dtype: Any) -> None:
    import cupy

    rng = numpy.random.default_rng(5)
    n, m = 200_000, 600_000
    ends = rng.integers(0, n, (m, 2))
    ends[:20_000, 0] = 7
    drawn = rng.integers(1, 100, m).astype(dtype)
    graph = weighted("large", n, numpy.concatenate([ends, ends[:, ::-1]]), numpy.concatenate([drawn, drawn]))
    pairs = rng.integers(0, n, (2, 2000))
    there = [cupy.asarray(each) for each in graph.rows]
    expected, found = prepare(*graph.rows).run(*pairs), prepare(*there).run(*pairs)
    numpy.testing.assert_array_equal(found.length, expected.length)
    numpy.testing.assert_array_equal(found.offsets, expected.offsets)
    numpy.testing.assert_array_equal(found.vertices, expected.vertices)
