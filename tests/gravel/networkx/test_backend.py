"""What NetworkX sees of the backend: entry points, conversions and their cache, which calls it takes."""

import itertools
import subprocess
import sys
import time
import tomllib
import warnings
from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path

import networkx as nx
import numpy
import pytest

from gravel.networkx.backend import backend
from gravel.networkx.graph import GravelGraph
from gravel.networkx.limits import CROSSOVER
from tests.gravel.networkx.graphs import KINDS

ROOT = Path(__file__).parents[3]


@pytest.fixture
def ran(monkeypatch):
    """List the functions that the backend runs, in order."""
    names = []

    def listed(name):
        function = getattr(backend, name)

        def call(*args, **kwargs):
            names.append(name)
            return function(*args, **kwargs)

        return call

    names_of_calls = ["bfs_edges", "bfs_tree", "connected_components", "diameter", "has_path"]
    for name in (*names_of_calls, "shortest_path", "single_source_dijkstra_path"):
        monkeypatch.setattr(backend, name, listed(name), raising=False)
    return names


def large(kind=nx.path_graph):
    return kind(CROSSOVER["search"])


def test_the_entry_points_are_installed():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for group in ("networkx.backends", "networkx.backend_info"):
        (installed,) = entry_points(group=group, name="gravel")
        assert installed.value == stated[group]["gravel"]
        installed.load()


def test_importing_networkx_imports_nothing_heavy_of_the_backend():
    names = ("gravel.networkx.info", "numpy", "numba")
    code = f"import networkx, sys; print(*(name in sys.modules for name in {names}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]


def test_importing_gravel_imports_no_networkx():
    code = "import gravel, gravel.running, sys; print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_documentation_of_a_function_names_the_backend():
    assert "gravel : Compiled, parallel traversal" in nx.bfs_edges.__doc__
    assert "Without `sort_neighbors`" in nx.bfs_edges.__doc__


def test_a_conversion_is_kept_until_the_graph_changes(monkeypatch):
    conversions = []
    convert = GravelGraph.from_networkx.__func__
    monkeypatch.setattr(
        GravelGraph,
        "from_networkx",
        classmethod(lambda cls, *given: conversions.append(1) or convert(cls, *given)),
    )
    graph = nx.path_graph(5)
    for _ in range(3):
        assert list(nx.bfs_edges(graph, 0, backend="gravel"))[-1] == (3, 4)
        assert nx.diameter(graph, backend="gravel") == 4
    assert len(conversions) == 1
    graph.add_edge(0, 4)
    assert nx.diameter(graph, backend="gravel") == 2
    graph.remove_node(2)
    assert list(nx.bfs_layers(graph, 3, backend="gravel")) == [[3], [4], [0], [1]]
    graph.add_node("alone")
    assert nx.number_connected_components(graph, backend="gravel") == 2
    assert len(conversions) == 4


def test_a_view_follows_its_graph():
    graph = nx.path_graph(6)
    view = graph.subgraph(range(5))
    assert nx.diameter(view, backend="gravel") == 4
    graph.add_edge(0, 4)
    assert nx.diameter(view, backend="gravel") == 2
    directed = nx.path_graph(4, create_using=nx.DiGraph)
    turned = directed.reverse(copy=False)
    assert nx.descendants(turned, 3, backend="gravel") == {0, 1, 2}
    directed.remove_edge(1, 2)
    assert nx.descendants(turned, 3, backend="gravel") == {2}


def test_results_are_objects_of_python():
    graph = nx.cycle_graph(5)
    values = [
        nx.diameter(graph, backend="gravel"),
        nx.shortest_path_length(graph, 0, 2, backend="gravel"),
        nx.number_connected_components(graph, backend="gravel"),
        *nx.core_number(graph, backend="gravel").values(),
        *nx.eccentricity(graph, backend="gravel").values(),
        *nx.shortest_path(graph, 0, 2, backend="gravel"),
    ]
    assert {type(value) for value in values} == {int}
    assert type(nx.is_connected(graph, backend="gravel")) is bool
    assert type(nx.closeness_centrality(graph, 0, backend="gravel")) is float


def test_nodes_are_the_objects_of_the_graph():
    nodes = [("a", 1), "text", 2.5, frozenset([1]), 10**30]
    graph = nx.Graph(list(itertools.pairwise(nodes)))
    found = nx.shortest_path(graph, nodes[0], nodes[-1], backend="gravel")
    assert list(map(id, found)) == list(map(id, nodes))
    assert nx.has_path(nx.path_graph(3), 0.0, 2.0, backend="gravel")


def test_one_setting_sends_calls_to_gravel(ran):
    graph = nx.path_graph(CROSSOVER["pair"])
    with nx.config(backend_priority=["gravel"]):
        list(nx.bfs_edges(graph, 0))
        assert len(list(nx.connected_components(graph))) == 1
        list(nx.bfs_edges(graph, 0, sort_neighbors=sorted))  # NetworkX runs it
        nx.shortest_path(graph, 0, 5)
        nx.shortest_path(graph, 0, 5, weight=lambda u, v, data: 1)  # and this
        nx.single_source_dijkstra_path(graph, 0)
    assert ran == ["bfs_edges", "connected_components", "shortest_path", "single_source_dijkstra_path"]


def test_a_function_that_returns_a_graph_has_a_priority_of_its_own(ran):
    graph = large()
    with nx.config.backend_priority(generators=["gravel"], algos=["gravel"]):
        tree = nx.bfs_tree(graph, 0)
    assert ran == ["bfs_tree"]
    assert type(tree) is nx.DiGraph


def test_small_graphs_are_left_to_networkx(ran):
    with nx.config(backend_priority=["gravel"]):
        list(nx.bfs_edges(nx.path_graph(CROSSOVER["search"] - 1), 0))
        nx.diameter(nx.path_graph(CROSSOVER["all_pairs"] - 1))
        nx.has_path(large(), 0, 1)
    assert not ran


def test_reasons_are_given():
    graph = nx.path_graph(4)
    for name, named, reason in [
        ("shortest_path", {"weight": lambda u, v, data: 1}, "edge attributes"),
        ("shortest_path", {"weight": "length", "method": "bellman-ford"}, "Dijkstra's algorithm"),
        ("dijkstra_path", {"source": 0, "target": 1, "weight": None}, "no weights"),
        ("average_shortest_path_length", {"weight": "length"}, "edge weights"),
        ("bfs_edges", {"source": 0, "sort_neighbors": sorted}, "Python function"),
        ("eccentricity", {"sp": {}}, "nothing to search"),
        ("diameter", {"e": {}}, "nothing to search"),
        ("average_shortest_path_length", {"method": "floyd-warshall"}, "breadth-first"),
    ]:
        assert reason in backend.can_run(name, (graph,), named)
        with pytest.raises(NotImplementedError, match="for the given arguments"):
            getattr(nx, name)(graph, **named, backend="gravel")
    several = nx.MultiGraph([(0, 1), (0, 1)])
    assert "parallel edges" in backend.can_run("edge_betweenness_centrality", (several,), {})
    assert "4 nodes" in backend.should_run("bfs_edges", (graph, 0), {})
    assert "not converted" in backend.should_run("has_path", (large(), 0, 1), {})
    assert "not converted" in backend.should_run("bfs_edges", (large(), 0), {"depth_limit": 2})
    assert backend.should_run("bfs_edges", (large(), 0), {}) is True
    assert backend.can_run("bfs_edges", (), {"G": graph, "source": 0}) is True


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ([1, -2], "is -2;"),
        ([0.5, float("nan")], "is nan;"),
        ([1, None], "NoneType"),
        ([1, Fraction(1, 3)], "Fraction"),
        ([1, numpy.float32(0.1)], "float32"),
        ([1 << 62, 1 << 62], "too large"),
        ([0.5, (1 << 53) + 1], "too large"),
    ],
)
def test_weights_that_networkx_alone_can_add(weights, reason):
    for kind in KINDS:
        graph = kind()
        for i, weight in enumerate(weights):
            graph.add_edge(i, i + 1, length=weight)
        assert reason in backend.can_run("dijkstra_path", (graph, 0, 2, "length"), {})
        with pytest.raises(NotImplementedError, match=reason):
            backend.convert_from_nx(graph, edge_attrs={"length": 1})


def test_weights_are_converted_once_and_with_what_changes():
    graph = nx.cycle_graph(4)
    graph[0][1]["length"] = 9
    assert nx.shortest_path(graph, 0, 1, weight="length", backend="gravel") == [0, 3, 2, 1]
    assert nx.dijkstra_path_length(graph, 0, 1, weight="length", backend="gravel") == 3
    assert nx.dijkstra_path_length(graph, 0, 1, weight="other", backend="gravel") == 1
    assert nx.shortest_path(graph, 0, 1, backend="gravel") == [0, 1]
    assert len(graph.__networkx_cache__["backends"]["gravel"]) == 2  # neither is converted for no weights
    graph.add_edge(0, 1, length=2)
    assert nx.shortest_path(graph, 0, 1, weight="length", backend="gravel") == [0, 1]


def test_an_infinite_weight_is_an_edge():
    graph = nx.Graph()
    graph.add_edge(0, 1, length=float("inf"))
    assert nx.dijkstra_path(graph, 0, 1, weight="length", backend="gravel") == [0, 1]
    found = nx.single_source_dijkstra_path_length(graph, 0, weight="length", backend="gravel")
    assert found == {0: 0, 1: float("inf")}


def test_a_converted_graph_is_searched_for_a_single_path():
    graph = nx.path_graph(CROSSOVER["pair"])
    assert backend.should_run("shortest_path", (graph, 0, 1), {}) is not True
    nx.number_connected_components(graph, backend="gravel")
    assert backend.should_run("shortest_path", (graph, 0, 1), {}) is True


def test_a_conversion_counts_if_it_has_the_weight_or_none_is_asked_for():
    graph = nx.path_graph(CROSSOVER["pair"])
    nx.set_edge_attributes(graph, 2, "length")

    def runs(*arguments, **given):
        return backend.should_run("shortest_path", arguments, given) is True

    def keep(*weights):
        graph.__networkx_cache__["backends"] = {
            "gravel": {str(each): GravelGraph.from_networkx(graph, each) for each in weights}
        }

    keep({})
    assert runs(graph, 0, 1)
    assert not runs(graph, 0, 1, weight="length")
    keep({"length": 1})
    assert runs(graph, 0, 1)
    assert runs(graph, 0, 1, weight="length")
    keep({}, {"length": 1})
    assert runs(graph, 0, 1, weight="length")
    keep({}, {"other": 1})
    assert runs(graph, 0, 1)
    assert not runs(graph, 0, 1, weight="length")


def test_a_graph_that_finds_neighbours_otherwise_is_left_to_networkx():
    class Complement(nx.Graph):
        def __getitem__(self, node):
            return {other: {} for other in self if other not in self._adj[node] and other != node}

    assert "Complement" in backend.can_run("bfs_edges", (Complement([(0, 1)]), 0), {})

    class Named(nx.DiGraph):
        name_of_owner = "someone"

    assert backend.can_run("bfs_edges", (Named([(0, 1)]), 0), {}) is True


def test_a_graph_of_the_backend_is_searched_and_converted_back():
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        graph = kind([("a", "b"), ("b", "c"), ("c", "c"), ("d", "a")])
        graph.add_node("alone")
        converted = backend.convert_from_nx(graph)
        assert list(nx.bfs_edges(converted, "a")) == list(nx.bfs_edges(graph, "a", backend="networkx"))
        back = converted.to_networkx()
        assert type(back) is kind
        assert nx.utils.graphs_equal(back, graph)


def test_weights_are_never_lost_on_the_way_back():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 9), ("b", "c", 1), ("a", "c", 1)])
    converted = backend.convert_from_nx(graph)
    with nx.config(fallback_to_nx=True):
        for call in (
            lambda: nx.shortest_path(converted, "a", "b", weight="weight"),
            lambda: nx.minimum_spanning_tree(converted),
        ):
            with pytest.raises(nx.NetworkXError, match="the graph that it was made from"):
                call()
    with pytest.raises(NotImplementedError):
        nx.shortest_path(converted, "a", "b", weight="weight")


def test_a_directed_graph_is_refused_by_undirected_functions_and_the_other_way_round():
    directed, undirected = nx.DiGraph([(0, 1)]), nx.Graph([(0, 1)])
    for name in ("connected_components", "is_connected", "number_connected_components"):
        with pytest.raises(nx.NetworkXNotImplemented, match="directed"):
            getattr(nx, name)(directed, backend="gravel")
    for name in ("weakly_connected_components", "is_weakly_connected", "strongly_connected_components"):
        with pytest.raises(nx.NetworkXNotImplemented, match="undirected"):
            getattr(nx, name)(undirected, backend="gravel")
    with pytest.raises(nx.NetworkXNotImplemented, match="multigraph"):
        nx.core_number(nx.MultiGraph([(0, 1)]), backend="gravel")


def test_deprecations_are_those_of_networkx():
    graph = nx.path_graph(3)
    warned = []
    for backend_name in ("gravel", "networkx"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert list(nx.bfs_predecessors(graph, 0, backend=backend_name)) == [(1, 0), (2, 1)]
        warned.append([(each.category, str(each.message).strip(), each.filename) for each in caught])
    assert warned[0] == warned[1]
    assert len(warned[0]) == (nx.__version__ >= "3.7")


def test_a_search_goes_on_with_the_graph_that_it_started_with():
    graph = nx.path_graph(4)
    edges = nx.bfs_edges(graph, 0, backend="gravel")
    first = next(edges)
    graph.remove_node(3)
    assert [first, *edges] == [(0, 1), (1, 2), (2, 3)]
    assert list(nx.bfs_edges(graph, 0, backend="gravel")) == [(0, 1), (1, 2)]


def test_dispatching_costs_less_than_50_microseconds():
    graph = nx.path_graph(100)
    converted = backend.convert_from_nx(graph)

    def seconds(function, *args, **kwargs):
        function(*args, **kwargs)
        taken = []
        for _ in range(300):
            began = time.perf_counter()
            function(*args, **kwargs)
            taken.append(time.perf_counter() - began)
        return min(taken)

    dispatched = seconds(nx.has_path, graph, 0, 5, backend="gravel")
    assert dispatched - seconds(backend.has_path, converted, 0, 5) < 50e-6
