"""Ranks that check components along their own arcs find what the verifier of the whole graph does."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition import PartitionedGraph, partition
from gravel.kernels.verify import Check, check_components
from gravel.kernels.verify.ranks.components import check_components_program
from gravel.kernels.verify.ranks.components_cpu import RankLabelChecker
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.ranks_case import part_on_device
from tests.zoo import ZooGraph, scipy_components, zoo

ZOO = [graph for graph in zoo() if graph.vertex_count]
PARTS = next(graph for graph in ZOO if graph.name == "two_parts")
SKEWED = next(graph for graph in ZOO if graph.name == "skewed_random")


def check_over_ranks(
    graph: PartitionedGraph, labels: Any, checker: Any = RankLabelChecker, **sizes: int
) -> list[Check]:
    def program(end: Any) -> Any:
        own = labels[end.rank :: graph.ranks].copy()
        rank = checker(graph.parts[end.rank], graph.delegates, graph.vertex_count, graph.ranks)
        return check_components_program(end, rank, own, **sizes)

    found = run_in_lock_step(program, graph.ranks)
    assert all(checks == found[0] for checks in found)
    return found[0]


def plant(right: Any, random: numpy.random.Generator) -> Any:
    """Break labels in one of the ways in which they can be wrong."""
    labels, n = right.copy(), len(right)
    some = random.choice(n, size=min(n, int(random.integers(1, 9))), replace=False)
    kind = random.integers(5)
    if kind == 0:
        labels[some] = random.integers(0, n, len(some))
    elif kind == 1:
        labels[some[0]] = n + int(random.integers(3))
    elif kind == 2:  # two components as one
        names = numpy.unique(right)
        one, other = names[0], names[-1]
        labels[right == other] = one
    elif kind == 3:  # a component that is not named by its smallest
        name = right[some[0]]
        labels[right == name] = numpy.flatnonzero(right == name).max()
    else:
        labels[some] = some
    return labels


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_right_components_pass(ranks: int) -> None:
    for member in ZOO:
        csr = member.csr()
        labels = scipy_components(*csr).astype(numpy.uint32)
        expected = check_components(*csr, labels, symmetric=True)
        assert len(expected) == 4
        assert all(check.passed for check in expected)
        for threshold, piece in ((0, 1 << 24), (4, 5), (10**6, 64)):
            graph = partition(*csr, ranks=ranks, threshold=threshold)
            assert check_over_ranks(graph, labels, piece=piece) == expected


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("member", [PARTS, SKEWED], ids=lambda member: member.name)
def test_planted_faults_are_found_alike(member: ZooGraph, ranks: int) -> None:
    csr = member.csr()
    random = numpy.random.default_rng(ranks)
    right = scipy_components(*csr).astype(numpy.uint32)
    graphs = [partition(*csr, ranks=ranks, threshold=threshold) for threshold in (0, 3, 9)]
    broken: set[str] = set()
    for turn in range(40):
        labels = plant(right, random)
        expected = check_components(*csr, labels, symmetric=True)
        assert check_over_ranks(graphs[turn % 3], labels, piece=16) == expected
        broken |= {check.name for check in expected if not check.passed}
    # What was planted has to break every rule at least once, or the comparison says little.
    assert broken == {"ranges", "edges_agree", "smallest", "connected"}


def test_a_path_over_all_ranks_is_one_component() -> None:
    # Most arcs lead to another rank, and the forests of all have to be joined to see it.
    order = numpy.random.default_rng(3).permutation(500)
    path = ZooGraph("path", 500, order[:-1], order[1:])
    graph = partition(*fast_csr(path, symmetric=True), ranks=5, threshold=10)
    whole = numpy.zeros(500, numpy.uint32)
    assert all(check.passed for check in check_over_ranks(graph, whole, piece=37))
    halves = numpy.zeros(500, numpy.uint32)
    for half in (order[:250], order[250:]):
        halves[half] = half.min()
    assert [check.name for check in check_over_ranks(graph, halves) if not check.passed] == [
        "edges_agree",
        "connected",
    ]


def test_wide_labels_and_other_dtypes() -> None:
    offsets, columns = fast_csr(rmat(8), symmetric=True, index=numpy.uint64)
    labels = scipy_components(offsets, columns)
    graph = partition(offsets, columns, ranks=3, threshold=12)
    for dtype in (numpy.int32, numpy.int64, numpy.uint64):
        given = labels.astype(dtype)
        assert check_over_ranks(graph, given) == check_components(offsets, columns, given, symmetric=True)
    given = labels.astype(numpy.int64)
    given[[5, 9]] = -1
    (only,) = check_over_ranks(graph, given)
    assert (only.name, only.faults, only.vertices) == ("ranges", 2, (5, 9))


def test_labels_of_another_graph_are_refused() -> None:
    graph = partition(*PARTS.csr(), ranks=2, threshold=4)
    with pytest.raises(ValueError, match="component has shape"):
        check_over_ranks(graph, numpy.zeros(4, numpy.uint32))


def checker_on(place: Any, part_placed: Any = part_on_device) -> Any:
    """Make checkers of ranks whose arcs lie where `place` brings them."""
    from gravel.kernels.verify.ranks.components_cuda import RankLabelChecker as OnDevice

    return lambda part, delegates, *sizes: OnDevice(part_placed(part, place), place(delegates), *sizes)


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [1, 3])
def test_findings_on_a_gpu_are_those_of_the_whole_graph(ranks: int) -> None:
    import cupy

    random = numpy.random.default_rng(ranks)
    for csr in (PARTS.csr(), SKEWED.csr(), fast_csr(rmat(14, edge_factor=1), symmetric=True)):
        right = scipy_components(*csr).astype(numpy.uint32)
        wide = csr[0], csr[1].astype(numpy.uint64)
        graphs = [partition(*csr, ranks=ranks, threshold=threshold) for threshold in (0, 4, 10**6)]
        graphs.append(partition(*wide, ranks=ranks, threshold=4))
        for turn in range(20):
            labels = plant(right, random) if turn else right
            expected = check_components(*csr, labels, symmetric=True)
            given = cupy.asarray(labels)
            assert check_over_ranks(graphs[turn % 4], given, checker_on(cupy.asarray), piece=1000) == expected
