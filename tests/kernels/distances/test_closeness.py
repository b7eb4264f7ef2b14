"""Closeness from a sample: all vertices give the exact values, and errors bound those of the sample."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.distances.closeness import closeness, estimate
from gravel.kernels.distances.many import aggregate
from tests.kernels.distances.test_many import random_rows, scipy_all
from tests.zoo import zoo


def test_all_vertices_give_the_exact_bits():
    for graph in zoo():
        if 0 < graph.vertex_count <= 600:
            rows = graph.csr()
            candidates = numpy.diff(rows[0]) > 0
            everything = numpy.arange(graph.vertex_count)
            sources = numpy.flatnonzero(candidates)
            expected = closeness(aggregate(*rows, everything, symmetric=True), graph.vertex_count)
            if len(sources):
                sums = aggregate(*rows, sources, symmetric=True, vertices=True).vertices
                value, error = estimate(sums, sources, candidates)
                assert value.tobytes() == expected.tobytes(), graph.name
                assert not error.any()


@pytest.mark.parametrize("wf_improved", [True, False])
def test_errors_are_no_smaller_than_those_of_the_sample(wf_improved):
    rows = random_rows(11, vertices=150)
    candidates = numpy.diff(rows[0]) > 0
    everyone = numpy.flatnonzero(candidates)
    sources = numpy.random.default_rng(5).permutation(everyone)[:30]
    sums = aggregate(*rows, sources, symmetric=True, vertices=True).vertices
    value, error = estimate(sums, sources, candidates, wf_improved=wf_improved)
    distances = scipy_all(rows, sources)
    checked = 0
    for v in range(150):
        of = distances[sources != v, v]
        there = of[of >= 0]
        if not len(there):
            assert value[v] == error[v] == 0
            continue
        mean, share, population = there.mean(), len(there) / len(of), len(everyone) - candidates[v]
        expected = 1 / mean * (share * population / 149 if wf_improved else 1)
        assert value[v] == pytest.approx(expected, rel=1e-12)
        if len(there) < 2:
            assert numpy.isinf(error[v])
            continue
        relative = there.var(ddof=1) / len(there) / mean**2
        relative += (1 - share) / share / (len(of) - 1) if wf_improved else 0.0
        sample = value[v] * numpy.sqrt(relative * (1 - 30 / len(everyone)))
        assert error[v] >= sample * (1 - 1e-12)
        checked += 1
    assert checked > 20


def test_estimates_are_close_to_what_they_estimate():
    rows = random_rows(2, vertices=300)
    candidates = numpy.diff(rows[0]) > 0
    everyone = numpy.flatnonzero(candidates)
    exact = closeness(aggregate(*rows, numpy.arange(300), symmetric=True), 300)
    rng, within = numpy.random.default_rng(1), []
    for _ in range(20):
        sources = rng.permutation(everyone)[:60]
        sums = aggregate(*rows, sources, symmetric=True, vertices=True).vertices
        value, error = estimate(sums, sources, candidates)
        within.append((numpy.abs(value - exact) <= 2 * error)[exact > exact.max() / 2].mean())
    assert numpy.mean(within) > 0.9
