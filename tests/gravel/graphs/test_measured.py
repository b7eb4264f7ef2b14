"""Distances between sets, and the mean distance with its bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx
import numpy
import pandas
import pytest
import scipy.special

import gravel
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.average import _student, mean_distance
from gravel.kernels.layouts.layout import columns_as_rows
from gravel.stages.measuring.rows import SearchedRows
from tests.gravel.graphs.test_graph import ARRANGED
from tests.gravel.graphs.test_measures import ENDS, NX


@pytest.fixture(scope="module")
def graph():
    return gravel.graph(ENDS)


def exact():
    lengths = dict(networkx.all_pairs_shortest_path_length(NX))
    found = [d for row in lengths.values() for d in row.values() if d]
    return sum(found) / len(found)


@pytest.mark.parametrize("way", ARRANGED)
def test_every_arrangement_has_the_distances_of_networkx(graph, way):
    arranged = ARRANGED[way](graph)
    nodes = list(NX)
    few, many = nodes[:5], nodes[3:60]
    for sources, targets in ((few, many), (many, few)):
        found = arranged.distances(sources, targets)
        expected = [[NX_LENGTHS[s].get(t, -1) for t in targets] for s in sources]
        assert found.array.tolist() == expected
        assert found[sources[1], targets[2]] == expected[1][2]
    assert arranged.average_path_length().value == pytest.approx(exact(), rel=1e-12)


NX_LENGTHS = dict(networkx.all_pairs_shortest_path_length(NX))


def test_all_targets_and_tables(graph):
    source = next(iter(NX))
    found = graph.distances(source)
    assert found.array.shape == (1, len(graph))
    table = found.to_pandas()
    assert table["source"].tolist() == [source] * len(graph)
    listed = dict(zip(table["target"].tolist(), table["distance"].tolist(), strict=True))
    assert {v: d for v, d in listed.items() if d is not pandas.NA} == NX_LENGTHS[source]
    assert repr(found).startswith(f"<gravel.Distances: 1 sources, {len(graph)} targets in ")


def test_directed_distances_go_along_arcs():
    arcs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
    graph = gravel.graph(arcs, directed=True)
    made = networkx.DiGraph(arcs)
    for sources, targets in ((["a"], ["b", "c", "d"]), (["a", "b", "d"], ["c"])):
        for direction, other in (("out", made), ("in", made.reverse()), ("both", made.to_undirected())):
            lengths = dict(networkx.all_pairs_shortest_path_length(other))
            expected = [[lengths[s].get(t, -1) for t in targets] for s in sources]
            assert graph.distances(sources, targets, direction=direction).array.tolist() == expected


@pytest.mark.gpu
@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("directed", [False, True])
def test_a_gpu_searches_from_many_at_once(directed, order):
    made = gravel.graph(ENDS, directed=directed, backend="cpu")
    there = gravel.graph(ENDS, directed=directed, backend="cuda")
    there = there if order is None else there.reorder(order)
    nodes = list(NX)
    for sources, targets in ((nodes[:70], None), (nodes[:2], nodes[5:9])):
        found = there.distances(sources, targets).array
        numpy.testing.assert_array_equal(found, made.distances(sources, targets).array)


def test_many_at_once_are_searched_from_where_there_is_room(graph, monkeypatch):
    nodes = list(NX)
    expected = graph.distances(nodes[:9], nodes[3:40]).array
    called = []

    def rows(asked, name):
        stored = asked.stored
        found = columns_as_rows(stored.row_offsets, stored.column_indices)
        called.append(name)
        return SearchedRows(found, getattr(stored, "permutation", None), room)

    monkeypatch.setattr("gravel.graphs.measured_rows.searched_rows", rows)
    monkeypatch.setattr(gravel.Graph, "bfs", lambda *asked, **more: pytest.fail("searched one by one"))
    room = 1 << 30
    for arranged in (graph, graph.reorder("random")):
        there = replace(arranged._rows.machine, backend="cuda", device_memory=1 << 30)
        monkeypatch.setattr(arranged._rows, "machine", there)
        found = arranged.distances(nodes[:9], nodes[3:40]).array
        numpy.testing.assert_array_equal(found, expected)
    room = 1 << 10
    with pytest.raises(BaseException, match="searched one by one"):
        arranged.distances(nodes[:9], nodes[3:40])
    assert called == ["distances"] * 3


def test_what_distances_refuse(graph, monkeypatch):
    one, two = list(NX)[:2]
    with pytest.raises(ValueError, match="is listed twice"):
        graph.distances([one, one], [two])
    with pytest.raises(KeyError, match="no vertex"):
        graph.distances([one], [10**9])
    with pytest.raises(KeyError, match="was not asked for"):
        graph.distances([one], [two])[two, one]
    monkeypatch.setattr("gravel.memory.free_host_bytes", lambda machine, limited: (1000, "a test"))
    with pytest.raises(gravel.NotEnoughMemory, match=r"x .* distances needs"):
        graph.distances(None)


def test_bounds_hold_about_as_often_as_they_say(graph):
    mean = exact()
    found = [graph.average_path_length(60, seed=seed, confidence=0.9) for seed in range(100)]
    held = sum(each.low <= mean <= each.high for each in found)
    assert 80 <= held <= 99
    assert all(each.sources == 60 and each.confidence == 0.9 for each in found)
    wider = graph.average_path_length(60, seed=0, confidence=0.99)
    assert wider.value == found[0].value
    assert wider.low < found[0].low < found[0].high < wider.high
    reordered = graph.reorder("random", seed=3).average_path_length(60, seed=0, confidence=0.9)
    assert (reordered.low, reordered.high) == (found[0].low, found[0].high)


def test_all_vertices_need_no_bounds(graph):
    found = graph.average_path_length(10**6)
    assert found.low == found.high == found.value == float(found)
    none = gravel.graph(([], []))
    assert math.isnan(none.average_path_length().value)
    with pytest.raises(ValueError, match="confidence is 95"):
        graph.average_path_length(confidence=95)
    with pytest.raises(ValueError, match="k is 0"):
        graph.average_path_length(0)


def test_one_sample_bounds_nothing_from_above():
    found = Aggregates.empty(1)
    found.reached[:], found.total[:] = 5, 8
    assert mean_distance(found, 10, 0.95) == (2.0, 1.0, math.inf)
    assert mean_distance(found, 1, 0.95) == (2.0, 2.0, 2.0), "it is the only one"


@pytest.mark.parametrize(("freedom", "expected"), [(5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)])
def test_quantiles_are_those_of_tables(freedom, expected):
    assert _student(0.975, freedom) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("probability", "most"), [(0.9, 0.1), (0.975, 2), (0.995, 15)])
def test_quantiles_have_all_terms_of_the_expansion(probability, most):
    """What is left falls with the fourth power of the degrees of freedom."""
    for freedom in (20, 100):
        exact = scipy.special.stdtrit(freedom, probability)
        assert _student(probability, freedom) == pytest.approx(exact, abs=most / freedom**4)


def test_the_estimate_corrects_for_a_sample_of_most_vertices():
    found = Aggregates.empty(9)
    found.reached[:] = 10
    found.total[:] = numpy.arange(9) + 20
    widths = [
        high - low
        for _, low, high in (mean_distance(found, candidates, 0.9) for candidates in (10, 20, 1000))
    ]
    assert widths[0] < widths[1] < widths[2]
