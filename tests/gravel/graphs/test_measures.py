"""Closeness, harmonic centrality, eccentricities and neighbourhoods of a graph, as NetworkX computes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import networkx
import pytest

import gravel
from tests.gravel.graphs.test_graph import ARRANGED
from tests.gravel.samples import random_edges

ENDS = random_edges(seed=5, vertices=700, edges=800)


def reference():
    made = networkx.Graph(zip(*(each.tolist() for each in ENDS), strict=True))
    made.remove_edges_from(list(networkx.selfloop_edges(made)))
    return made


NX = reference()


@pytest.fixture(scope="module")
def graph():
    return gravel.graph(ENDS)


def column(measure):
    found = measure.to_numpy()
    return dict(zip(found["vertex"].tolist(), found[measure.name].tolist(), strict=True))


@cache
def expected(name, **options):
    """Take from NetworkX, which is slow, once for all arrangements."""
    return getattr(networkx, name)(NX, **options)


@cache
def within_components():
    found = {}
    for part in networkx.connected_components(NX):
        found |= networkx.eccentricity(NX.subgraph(part))
    return found


@cache
def within_two_hops():
    return {v: len(networkx.single_source_shortest_path_length(NX, v, cutoff=2)) for v in NX}


@pytest.mark.parametrize("way", ARRANGED)
def test_every_arrangement_gives_what_networkx_gives(graph, way):
    arranged = ARRANGED[way](graph)
    assert len(list(networkx.connected_components(NX))) > 10
    assert column(arranged.closeness()) == expected("closeness_centrality")
    unimproved = expected("closeness_centrality", wf_improved=False)
    assert column(arranged.closeness(wf_improved=False)) == unimproved
    assert column(arranged.harmonic()) == pytest.approx(expected("harmonic_centrality"), rel=1e-12)
    eccentricity = within_components()
    assert column(arranged.eccentricity()) == eccentricity
    assert arranged.diameter() == max(eccentricity.values())
    assert arranged.radius() == min(eccentricity.values())
    assert column(arranged.neighbourhood(2)) == within_two_hops()


@pytest.mark.parametrize("way", ARRANGED)
def test_betweenness_in_every_arrangement(graph, way):
    arranged = ARRANGED[way](graph)
    for options in ({}, {"normalized": False}, {"endpoints": True}):
        known = expected("betweenness_centrality", **options)
        assert column(arranged.betweenness(**options)) == pytest.approx(known, rel=1e-10, abs=1e-12)
    for normalized in (True, False):
        known = expected("edge_betweenness_centrality", normalized=normalized)
        found = edge_column(arranged.edge_betweenness(normalized=normalized))
        by_edge = {tuple(sorted(edge)): value for edge, value in known.items()}
        assert found == pytest.approx(by_edge, rel=1e-10, abs=1e-12)


def edge_column(measure):
    found = measure.to_numpy()
    ends = zip(found["source"].tolist(), found["target"].tolist(), strict=True)
    edges = [tuple(sorted(each)) for each in ends]
    assert len(edges) == len(set(edges)) == len(measure)
    return dict(zip(edges, found["edge_betweenness"].tolist(), strict=True))


def test_sampled_betweenness(graph):
    exact = graph.betweenness().values
    everything = graph.betweenness(10**6).values
    assert everything == pytest.approx(exact, rel=1e-10, abs=1e-15)
    half = [graph.betweenness(350, seed=seed).values for seed in range(8)]
    assert (half[0] == graph.betweenness(350, seed=0).values).all()
    assert (half[0] != half[1]).any()
    assert sum(half).sum() / 8 == pytest.approx(exact.sum(), rel=0.02)
    arranged = ARRANGED["reordered"](graph) if "reordered" in ARRANGED else graph.reorder("random")
    assert arranged.betweenness(350, seed=0).values == pytest.approx(half[0], rel=1e-10, abs=1e-15)
    edges = graph.edge_betweenness()
    some = graph.edge_betweenness(350, seed=3)
    assert some.values.sum() == pytest.approx(edges.values.sum(), rel=0.05)
    (ends, largest), *_ = edges.top(3)
    assert largest == edges.values.max()
    assert edge_column(edges)[tuple(sorted(ends))] == largest
    assert "edge_betweenness of" in repr(edges)
    with pytest.raises(ValueError, match="k is 0"):
        graph.betweenness(0)


def test_some_vertices(graph):
    some = list(NX)[3:60:7]
    reordered = graph.reorder("random", seed=2)
    for made in (graph, reordered):
        closeness = made.closeness(some)
        assert len(closeness) == len(some)
        assert list(column(closeness)) == some
        assert closeness[some[2]] == networkx.closeness_centrality(NX, some[2])
        assert column(made.eccentricity(some)) == {v: within_components()[v] for v in some}
        with pytest.raises(KeyError, match="closeness was not computed for"):
            closeness[next(v for v in NX if v not in some)]
    assert graph.harmonic(some[0]).values.shape == (1,)


ARCS = random_edges(seed=6, vertices=300, edges=500)


@pytest.mark.parametrize(
    ("way", "direction"),
    [*((way, each) for way in ("as it is", "random") for each in ("out", "in", "both")), ("varint", "out")],
)
def test_a_directed_graph_in_every_direction(way, direction):
    graph = ARRANGED[way](gravel.graph(ARCS, directed=True))
    given = networkx.DiGraph(zip(*(each.tolist() for each in ARCS), strict=True))
    given.remove_edges_from(list(networkx.selfloop_edges(given)))
    made = {"out": given, "in": given.reverse(), "both": given.to_undirected()}[direction]
    # NetworkX takes the distances to a vertex here.
    there = made if direction == "both" else made.reverse()
    asked = {"direction": direction}
    assert column(graph.closeness(**asked)) == networkx.closeness_centrality(there)
    assert column(graph.harmonic(**asked)) == pytest.approx(networkx.harmonic_centrality(there), rel=1e-12)
    lengths = dict(networkx.all_pairs_shortest_path_length(made))
    assert column(graph.eccentricity(**asked)) == {v: max(lengths[v].values()) for v in made}
    within = {v: sum(each <= 2 for each in lengths[v].values()) for v in made}
    assert column(graph.neighbourhood(2, **asked)) == within
    assert column(graph.betweenness(**asked)) == pytest.approx(
        networkx.betweenness_centrality(made), rel=1e-10, abs=1e-12
    )
    found = graph.edge_betweenness(**asked).to_numpy()
    ends = zip(found["source"].tolist(), found["target"].tolist(), strict=True)
    expected = networkx.edge_betweenness_centrality(made)
    if direction == "both":
        expected = {tuple(sorted(edge)): value for edge, value in expected.items()}
        ends = (tuple(sorted(each)) for each in ends)
    by_edge = dict(zip(ends, found["edge_betweenness"].tolist(), strict=True))
    assert by_edge == pytest.approx(expected, rel=1e-10, abs=1e-12)
    apart = [each for row in lengths.values() for each in row.values() if each]
    assert float(graph.average_path_length(**asked)) == pytest.approx(sum(apart) / len(apart))


def test_the_largest_come_first(graph):
    closeness = graph.closeness()
    largest = sorted(expected("closeness_centrality").values(), reverse=True)[:4]
    assert [value for _, value in closeness.top(4)] == largest
    assert "closeness of" in repr(closeness)
    assert str(closeness.top(1)[0][0]) in closeness._repr_html_()
    assert closeness.to_pandas().columns.tolist() == ["vertex", "closeness"]


def test_ids_that_are_texts_and_a_vertex_without_arcs():
    graph = gravel.graph([("a", "b"), ("b", "c"), ("d", "d")])
    assert graph.closeness()["b"] == pytest.approx(2 / 2 * 2 / 3)
    assert graph.closeness("d").values.tolist() == [0.0]
    assert graph.eccentricity().to_pandas()["eccentricity"].tolist() == [2, 1, 2, 0]
    assert graph.neighbourhood(0).values.tolist() == [1, 1, 1, 1]
    assert graph.harmonic()["a"] == 1.5


def test_progress_ends_with_all_vertices(graph):
    seen = []
    graph.closeness(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(graph), len(graph))


def test_what_is_refused(graph):
    directed = gravel.graph([(1, 2), (2, 3)], directed=True)
    for ask in (directed.diameter, directed.radius):
        with pytest.raises(
            ValueError, match=r"undirected graphs, and this one is directed; .*direction='both'"
        ):
            ask(direction="in")
    assert (directed.diameter(direction="both"), directed.radius(direction="both")) == (2, 1)
    with pytest.raises(ValueError, match="direction is 'up'; it can be 'out', 'in' or 'both'"):
        directed.closeness(direction="up")
    one = next(iter(NX))
    with pytest.raises(ValueError, match=f"vertex {one} is listed twice"):
        graph.closeness([one, one])
    with pytest.raises(gravel.UnknownVertex):
        graph.closeness([10**9])
    with pytest.raises(ValueError, match="hops is -1"):
        graph.neighbourhood(-1)
    empty = gravel.graph(networkx.Graph())
    assert len(empty.closeness()) == 0
    with pytest.raises(ValueError, match="no diameter"):
        empty.diameter()


def test_memory_that_is_too_small_is_refused_with_numbers(monkeypatch):
    graph = gravel.graph(ENDS)
    monkeypatch.setattr(graph._rows, "host_memory", "1kB")
    monkeypatch.setattr(graph._rows, "machine", replace(graph._rows.machine, host_memory=1000))
    with pytest.raises(gravel.NotEnoughMemory, match=r"64 searches at once take [\d,]+ bytes .* 1,000 may"):
        graph.closeness()


def test_rows_that_do_not_fit_when_decoded_are_refused(monkeypatch):
    packed = gravel.graph([(1, 2), (2, 3)], backend="cpu").compress("varint")
    monkeypatch.setattr("gravel.memory.free_host_bytes", lambda *_: (40, "what is free"))
    with pytest.raises(
        gravel.NotEnoughMemory, match=r"closeness of decoded rows needs 48 B .*there are 40 B"
    ):
        packed.closeness()
