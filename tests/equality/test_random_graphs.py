"""Random graphs give what SciPy, igraph and NetworkX find, and the table of comparisons sees what differs."""

from __future__ import annotations

import numpy
import pytest

from tests.equality.random_graphs import compare_random, random_graph
from tests.equality.table import Table

GRAPHS, PARTS = 100, 2


@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs_give_what_peers_find(part):
    table = Table()
    compare_random(table, GRAPHS // PARTS, part * (GRAPHS // PARTS))
    assert sum(row.values for row in table.rows.values()) > 100_000
    assert table.different() == []


def test_random_graphs_have_what_is_hard():
    drawn = [random_graph(seed) for seed in range(GRAPHS)]
    for directed in (False, True):
        some = [each for each in drawn if each.directed == directed]
        keys = [each.source * each.count + each.target for each in some]
        assert sum(len(numpy.unique(key)) < len(key) for key in keys) > 25  # parallel edges
        assert sum((each.source == each.target).any() for each in some) > 12  # self-loops
        assert sum((each.weights == 0).any() for each in some) > 25
        assert sum(len(numpy.unique(each.source)) < each.count for each in some) > 25
        assert {each.weights.dtype.kind for each in some} == {"i", "f"}
        assert {each.merge for each in some} == {"minimum", "sum"}


@pytest.mark.parametrize(
    ("found", "expected", "differs"),
    [
        ([1, -1], [1, numpy.inf], False),
        ([1, 2], [1, 3], True),
        ([1, -1], [1, 2], True),
        ([1.0], [1.0 + 1e-13], False),
        ([1.0], [1.0 + 1e-11], True),
        ([numpy.nan], [1.0], True),
        ([1e-300], [0.0], True),
    ],
)
def test_the_table_sees_differences(found, expected, differs):
    table = Table()
    table.compare("graph", "measure", "peer", found, expected, 1e-12)
    assert bool(table.different()) == differs
