"""Cuthill-McKee orders, which NetworkX has and does not dispatch."""

import networkx as nx
import pytest

from gravel.networkx.backend import backend
from gravel.networkx.ordering import cuthill_mckee_ordering, reverse_cuthill_mckee_ordering


def bandwidth(graph, order):
    place = {node: i for i, node in enumerate(order)}
    return max((abs(place[u] - place[v]) for u, v in graph.edges()), default=0)


def test_networkx_does_not_dispatch_them():
    assert not hasattr(nx.utils.reverse_cuthill_mckee_ordering, "orig_func")


@pytest.mark.parametrize("seed", range(6))
def test_the_bandwidth_is_about_that_of_networkx(seed):
    graph = nx.convert_node_labels_to_integers(nx.random_geometric_graph(120, 0.16, seed=seed))
    graph = nx.relabel_nodes(graph, {node: f"node {node * 7919 % 120}" for node in graph})
    order = list(reverse_cuthill_mckee_ordering(graph))
    assert sorted(order) == sorted(graph)
    theirs = bandwidth(graph, list(nx.utils.reverse_cuthill_mckee_ordering(graph)))
    assert bandwidth(graph, order) <= 1.5 * theirs + 2
    assert list(cuthill_mckee_ordering(graph)) == order[::-1]
    assert list(cuthill_mckee_ordering(backend.convert_from_nx(graph))) == order[::-1]


def test_components_follow_one_another():
    graph = nx.disjoint_union_all([nx.path_graph(4), nx.empty_graph(1), nx.cycle_graph(5)])
    order = list(cuthill_mckee_ordering(graph))
    assert [set(order[:4]), set(order[4:5]), set(order[5:])] == list(nx.connected_components(graph))


def test_a_start_that_is_given_is_that_of_networkx():
    graph = nx.path_graph(6)
    order = cuthill_mckee_ordering(backend.convert_from_nx(graph), heuristic=lambda graph: 3)
    assert next(order) == 3
    assert list(reverse_cuthill_mckee_ordering(graph, heuristic=lambda graph: 5)) == [0, 1, 2, 3, 4, 5]


def test_a_directed_graph_is_refused():
    with pytest.raises(nx.NetworkXNotImplemented):
        reverse_cuthill_mckee_ordering(nx.DiGraph([(0, 1)]))


def test_a_graph_without_nodes_has_an_order():
    assert list(reverse_cuthill_mckee_ordering(nx.Graph())) == []
