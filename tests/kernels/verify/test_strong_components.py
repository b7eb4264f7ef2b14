"""The checks of strongly connected components: they pass what SciPy finds, and tell each kind of fault."""

import numpy
import pytest

from gravel.kernels.verify.strong_components import RULES, check_strong_components
from tests.kernels.strong_components.test_strong_components import (
    both_rows,
    chain_of_cycles,
    expected,
    random_graphs,
)
from tests.zoo import zoo


def broken(rows, component):
    """Return the rules that labels break."""
    checks = check_strong_components(*rows, component)
    return {check.name for check in checks if not check.passed}


@pytest.mark.parametrize("graph", list(zoo()), ids=lambda graph: graph.name)
def test_what_is_right_passes(graph):
    rows = both_rows(graph)
    checks = check_strong_components(*rows[:2], expected(*rows[:2]))
    assert [check.name for check in checks] == list(RULES)
    assert all(check.passed for check in checks)


def test_any_other_labels_fail():
    chosen = numpy.random.default_rng(3)
    for rows in random_graphs():
        right = expected(*rows)
        assert not broken(rows, right)
        n = len(right)
        for _ in range(20):
            wrong = right.copy()
            wrong[chosen.integers(0, n)] = chosen.integers(0, n)
            if (wrong != right).any():
                assert broken(rows, wrong)


def test_each_fault_is_told():
    rows = chain_of_cycles(3, 4, 2)
    right = expected(*rows).astype(numpy.int64)
    assert broken(rows, numpy.full(12, 12)) == {"ranges"}
    assert broken(rows, numpy.full(12, -1)) == {"ranges"}
    assert "smallest" in broken(rows, numpy.where(right == right.max(), 11, right))
    # Each vertex alone: the arcs of a cycle lead from label to label.
    assert broken(rows, numpy.arange(12)) == {"acyclic"}
    # All in one: the last cycle does not reach the first.
    assert broken(rows, numpy.zeros(12, numpy.int64)) & {"from_label", "to_label"}
    path = numpy.array([0, 1, 1], numpy.int64), numpy.array([1], numpy.uint32)
    assert broken(path, numpy.array([0, 0])) == {"to_label"}
    back = numpy.array([0, 0, 1], numpy.int64), numpy.array([0], numpy.uint32)
    assert broken(back, numpy.array([0, 0])) == {"from_label"}
    with pytest.raises(ValueError, match="the graph has 12 vertices"):
        broken(rows, right[:5])
