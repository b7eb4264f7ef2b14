"""Ranks that check their own arcs find what the verifier of the whole graph does, faults included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition import PartitionedGraph, partition
from gravel.kernels.verify import Check, check_bfs
from gravel.kernels.verify.ranks import check_program, sum_levels_program
from gravel.kernels.verify.ranks.cpu import RankChecker
from tests.kernels.partition.ranks_case import part_on_device
from tests.kernels.verify.damage import search
from tests.zoo import ZooGraph, zoo

ZOO = [graph for graph in zoo() if graph.vertex_count]
GRID = next(graph for graph in ZOO if graph.name == "grid_13x17")
SKEWED = next(graph for graph in ZOO if graph.name == "skewed_random")
Labels = tuple[Any, Any]


def check_over_ranks(
    graph: PartitionedGraph,
    source: int,
    labels: Any,
    max_depth: int | None = None,
    checker: Any = RankChecker,
) -> list[Check]:
    def program(end: Any) -> Any:
        own = [None if array is None else array[end.rank :: graph.ranks].copy() for array in labels]
        rank = checker(graph.parts[end.rank], graph.delegates, graph.vertex_count, graph.ranks)
        return check_program(end, rank, source, *own, max_depth=max_depth)

    found = run_in_lock_step(program, graph.ranks)
    assert all(checks == found[0] for checks in found)
    return found[0]


def outputs(labels: Labels) -> Iterator[Labels]:
    yield labels
    yield labels[0], None
    yield None, labels[1]


def assert_agree(
    csr: Any,
    graph: PartitionedGraph,
    source: int,
    labels: Labels,
    checker: Any = RankChecker,
    place: Any = numpy.asarray,
    **choices: Any,
) -> set[str]:
    """Compare the findings, and return the rules that are broken."""
    broken = set()
    for some in outputs(labels):
        expected = check_bfs(*csr, source, *some, symmetric=True, **choices)
        given = tuple(None if each is None else place(each) for each in some)
        assert check_over_ranks(graph, source, given, checker=checker, **choices) == expected
        broken |= {check.name for check in expected if not check.passed}
    return broken


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_right_searches_pass(ranks: int) -> None:
    for member in ZOO:
        csr = member.csr()
        for threshold in (0, 4, 10**6):
            graph = partition(*csr, ranks=ranks, threshold=threshold)
            for max_depth in (None, 2):
                labels = search(csr, member.vertex_count // 2, max_depth)
                broken = assert_agree(csr, graph, member.vertex_count // 2, labels, max_depth=max_depth)
                assert not broken


def plant(labels: Labels, random: numpy.random.Generator, source: int) -> Labels:
    """Break a few labels in one of the ways in which they can be wrong."""
    distance, predecessor = labels[0].copy(), labels[1].copy()
    n = len(distance)
    some = random.choice(n, size=min(n, int(random.integers(1, 9))), replace=False)
    kind = random.integers(7)
    if kind == 0:
        distance[some] += random.integers(-3, 4)
    elif kind == 1:
        predecessor[some] = random.integers(0, n, len(some))
    elif kind == 2:
        distance[some] = predecessor[some] = -1
    elif kind == 3:
        predecessor[some] = numpy.roll(some, 1)  # a cycle
    elif kind == 4:
        distance[some[0]] = random.choice([-2, n, 2**31 - 1])
    elif kind == 5:
        predecessor[some[0]] = random.choice([-2, n, -1])
    else:
        distance[source], predecessor[some[0]] = random.integers(0, 2), source
    return distance, predecessor


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("member", [GRID, SKEWED], ids=lambda member: member.name)
def test_planted_faults_are_found_alike(member: ZooGraph, ranks: int) -> None:
    csr = member.csr()
    random = numpy.random.default_rng(ranks)
    graphs = [partition(*csr, ranks=ranks, threshold=threshold) for threshold in (0, 3, 9)]
    broken: set[str] = set()
    for turn in range(40):
        source = int(random.integers(member.vertex_count))
        labels = plant(search(csr, source), random, source)
        broken |= assert_agree(csr, graphs[turn % 3], source, labels)
    # What was planted has to break every rule at least once, or the comparison says little.
    assert broken == {
        "ranges",
        "source",
        "tree",
        "tree_levels",
        "edge_levels",
        "component",
        "tree_arcs",
        "nearer_neighbour",
    }


def assert_levels_are_summed(made: Any, turned: Any = numpy.copy) -> None:
    offsets, columns = SKEWED.csr()
    graph = partition(offsets, columns, ranks=3, threshold=6)
    distance, _ = search((offsets, columns), 5)

    def program(end: Any) -> Any:
        checker = made(graph.parts[end.rank], graph.delegates, graph.vertex_count, 3)
        return sum_levels_program(end, checker, turned(distance[end.rank :: 3]))

    reached = distance >= 0
    for sums in run_in_lock_step(program, 3):
        assert numpy.array_equal(sums.vertices, numpy.bincount(distance[reached]))
        degrees = numpy.diff(offsets)[reached]
        assert numpy.array_equal(sums.arcs, numpy.bincount(distance[reached], weights=degrees))


def test_levels_are_summed_over_ranks() -> None:
    assert_levels_are_summed(RankChecker)


def test_labels_of_another_graph_are_refused() -> None:
    graph = partition(*GRID.csr(), ranks=2, threshold=4)
    labels = search(GRID.csr(), 0)
    for wrong, words in (
        ((None, None), "neither a distance nor a predecessor"),
        ((labels[0][:9], None), "distance has shape"),
        ((labels[0], labels[1][:9]), "predecessor has shape"),
    ):
        with pytest.raises(ValueError, match=words):
            check_over_ranks(graph, 0, wrong)
    with pytest.raises(ValueError, match="source 221 is not in the graph"):
        check_over_ranks(graph, 221, labels)


def checker_on(place: Any, part_placed: Any = part_on_device) -> Any:
    """Make checkers of ranks whose arcs lie where `place` brings them."""
    from gravel.kernels.verify.ranks.cuda import RankChecker as OnDevice

    return lambda part, delegates, *sizes: OnDevice(part_placed(part, place), place(delegates), *sizes)


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [1, 3])
def test_findings_on_a_gpu_are_those_of_the_whole_graph(ranks: int) -> None:
    import cupy

    random = numpy.random.default_rng(ranks)
    checker = checker_on(cupy.asarray)
    for member in (GRID, SKEWED):
        csr = member.csr()
        graphs = [partition(*csr, ranks=ranks, threshold=threshold) for threshold in (0, 4, 10**6)]
        for turn in range(30):
            source = int(random.integers(member.vertex_count))
            labels = plant(search(csr, source), random, source) if turn else search(csr, source)
            assert_agree(csr, graphs[turn % 3], source, labels, checker, cupy.asarray)
    assert_levels_are_summed(checker, cupy.asarray)
