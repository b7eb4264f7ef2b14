"""Sums over searches by weights against NetworkX."""

from __future__ import annotations

import networkx
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.distances import weighted
from gravel.kernels.distances.closeness import closeness, estimate
from gravel.kernels.distances.interface import TooNarrow
from tests.kernels.betweenness.test_weighted import WEIGHTS, drawn, rows_of
from tests.kernels.distances.test_many import random_rows


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    kind=st.sampled_from([networkx.Graph, networkx.DiGraph]),
    weights=st.sampled_from(WEIGHTS),
    wf_improved=st.booleans(),
)
def test_drawn_graphs_have_the_closeness_of_networkx(seed, kind, weights, wf_improved):
    made, forward, lengths = drawn(seed, kind, weights)
    n, reverse = len(made), made.reverse() if made.is_directed() else made
    rows, against = rows_of(reverse.adj, type(weights[0]))
    given = networkx.closeness_centrality(made, distance="weight", wf_improved=wf_improved)
    expected = [given[v] for v in made]
    found = closeness(weighted.aggregate(*rows, against, numpy.arange(n)), n, wf_improved=wf_improved)
    numpy.testing.assert_allclose(found, expected, rtol=1e-9)
    candidates = numpy.diff(forward[0]) > 0
    starts = numpy.flatnonzero(candidates)
    sums = weighted.aggregate(*forward, lengths, starts, vertices=True).vertices
    value, error = estimate(sums, starts, candidates, wf_improved=wf_improved, least=0.0)
    numpy.testing.assert_allclose(value, expected, rtol=1e-9)
    assert not error.any()


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    rows = random_rows(3, vertices=300)
    lengths = numpy.random.default_rng(1).random(len(rows[1]))
    found = set()
    for threads in (1, 2, 3):
        monkeypatch.setattr(weighted, "thread_count", lambda threads=threads: threads)
        for vertices in (False, True):
            sums = weighted.aggregate(*rows, lengths, numpy.arange(300), vertices=vertices)
            found.add((sums.total.tobytes(), sums.reciprocal.tobytes(), sums.eccentricity.tobytes()))
        found.add(sums.vertices.total.tobytes())
    assert len(found) == 2
    with pytest.raises(TooNarrow):
        weighted.aggregate(*rows, lengths, [1], memory=100)
