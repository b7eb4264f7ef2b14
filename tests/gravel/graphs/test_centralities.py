"""Closeness and betweenness from samples and by weights, as a graph's methods, beside NetworkX."""

from __future__ import annotations

import networkx
import numpy
import pytest

import gravel

RNG = numpy.random.default_rng(8)
TAILS, HEADS = RNG.integers(0, 200, (2, 420))
LENGTHS = (RNG.integers(1, 9, 420) / 4).tolist()


def made(directed, order=None):
    weighted = {}
    for edge in zip(TAILS.tolist(), HEADS.tolist(), LENGTHS, strict=True):
        ends = edge[:2] if directed else tuple(sorted(edge[:2]))
        if ends[0] != ends[1]:
            weighted[ends] = min(edge[2], weighted.get(ends, 9.0))
    columns = tuple(map(list, zip(*weighted, strict=True)))
    graph = gravel.graph(columns, weights=list(weighted.values()), directed=directed)
    reference = (networkx.DiGraph if directed else networkx.Graph)()
    reference.add_weighted_edges_from((*ends, weight) for ends, weight in weighted.items())
    return graph if order is None else graph.reorder(order), reference


def agrees(measure, expected):
    found = measure.to_numpy()
    values = dict(zip(found["vertex"].tolist(), found[measure.name].tolist(), strict=True))
    assert values == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("directed", [False, True])
def test_by_weights_and_from_all_vertices(directed, order):
    graph, reference = made(directed, order)
    towards = {"direction": "in"} if directed else {}
    for by, weight in (("arcs", None), ("weights", "weight")):
        expected = networkx.closeness_centrality(reference, distance=weight)
        agrees(graph.closeness(by=by, **towards), expected)
        whole = graph.closeness(k=len(graph), by=by, **towards)
        agrees(whole, expected)
        assert whole.errors is None
        agrees(graph.betweenness(by=by), networkx.betweenness_centrality(reference, weight=weight))
        some = list(expected)[:3]
        chosen = graph.closeness(some, k=len(graph), by=by, wf_improved=False, **towards)
        assert chosen[some[2]] == pytest.approx(
            networkx.closeness_centrality(reference, some[2], weight, wf_improved=False)
        )
        edges = dict(graph.edge_betweenness(by=by).top(10_000))
        given = networkx.edge_betweenness_centrality(reference, weight=weight)
        assert {e if e in given else e[::-1]: value for e, value in edges.items()} == pytest.approx(given)


@pytest.mark.parametrize("by", ["arcs", "weights"])
def test_a_sample_has_errors(by):
    graph, _ = made(False)
    for name in ("closeness", "betweenness", "edge_betweenness"):
        exact, sample = getattr(graph, name)(by=by), getattr(graph, name)(k=50, seed=3, by=by)
        assert (sample.sources, len(sample.errors)) == (50, len(exact.values))
        off = numpy.abs(sample.values - exact.values)
        assert (off <= 3 * sample.errors).mean() > 0.8
        assert (sample.values != exact.values).any()
        top = sample.top(4)
        assert top.errors.tolist() == sorted(top.errors, key=top.errors.tolist().index)
        assert top == list(zip([each for each, _ in top], sorted(sample.values)[:-5:-1], strict=True))
        assert f"{top[0][0]!r}: {top[0][1]:.6g} ± {top.errors[0]:.2g}" in repr(top)
        assert "±" in top._repr_html_()
        assert sample.to_numpy()["error"].tolist() == sample.errors.tolist()
        assert exact._repr_html_().count("<tr>") == 7, "two facts, and the five largest"
        assert exact.errors is None
        assert repr(exact.top(2)) == repr(list(exact.top(2)))
        assert "error" not in exact.to_numpy()
    assert "estimated from 50 sources" in repr(graph.betweenness(k=50, by=by))
    assert "estimated from" in graph.closeness(k=50, by=by)._repr_html_()
    again = graph.closeness(k=50, seed=3, by=by)
    assert again.values.tobytes() == graph.closeness(k=50, seed=3, by=by).values.tobytes()


def test_what_is_refused():
    plain = gravel.graph(([0, 1], [1, 2]))
    with pytest.raises(ValueError, match="closeness by weights needs weights, and this graph has none"):
        plain.closeness(by="weights")
    with pytest.raises(ValueError, match="by is 'length'; it can be 'arcs' or 'weights'"):
        plain.betweenness(by="length")
    with pytest.raises(ValueError, match="k is 0; it must be 1 or more"):
        plain.closeness(k=0)


def test_no_edges():
    graph = gravel.graph(([], []))
    assert len(graph.closeness(k=3)) == 0
