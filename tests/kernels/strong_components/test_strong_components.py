"""Strongly connected components: SciPy's on every small graph, with smallest vertices as labels."""

import numpy
import pytest
from scipy.sparse import csgraph, csr_array

from gravel.kernels.csr import build
from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.strategy import strategies_in
from gravel.kernels.strong_components import PACKAGE, strong_components
from tests.zoo import zoo

STRATEGIES = sorted(name for name, each in strategies_in(PACKAGE).items() if each.cpu)


def both_rows(graph, index=numpy.uint32):
    """Return rows of successors and of predecessors."""
    offsets, columns = graph.csr(symmetric=False, index=index)
    return (offsets, columns, *turned(offsets, columns))


def turned(offsets, columns):
    n = len(offsets) - 1
    rows = numpy.repeat(numpy.arange(n, dtype=columns.dtype), numpy.diff(offsets))
    return build(columns, rows, n, direction="as_given", keep_duplicates=True, keep_loops=True)[:2]


def expected(offsets, columns):
    """SciPy's components, each with its smallest vertex."""
    n = len(offsets) - 1
    if n == 0:
        return numpy.zeros(0, columns.dtype)
    matrix = csr_array(
        (numpy.ones(len(columns), numpy.int8), columns.astype(numpy.int64), offsets), shape=(n, n)
    )
    _, label = csgraph.connected_components(matrix, connection="strong")
    smallest = numpy.full(label.max() + 1, n)
    numpy.minimum.at(smallest, label, numpy.arange(n))
    return smallest[label].astype(columns.dtype)


def random_graphs():
    """Yield rows of sparse graphs, with loops and repeated arcs."""
    for seed in range(60):
        random = numpy.random.default_rng(seed)
        n = int(random.integers(1, 60))
        m = int(random.integers(0, 3 * n))
        source, target = random.integers(0, n, m), random.integers(0, n, m)
        order = numpy.lexsort([target, source])
        offsets = numpy.zeros(n + 1, numpy.int64)
        numpy.cumsum(numpy.bincount(source, minlength=n), out=offsets[1:])
        yield offsets, target[order].astype(numpy.uint32)


def chain_of_cycles(count, length, seed):
    """Return cycles of which each has an arc to the next, with vertices in random order."""
    places = numpy.random.default_rng(seed).permutation(count * length)
    arcs = []
    for cycle in range(count):
        first = cycle * length
        arcs += [(first + i, first + (i + 1) % length) for i in range(length)]
        if cycle + 1 < count:
            arcs.append((first, first + length))
    source, target = places[numpy.array(arcs)].T
    return build(
        source.astype(numpy.uint32), target.astype(numpy.uint32), count * length, direction="as_given"
    )[:2]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("graph", list(zoo()), ids=lambda graph: graph.name)
def test_small_graphs(graph, strategy):
    for index in (numpy.uint32, numpy.uint64):
        rows = both_rows(graph, index)
        found = strong_components(*rows, strategy=strategy)
        assert found.component.dtype == index
        numpy.testing.assert_array_equal(found.component, expected(*rows[:2]))
        assert found.strategy == strategy


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_graphs(strategy):
    for rows in random_graphs():
        found = strong_components(*rows, *turned(*rows), strategy=strategy)
        numpy.testing.assert_array_equal(found.component, expected(*rows))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("count", "length"), [(200, 2), (3, 50), (40, 5)])
def test_cycles_in_a_chain(count, length, strategy):
    rows = chain_of_cycles(count, length, count)
    found = strong_components(*rows, *turned(*rows), strategy=strategy).component
    assert len(numpy.unique(found)) == count
    numpy.testing.assert_array_equal(found, expected(*rows))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_predecessors_may_be_left_out(strategy):
    for rows in random_graphs():
        found = strong_components(*rows, strategy=strategy).component
        numpy.testing.assert_array_equal(found, expected(*rows))
    for given, made in zip(turned(*rows), reversed_rows(*rows)[:2], strict=True):
        numpy.testing.assert_array_equal(given, made)


def test_what_is_refused():
    rows = chain_of_cycles(2, 3, 1)
    with pytest.raises(ValueError, match=r"unknown strategy 'afforest' .* forward_backward, tarjan"):
        strong_components(*rows, *turned(*rows), strategy="afforest")
    with pytest.raises(ValueError, match="both are of one graph"):
        strong_components(*rows, *turned(*chain_of_cycles(3, 3, 1)), strategy="forward_backward")
