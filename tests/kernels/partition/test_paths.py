"""Searches by weights over ranks find the distances and the tree of one machine, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.partition.options import PathOptions
from gravel.kernels.partition.paths import PartitionPaths
from gravel.kernels.sssp import prepare
from gravel.kernels.sssp.weights import UnusableWeight
from gravel.stages.rank_group import run_in_threads
from tests.kernels.partition.weighted_case import DTYPES, built, drawn, weighted_partition
from tests.kernels.sssp_case import WeightedGraph

THRESHOLDS = (0, 4, 10**6)
"""All vertices with arcs are delegates, some are, and none is."""


def assert_as_on_one_machine(
    graph: WeightedGraph, ranks: int, threshold: int, sources: Any, **options: Any
) -> None:
    search = PartitionPaths(weighted_partition(graph, ranks, threshold), options=PathOptions(**options))
    one = prepare(*graph.rows)
    for source in sources:
        found, expected = search.run(source), one.run(source)
        for name in ("distance", "predecessor"):
            got, wanted = getattr(found, name), getattr(expected, name)
            assert got.dtype == wanted.dtype, name
            assert numpy.array_equal(got, wanted), name


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("direction", ["both", "as_given"])
def test_ranks_find_what_one_machine_does(ranks: int, threshold: int, direction: str) -> None:
    for seed in range(30):
        graph = drawn(seed, direction=direction)
        n = len(graph.row_offsets) - 1
        assert_as_on_one_machine(graph, ranks, threshold, (0, n // 2, n - 1))


@settings(max_examples=60, deadline=None)
@given(
    edges=draw.lists(
        draw.tuples(draw.integers(0, 12), draw.integers(0, 12), draw.integers(0, 3)), max_size=60
    ),
    kind=draw.sampled_from(DTYPES),
    scale=draw.sampled_from([0, 1, 1 << 20]),
    ranks=draw.integers(1, 4),
    threshold=draw.integers(0, 6),
    width=draw.sampled_from([0.0, 0.01, 1.0, 1e6]),
)
def test_whatever_the_edges_are(
    edges: Any, kind: Any, scale: int, ranks: int, threshold: int, width: float
) -> None:
    source, target, weights = numpy.array(edges, numpy.int64).reshape(-1, 3).T
    graph = built("edges", source, target, (weights * scale).astype(kind), 13)
    assert_as_on_one_machine(graph, ranks, threshold, (0, 7), width=width)


@pytest.mark.parametrize("kind", DTYPES)
def test_arcs_of_length_zero_have_the_tree_of_one_machine(kind: Any) -> None:
    rng = numpy.random.default_rng(5)
    for most in (1, 2):
        ends = rng.integers(0, 60, (2, 200))
        graph = built("zeros", *ends, rng.integers(0, most, 200).astype(kind), 60)
        for ranks, threshold in ((1, 4), (3, 0), (3, 4), (4, 10**6)):
            assert_as_on_one_machine(graph, ranks, threshold, (0, 30))


def test_weights_that_vanish_in_a_sum_are_of_length_zero() -> None:
    weights = numpy.array([1e30, 1e-30, 1e-30, 1e-30, 2e30], numpy.float32)
    graph = built("vanish", numpy.array([0, 1, 2, 3, 0]), numpy.array([1, 2, 3, 1, 3]), weights, 4)
    for ranks, threshold in ((1, 0), (2, 0), (2, 2), (3, 9)):
        assert_as_on_one_machine(graph, ranks, threshold, range(4))


def test_distances_grow_to_64_bits_as_on_one_machine() -> None:
    weights = numpy.full(40, (1 << 32) - 1, numpy.uint32)
    graph = built("long", numpy.arange(40), numpy.arange(1, 41), weights, 41)
    assert prepare(*graph.rows).run(0).distance.dtype == numpy.int64
    for ranks, threshold in ((1, 0), (3, 1), (4, 9)):
        assert_as_on_one_machine(graph, ranks, threshold, (0, 20))


def test_ranks_that_have_no_vertex_take_part() -> None:
    graph = built("two", numpy.array([0]), numpy.array([1]), numpy.array([3], numpy.uint32), 2)
    assert_as_on_one_machine(graph, 5, 0, (0, 1))
    empty = built("none", numpy.zeros(0, int), numpy.zeros(0, int), numpy.zeros(0, numpy.uint32), 3)
    assert_as_on_one_machine(empty, 2, 0, (0, 2))


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_what_no_search_takes_is_named_as_on_one_machine(threshold: int) -> None:
    graph = drawn(8)
    for value in (numpy.nan, numpy.inf, -1.0):
        weights = graph.weights.copy()
        weights[[len(weights) // 3, len(weights) // 2, -1]] = value
        wrong = WeightedGraph("wrong", graph.row_offsets, graph.columns, weights, graph.heads)
        with pytest.raises(UnusableWeight) as expected:
            prepare(*wrong.rows)
        for ranks in (1, 3):
            with pytest.raises(UnusableWeight) as found:
                PartitionPaths(weighted_partition(wrong, ranks, threshold))
            assert str(found.value) == str(expected.value)


def test_paths_that_are_too_long_are_refused_as_on_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.sssp import weights

    monkeypatch.setattr(weights, "MAX_INT64", 1 << 33)
    values = numpy.full(9, (1 << 32) - 1, numpy.uint32)
    graph = built("long", numpy.arange(9), numpy.arange(1, 10), values, 10)
    with pytest.raises(ValueError, match="Scale the weights down") as expected:
        prepare(*graph.rows)
    with pytest.raises(ValueError, match="Scale the weights down") as found:
        PartitionPaths(weighted_partition(graph, 3, 1))
    assert str(found.value) == str(expected.value)


def test_ranks_that_are_threads_find_the_same() -> None:
    from gravel.kernels.partition.paths import joined, rank_of, search_rank

    graph = drawn(11)
    split, one = weighted_partition(graph, 3, 4), prepare(*graph.rows)

    def rank(group: Any, place: int) -> list[Any]:
        state = rank_of(group, split.of_rank(place), tree=True, options=PathOptions())
        group.barrier()
        answers = []
        for source in range(4):
            group.barrier()
            answers.append(search_rank(group, state, source))
        return answers

    found = run_in_threads(rank, range(3))
    for source in range(4):
        labels = joined([each[source] for each in found], source, 0.0)
        assert numpy.array_equal(labels.distance, one.run(source).distance)
        assert numpy.array_equal(labels.predecessor, one.run(source).predecessor)


def test_distances_alone_are_searched_without_a_tree() -> None:
    graph = drawn(4)
    search = PartitionPaths(weighted_partition(graph, 3, 4), tree=False)
    found = search.run(0)
    assert found.predecessor is None
    assert numpy.array_equal(found.distance, prepare(*graph.rows).run(0).distance)
    assert all(rank.tree_bytes == 0 for rank in search.labels)


def test_a_source_that_is_no_vertex_and_a_width_that_cannot_be_are_refused() -> None:
    search = PartitionPaths(weighted_partition(drawn(4), 2, 4))
    with pytest.raises(ValueError, match="source 1000 is not a vertex"):
        search.run(1000)
    with pytest.raises(ValueError, match="width is -1"):
        PathOptions(width=-1.0)
