"""Checks of shortest paths: what is right passes, and each rule finds what breaks it."""

import numpy
import pytest

from gravel.kernels.sssp import sssp
from gravel.kernels.verify.sssp import check_sssp, skipped_sssp_checks
from tests.kernels.sssp_case import random_graph, special, weighted

PATH = weighted("path", 5, [(0, 1), (1, 2), (0, 2), (3, 4)], numpy.array([2, 3, 7, 1], numpy.uint32))


def broken(graph, source, distance, predecessor):
    return {
        check.name: check
        for check in check_sssp(*graph.rows, source, distance, predecessor)
        if not check.passed
    }


@pytest.mark.parametrize("graph", [*special(), *map(random_graph, range(60))], ids=str)
def test_what_is_right_passes(graph):
    found = sssp(*graph.rows, 0)
    checks = check_sssp(*graph.rows, 0, found.distance, found.predecessor)
    names = ["ranges", "source", "tree", "tree_arcs", "relaxed", "component"]
    assert [check.name for check in checks] == names
    assert not [check for check in checks if not check.passed]
    assert not broken(graph, 0, found.distance, None)


@pytest.mark.parametrize(
    ("vertex", "distance", "predecessor", "rules"),
    [
        (1, -2, 0, {"ranges"}),
        (1, 2, 9, {"ranges"}),
        (0, 1, -1, {"source", "tree_arcs"}),
        (0, 0, 1, {"source", "tree", "tree_arcs"}),
        (2, 7, 0, {"relaxed"}),
        (2, 4, 1, {"tree_arcs"}),
        (2, 5, 0, {"tree_arcs"}),
        (2, 5, -1, {"tree"}),
        (2, -1, -1, {"component"}),
        (3, 5, 2, {"tree_arcs", "component"}),
        (2, 5, 2, {"tree", "tree_arcs"}),
    ],
)
def test_each_rule_finds_what_breaks_it(vertex, distance, predecessor, rules):
    right = sssp(*PATH.rows, 0)
    assert right.distance.tolist() == [0, 2, 5, -1, -1]
    assert right.predecessor.tolist() == [-1, 0, 1, -1, -1]
    right.distance[vertex], right.predecessor[vertex] = distance, predecessor
    found = broken(PATH, 0, right.distance, right.predecessor)
    # A root that is one of a cycle is not told from one that is not.
    assert rules - {"tree"} <= set(found) <= rules | {"tree"}
    assert ("tree" in found) == ("tree" in rules) or vertex == 0


def test_offenders_are_named():
    right = sssp(*PATH.rows, 0)
    right.distance[2], right.predecessor[2] = 7, 0
    assert broken(PATH, 0, right.distance, right.predecessor)["relaxed"].arcs == ((1, 2),)
    right.distance[2], right.predecessor[2] = 6, 1
    assert broken(PATH, 0, right.distance, right.predecessor)["tree_arcs"].arcs == ((1, 2),)
    right.distance[2], right.predecessor[2] = -1, -1
    assert broken(PATH, 0, right.distance, right.predecessor)["component"].arcs == ((0, 2), (1, 2))


def test_floats_that_are_not_numbers():
    graph = weighted("", 2, [(0, 1)], numpy.array([0.5], numpy.float32))
    for wrong in (numpy.nan, -numpy.inf, -0.5):
        assert set(broken(graph, 0, numpy.array([0, wrong]), numpy.array([-1, 0]))) == {"ranges"}


def test_what_does_not_belong_together():
    rows = PATH.rows
    labels = numpy.zeros(5, numpy.int32)
    for arrays, source, distance, message in (
        (rows, 0, labels[:3], "5 vertices"),
        (rows, 5, labels, "source 5"),
        ((*rows[:2], rows[2][:1]), 0, labels, "1 weights and 4 arcs"),
    ):
        with pytest.raises(ValueError, match=message):
            check_sssp(*arrays, source, distance, None)
    assert [each["check"] for each in skipped_sssp_checks(predecessor=False)] == ["tree", "tree_arcs"]
    assert skipped_sssp_checks(predecessor=True) == []
