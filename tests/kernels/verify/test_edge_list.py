"""A tree checked against the list of edges: each rule by a fault of its own, edges counted by hand."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.verify import edge_list
from gravel.kernels.verify.edge_list import ListCheck, check_with_list, levels_along

# A component 0-1-2-3 with 0-1 three times, once turned round, loops at 2 twice, and 0-2; another one 4-5 with
# a loop at 5; 6 alone with a loop, 7 with nothing.
EDGES = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 2), (2, 2), (2, 3), (0, 2), (4, 5), (5, 5), (6, 6)]
TREE = [-1, 0, 0, 2, -1, -1, -1, -1]


def check(predecessor: list[int], root: int = 0, edges: list[tuple[int, int]] = EDGES) -> ListCheck:
    ends = numpy.array(edges, numpy.uint32).T
    return check_with_list(ends[0].copy(), ends[1].copy(), root, numpy.array(predecessor, numpy.int32))


def broken(found: ListCheck) -> dict[str, int]:
    return {each.name: each.faults for each in found.checks if not each.passed}


@pytest.fixture(autouse=True, params=[1, 1 << 20])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look the list up edge by edge, and at once."""
    monkeypatch.setitem(edge_list.EDGES_AT_ONCE, "cpu", request.param)


@pytest.mark.parametrize(
    ("root", "tree", "edges"),
    [
        (0, TREE, 8),  # multiple edges and loops count each time
        (3, [2, 2, 3, -1, -1, -1, -1, -1], 8),
        (4, [-1, -1, -1, -1, -1, 4, -1, -1], 2),
        (6, [-1] * 8, 1),
        (7, [-1] * 8, 0),
    ],
)
def test_a_right_tree_passes_and_the_edges_of_its_component_are_counted(
    root: int, tree: list[int], edges: int
) -> None:
    found = check(tree, root)
    assert broken(found) == {}
    assert [each.name for each in found.checks] == [
        "ranges", "source", "tree", "edge_levels", "component", "tree_edges",
    ]  # fmt: skip
    assert found.edges == edges


def test_wide_numbers() -> None:
    ends = numpy.array(EDGES, numpy.uint64).T
    found = check_with_list(ends[0].copy(), ends[1].copy(), 0, numpy.array(TREE, numpy.int64))
    assert (broken(found), found.edges) == ({}, 8)


def test_levels_are_steps_along_the_tree() -> None:
    tree = numpy.array([2, 2, 3, -1, 5, 4, -1, -1], numpy.int32)
    assert levels_along(tree, 3).tolist() == [2, 2, 1, 0, -1, -1, -1, -1]


def test_a_cycle_is_no_tree() -> None:
    found = check([-1, 0, 0, 2, 5, 4, -1, -1])
    assert broken(found) == {"tree": 2}
    assert next(each for each in found.checks if each.name == "tree").vertices == (4, 5)


def test_levels_too_far_apart() -> None:
    # 0-1-2-3 as a path misses the edge 0-2, whose ends differ by two levels.
    found = check([-1, 0, 1, 2, -1, -1, -1, -1])
    assert broken(found) == {"edge_levels": 1}
    assert next(each for each in found.checks if each.name == "edge_levels").arcs == ((0, 2),)


def test_a_component_that_is_not_spanned() -> None:
    found = check([-1, 0, 0, -1, -1, -1, -1, -1])
    assert broken(found) == {"component": 1}
    assert next(each for each in found.checks if each.name == "component").arcs == ((2, 3),)


def test_a_tree_edge_that_is_not_in_the_list() -> None:
    found = check([-1, 0, 0, 1, -1, -1, -1, -1])
    assert broken(found) == {"tree_edges": 1}
    assert next(each for each in found.checks if each.name == "tree_edges").vertices == (3,)


def test_numbers_that_are_no_vertices_end_the_check() -> None:
    found = check([-1, 0, 8, -2, -1, -1, -1, -1])
    assert broken(found) == {"ranges": 2}
    assert (found.levels, found.edges) == (None, None)


def test_a_source_with_a_predecessor() -> None:
    assert "source" in broken(check([1, 0, 0, 2, -1, -1, -1, -1]))
