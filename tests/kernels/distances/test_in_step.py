"""Sources that run in step share batches: the same results from fewer rows."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.distances import in_step
from gravel.kernels.distances.many import aggregate
from tests.kernels.cuda_case import fast_csr, on_device, rmat
from tests.kernels.distances.test_many import ON, ascending, check, random_rows, scipy_all


@pytest.mark.parametrize("backend", ON)
def test_results_are_in_the_order_of_the_sources(backend, monkeypatch):
    monkeypatch.setattr(in_step, "FEWEST", 2)
    for seed in range(8):
        rows = ascending(random_rows(seed))
        sources = numpy.random.default_rng(seed).integers(0, len(rows[0]) - 1, 300)
        there = rows if backend == "cpu" else on_device(*rows)
        asked = {"levels": 3, "vertices": True}
        found = aggregate(*there, sources, symmetric=True, batch=64, independent=False, **asked)
        check(found, rows, sources, **asked)


def test_the_order_is_by_distance_and_arcs_and_other_components_go_last(monkeypatch):
    rows = fast_csr(rmat(9), symmetric=True)
    sources = numpy.random.default_rng(2).integers(0, 512, 600)
    order = in_step.in_step(*rows, sources)
    assert sorted(order.tolist()) == list(range(600))
    degrees = numpy.diff(rows[0])
    distance = prepare(*rows, symmetric=True, output="distance").run(int(degrees.argmax())).distance
    assert (distance[sources] < 0).any()
    far = numpy.where(distance < 0, len(degrees), distance)
    keys = [(far[v], -degrees[v], place) for place, v in enumerate(sources)]
    assert [keys[place] for place in order] == sorted(keys)
    assert in_step.in_step(*rows, sources[:511]) is None


def rows_read(rows, sources, batch):
    """Count arcs of the vertices that a level has to read, for some source of the batch that goes on."""
    degrees, arcs = numpy.diff(rows[0]), 0
    for first in range(0, len(sources), batch):
        distance = scipy_all(rows, sources[first : first + batch])
        deepest = distance.max(1)
        distance[distance < 0] = distance.max() + 2
        for level in range(1, int(deepest.max()) + 2):
            lacking = (distance[deepest >= level - 1] >= level).any(0)
            arcs += int(degrees[lacking].sum())
    return arcs


def test_batches_in_step_read_fewer_arcs():
    rows = fast_csr(rmat(11), symmetric=True)
    sources = numpy.random.default_rng(5).permutation(numpy.flatnonzero(numpy.diff(rows[0])))[:1024]
    order = in_step.in_step(*rows, sources)
    assert rows_read(rows, sources[order], 64) < 0.9 * rows_read(rows, sources, 64)
