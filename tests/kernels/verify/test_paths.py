"""Ranks that check their own weighted arcs find what the verifier of the whole graph does."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition import PartitionedGraph
from gravel.kernels.sssp import sssp
from gravel.kernels.verify import Check
from gravel.kernels.verify.ranks.paths import check_paths_program
from gravel.kernels.verify.ranks.paths_cpu import RankPathChecker
from gravel.kernels.verify.sssp import check_sssp
from tests.kernels.partition.weighted_case import drawn, weighted_partition
from tests.kernels.verify.sssp_damage import DAMAGES, damaged


def check_over_ranks(graph: PartitionedGraph, source: int, distance: Any, predecessor: Any) -> list[Check]:
    exact = numpy.float64 if distance.dtype.kind == "f" else numpy.int64

    def program(end: Any) -> Any:
        own = [
            None if each is None else each[end.rank :: graph.ranks].copy() for each in (distance, predecessor)
        ]
        part = graph.parts[end.rank]
        rank = RankPathChecker(part, graph.delegates, graph.vertex_count, graph.ranks, exact)
        return check_paths_program(end, rank, source, own[0], own[1], piece=7)

    found = run_in_lock_step(program, graph.ranks)
    assert all(checks == found[0] for checks in found)
    return found[0]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_right_searches_pass(ranks: int) -> None:
    for seed in range(18):
        graph = drawn(seed)
        found = sssp(*graph.rows, 0)
        for threshold in (0, 4, 10**6):
            split = weighted_partition(graph, ranks, threshold)
            for tree in (found.predecessor, None):
                checks = check_over_ranks(split, 0, found.distance, tree)
                assert checks == check_sssp(*graph.rows, 0, found.distance, tree)
                assert all(check.passed for check in checks)


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_each_damage_is_found_as_on_one_machine(ranks: int) -> None:
    seen, broken = set(), set()
    for seed in range(36):
        graph = drawn(seed)
        splits = [weighted_partition(graph, ranks, threshold) for threshold in (0, 4, 10**6)]
        for name, (distance, predecessor) in damaged(graph, 0, seed):
            for tree in (predecessor, None):
                expected = check_sssp(*graph.rows, 0, distance, tree)
                for split in splits:
                    assert check_over_ranks(split, 0, distance, tree) == expected, name
                broken |= {check.name for check in expected if not check.passed}
            seen.add(name)
    assert seen == {"", *DAMAGES}
    assert broken == {"ranges", "source", "tree", "tree_arcs", "relaxed", "component"}


def test_a_part_without_weights_is_refused() -> None:
    graph = drawn(1)
    part = weighted_partition(graph, 1, 4)
    plain = part.parts[0].__class__(**{**vars(part.parts[0]), "weights": {}})
    with pytest.raises(ValueError, match="the graph has no weights, by which"):
        RankPathChecker(plain, part.delegates, part.vertex_count, 1, numpy.int64)
