"""Every function returns, in its order, and raises what NetworkX does, whichever thread calls it."""

import random
from functools import partial

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.networkx.backend import backend
from gravel.networkx.info import MODULE_OF
from tests.gravel.asked import answered
from tests.gravel.networkx.graphs import KINDS, NAMES, calls, connected, graph, outcome, same


def check(made, seed):
    for name, positional, named in calls(made, seed):
        if named.get("v") is not None and hasattr(named["v"], "__next__"):
            given = list(named["v"])
            ways = ({"v": iter(given)}, {"v": iter(given)})
        else:
            ways = (named, named)
        found, expected = (
            outcome(name, made, positional, way, backend)
            for way, backend in zip(ways, ("gravel", "networkx"), strict=True)
        )
        assert same(name, found, expected), (name, positional, named, list(made), list(made.edges()))


def test_every_function_is_called():
    named = {name for kind in KINDS for name, _, _ in calls(kind([(0, 1)]), 0)}
    assert named == set(MODULE_OF)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("made", [graph, connected])
@settings(max_examples=12, deadline=None)
@given(
    names=st.sampled_from(sorted(NAMES)),
    nodes=st.integers(0, 14),
    edges=st.integers(0, 30),
    seed=st.integers(0, 1 << 30),
)
def test_small_graphs(kind, made, names, nodes, edges, seed):
    if nodes or made is graph:
        check(made(kind, names, nodes, edges, seed), seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_with_more_than_a_batch_of_nodes(kind):
    made = connected(kind, "text", 70, 140, 5)  # 64 are searched from at once
    slow = {"all_pairs_all_shortest_paths"}
    for name, positional, named in calls(made, 3):
        if name not in slow and named.get("v") is None:
            found, expected = (outcome(name, made, positional, named, way) for way in ("gravel", "networkx"))
            assert same(name, found, expected), (name, positional, named)


@pytest.mark.parametrize(
    "made",
    [
        nx.path_graph(300),
        nx.cycle_graph(201),
        nx.star_graph(100),
        nx.balanced_tree(2, 6),
        nx.grid_2d_graph(12, 17),
        nx.lollipop_graph(20, 60),
        nx.barbell_graph(10, 50),
        nx.random_regular_graph(3, 200, seed=1),
        nx.circular_ladder_graph(90),
    ],
)
def test_distance_measures_of_shapes(made):
    for name in ("eccentricity", "diameter", "radius", "center", "periphery"):
        found, expected = (outcome(name, made, (), {}, way) for way in ("gravel", "networkx"))
        assert found == expected, name


def test_a_node_that_has_no_hash_raises_what_networkx_raises():
    made = nx.path_graph(3)
    for name in ("bfs_edges", "bfs_layers", "shortest_path", "descendants", "node_connected_component"):
        found, expected = (
            outcome(name, made, ([[1]],), {}, backend)[0] for backend in ("gravel", "networkx")
        )
        assert found == expected, name


def test_components_of_many_nodes():
    chosen = random.Random(4)
    made = nx.Graph([chosen.sample(range(60_000), 2) for _ in range(20_000)])
    found, expected = (outcome("connected_components", made, (), {}, way) for way in ("gravel", "networkx"))
    assert found == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nstart", "dangling"])
def test_pagerank_from_nowhere_does_not_converge(name):
    for way in ("gravel", "networkx"):
        with pytest.raises(nx.PowerIterationFailedConvergence):
            nx.pagerank(nx.path_graph(4), **{name: {9: 1}}, backend=way)


def test_pagerank_that_does_not_converge_names_its_residual():
    with pytest.raises(nx.PowerIterationFailedConvergence) as error:
        nx.pagerank(nx.path_graph(40), max_iter=2, tol=1e-9, backend="gravel")
    assert "after 2 iterations the residual is" in str(error.value.__cause__)


@pytest.mark.parametrize(
    ("made", "named", "reason"),
    [
        (nx.MultiGraph([(0, 1), (0, 1)]), {}, "parallel edges"),
        (nx.path_graph(3), {"alpha": 1.5}, "no probability"),
        (nx.path_graph(3), {"tol": 0}, "not positive"),
        (nx.path_graph(3), {"personalization": {0: -1}}, "a value of personalization"),
        (nx.path_graph(3), {"dangling": {0: float("nan")}}, "a value of dangling"),
    ],
)
def test_pagerank_that_is_left_to_networkx(made, named, reason):
    assert reason in backend.can_run("pagerank", (made,), named)


NETWORKX = {
    "dijkstra": lambda g: nx.single_source_dijkstra_path_length(g, 3, backend="gravel"),
    "bfs": lambda g: nx.single_source_shortest_path_length(g, 3, backend="gravel"),
    "path": lambda g: nx.shortest_path(g, 3, 77, weight="weight", backend="gravel"),
    "closeness": lambda g: nx.closeness_centrality(g, backend="gravel"),
    "betweenness": lambda g: nx.betweenness_centrality(g, 20, seed=1, backend="gravel"),
    "harmonic": lambda g: nx.harmonic_centrality(g, sources=[1, 2, 3], backend="gravel"),
    "components": lambda g: list(nx.connected_components(g, backend="gravel")),
    "eccentricity": lambda g: nx.eccentricity(g, backend="gravel"),
    "mean": lambda g: nx.average_shortest_path_length(g, backend="gravel"),
    "all pairs": lambda g: dict(
        nx.all_pairs_dijkstra_path_length(g.subgraph(range(20)).copy(), backend="gravel")
    ),
    "core": lambda g: nx.core_number(g, backend="gravel"),
    "pagerank": lambda g: nx.pagerank(g, backend="gravel"),
}


def test_threads_at_once():
    given = given_to_networkx()
    questions = {name: partial(with_config, each) for name, each in NETWORKX.items()}
    assert answered(given, questions, 6) == []
    converted = backend.convert_from_nx(given, {"weight": 1})
    del questions["all pairs"]
    assert answered(converted, questions, 6) == []


@pytest.mark.gpu
def test_threads_at_once_on_a_gpu():
    def question(each):
        def asked(graph):
            with nx.config.backends.gravel(device="cuda"):
                return with_config(each, graph)

        return asked

    assert answered(given_to_networkx(), {name: question(each) for name, each in NETWORKX.items()}, 4) == []


def with_config(question, given):
    """Ask without NetworkX's warning; the settings of a thread are its own."""
    with nx.config(warnings_to_ignore={"cache"}):
        return question(given)


def given_to_networkx():
    given = nx.connected_watts_strogatz_graph(150, 6, 0.3, seed=2)
    dice = random.Random(3)
    for _, _, edge in given.edges(data=True):
        edge["weight"] = dice.choice([0.0, -0.0, 0.5, 1.25])
    return given
