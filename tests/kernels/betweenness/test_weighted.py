"""Betweenness by weights against NetworkX, with equal lengths, arcs of no length and sampled sources."""

from __future__ import annotations

import networkx
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.centrality import betweenness as reference

from gravel.kernels.betweenness import on_threads
from gravel.kernels.betweenness.interface import TooManyPaths, Wanted
from gravel.kernels.betweenness.sums import betweenness, prepare, sampling_error
from gravel.kernels.distances.interface import TooNarrow
from tests.kernels.betweenness.test_betweenness import diamonds, random_rows
from tests.zoo import zoo

WEIGHTS = ([0, 1, 1, 2], [1, 2, 3], [0.0, 0.1, 0.2, 0.3], [0.1, 0.7, 1.3])


def drawn(seed, kind, weights, vertices=12, edges=30):
    """Draw a graph, and its rows in the order of NetworkX; some edges are loops."""
    rng = numpy.random.default_rng(seed)
    made = networkx.empty_graph(int(rng.integers(1, vertices + 1)), kind)
    for _ in range(int(rng.integers(0, edges))):
        ends = rng.integers(0, len(made), 2).tolist()
        made.add_edge(*ends, weight=weights[int(rng.integers(len(weights)))])
    return made, *rows_of(made.adj, type(weights[0]))


def rows_of(adjacency, number):
    rows = [list(adjacency[v].items()) for v in range(len(adjacency))]
    columns = numpy.array([u for row in rows for u, _ in row], numpy.uint32)
    lengths = numpy.array([data["weight"] for row in rows for _, data in row], number)
    return (numpy.cumsum([0, *map(len, rows)]), columns), lengths


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from([networkx.Graph, networkx.DiGraph]),
    weights=st.sampled_from(WEIGHTS),
    endpoints=st.booleans(),
    sampled=st.booleans(),
)
def test_drawn_graphs_have_the_values_of_networkx(seed, kind, weights, endpoints, sampled):
    made, rows, lengths = drawn(seed, kind, weights)
    n = len(made)
    sources = list(made)
    if sampled:
        sources = numpy.random.default_rng(seed).permutation(n)[: max(1, n // 2)].tolist()
    expected = dict.fromkeys(made, 0.0)
    of_edges = {**expected, **dict.fromkeys(made.edges, 0.0)}
    for source in sources:
        found = reference._single_source_dijkstra_path_basic(made, source, "weight")[:3]
        add = reference._accumulate_endpoints if endpoints else reference._accumulate_basic
        add(expected, found[0].copy(), *found[1:], source)
        reference._accumulate_edges(of_edges, *found, source)
    values = betweenness(rows, rows, sources, weights=lengths, endpoints=endpoints)
    numpy.testing.assert_allclose(values, list(expected.values()), rtol=1e-9, atol=1e-12)
    arcs = betweenness(rows, rows, sources, weights=lengths, of_arcs=True)
    summed = dict.fromkeys(made.edges, 0.0)
    row = numpy.repeat(numpy.arange(n), numpy.diff(rows[0])).tolist()
    for (u, v), value in zip(zip(row, rows[1].tolist(), strict=True), arcs, strict=True):
        summed[(u, v) if (u, v) in summed else (v, u)] += value
    assert summed == pytest.approx({edge: of_edges[edge] for edge in made.edges}, rel=1e-9, abs=1e-12)


def test_equal_weights_are_arcs():
    for graph in zoo():
        if 0 < graph.vertex_count < 600:
            rows = graph.csr()
            for number in (numpy.uint32, numpy.float32):
                found = betweenness(rows, rows, weights=numpy.full(len(rows[1]), 3, number))
                numpy.testing.assert_allclose(found, betweenness(rows, rows), rtol=1e-10, atol=1e-12)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    rows = random_rows(3, vertices=300)
    lengths = numpy.random.default_rng(1).random(len(rows[1])).astype(numpy.float32)
    found = set()
    for threads in (1, 2, 3):
        monkeypatch.setattr(on_threads, "thread_count", lambda threads=threads: threads)
        found.add(betweenness(rows, rows, weights=lengths).tobytes())
    assert len(found) == 1
    with pytest.raises(TooNarrow):
        prepare(Wanted(rows, rows, 9, weights=lengths), memory=1000)


def test_more_paths_than_a_float_holds_are_refused():
    rows = diamonds(1030)
    with pytest.raises(TooManyPaths, match="shortest paths from vertex 0 to some vertex are more than"):
        betweenness(rows, rows, [2000, 0], weights=numpy.ones(len(rows[1]), numpy.uint32))


def test_errors_are_no_smaller_than_those_of_the_sample():
    rows = random_rows(6, vertices=80)
    shares = numpy.array([betweenness(rows, rows, [source]) for source in range(80)])
    chosen = numpy.random.default_rng(2).permutation(80)[:25]
    factor = 80 / 25
    sample = factor * 25 * numpy.sqrt(shares[chosen].var(0, ddof=1) / 25 * (1 - 25 / 80))
    values = factor * shares[chosen].sum(0)
    bound = sampling_error(values, factor, 78, 25, 80)
    assert (bound >= sample * (1 - 1e-12)).all()
    assert (bound[values == 0] == 0).all()
    assert not sampling_error(values, factor, 78, 80, 80).any()
    assert numpy.isinf(sampling_error(values, factor, 78, 1, 80)[values > 0]).all()
