"""Strongly connected components of a graph: SciPy's, in every order and under the caller's ids."""

import numpy
import pytest
from scipy.sparse.csgraph import connected_components

import gravel
from gravel.kernels.ids.distinct import distinct
from tests.gravel.samples import matrix, parts, parts_of, random_edges

ENDS = random_edges(seed=2, vertices=500, edges=900)


def strong_parts(ends):
    _, labels = connected_components(matrix(ends), connection="strong")
    occur = distinct(numpy.concatenate(ends))
    return {frozenset(int(v) for v in occur if labels[v] == label) for label in set(labels[occur])}


@pytest.fixture(scope="module")
def graph():
    return gravel.graph(ENDS, directed=True, backend="cpu")


@pytest.mark.parametrize("strategy", ["auto", "tarjan", "forward_backward"])
def test_components_are_those_of_scipy(graph, strategy):
    found = graph.components(connection="strong", strategy=strategy)
    assert parts_of(found) == strong_parts(ENDS)
    assert found.count > len(parts(ENDS))
    assert found.strategy == ("tarjan" if strategy == "auto" else strategy)
    first = found.component.to_numpy()
    assert (first <= graph.vertices.to_numpy()).all()


@pytest.mark.parametrize("arrange", [lambda g: g.reorder("rcm"), lambda g: g.place("host")])
def test_the_order_of_the_rows_does_not_matter(graph, arrange):
    assert parts_of(arrange(graph).components(connection="strong")) == strong_parts(ENDS)


def test_ids_of_any_kind():
    names = numpy.array(["ada", "bob", "cleo", "dan"])
    arcs = numpy.array([[0, 1], [1, 2], [2, 0], [2, 3]])
    made = gravel.graph((names[arcs[:, 0]], names[arcs[:, 1]]), directed=True, backend="cpu")
    found = made.components(connection="strong")
    assert parts_of(found) == {frozenset({"ada", "bob", "cleo"}), frozenset({"dan"})}
    assert made.components().count == 1


def test_of_an_undirected_graph_they_are_the_components():
    made = gravel.graph(ENDS, backend="cpu")
    assert parts_of(made.components(connection="strong")) == parts(ENDS)


def test_what_is_refused(graph):
    with pytest.raises(ValueError, match="connection is 'both'; it can be 'weak', 'strong'"):
        graph.components(connection="both")
    with pytest.raises(ValueError, match=r"unknown strategy 'afforest' .* forward_backward, tarjan"):
        graph.components(connection="strong", strategy="afforest")
    with pytest.raises(ValueError, match="the graph is compressed"):
        graph.compress().components(connection="strong")


def test_a_graph_without_vertices():
    empty = numpy.zeros(0, numpy.int64)
    made = gravel.graph((empty, empty), directed=True, backend="cpu")
    assert made.components(connection="strong").count == 0
