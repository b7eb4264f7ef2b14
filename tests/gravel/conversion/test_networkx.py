"""A NetworkX graph as rows: in its order, with every kind of node."""

import itertools
from fractions import Fraction

import networkx as nx
import numpy
import pytest

from gravel.conversion.networkx import is_range, nodes_of, rows_of


def lists(rows):
    offsets, columns = rows
    return [columns[begin:end].tolist() for begin, end in itertools.pairwise(offsets)]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize(
    "name",
    [
        int,
        str,
        lambda i: (i, "x"),
        lambda i: 7 - 2 * i,
        lambda i: i * 10**17 - 10**18,
        lambda i: 10**30 + i,
        lambda i: i / 10,
        lambda i: (-(2**63), 2**63 - 1, 0, 5, -7, 1)[i],
    ],
)
def test_rows_keep_the_order_of_the_adjacency(kind, name):
    edges = [(3, 1), (0, 2), (2, 2), (1, 0), (3, 0), (3, 1), (4, 3)]
    graph = kind()
    graph.add_nodes_from(map(name, range(6)))
    graph.add_edges_from((name(u), name(v)) for u, v in edges)
    nodes = nodes_of(graph)
    assert nodes == list(graph)
    place = {node: i for i, node in enumerate(nodes)}
    rows = rows_of(graph, nodes)
    assert (rows.row_offsets.dtype, rows.column_indices.dtype) == (numpy.int64, numpy.uint32)
    assert lists(rows) == [[place[v] for v in graph[u]] for u in nodes]
    before = graph.predecessors if graph.is_directed() else graph.neighbors
    assert lists(rows_of(graph, reverse=True)) == [[place[v] for v in before(u)] for u in nodes]


def test_views_are_converted_as_they_look():
    graph = nx.path_graph(5, create_using=nx.DiGraph)
    assert lists(rows_of(graph.subgraph([0, 1, 3, 4]))) == [[1], [], [3], []]
    assert lists(rows_of(graph.reverse(copy=False))) == [[], [0], [1], [2], [3]]
    assert lists(rows_of(graph.to_undirected(as_view=True)))[2] == [1, 3]
    several = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    view = nx.subgraph_view(several, filter_edge=lambda u, v, key: key == 1)
    assert lists(rows_of(view)) == [[1], [0], []]


@pytest.mark.parametrize(
    ("nodes", "answer"),
    [([], True), ([0, 1, 2], True), ([1, 0], False), ([False, True], False), ([0, 1.0], False), ([1], False)],
)
def test_only_ascending_integers_from_0_are_their_own_vertices(nodes, answer):
    assert is_range(nodes) is answer
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    assert lists(rows_of(graph)) == [[]] * len(nodes)


@pytest.mark.parametrize("same", [1.0, True, Fraction(1), complex(1), numpy.int64(1), numpy.float32(1)])
@pytest.mark.parametrize("first", [0, 1])
def test_a_neighbour_that_equals_a_node_is_that_node(same, first):
    graph = nx.Graph()
    graph.add_nodes_from(range(first, first + 3))
    graph.add_edge(same, 2)
    expected = [[] for _ in range(3)]
    expected[1 - first], expected[2 - first] = [2 - first], [1 - first]
    assert lists(rows_of(graph)) == expected
