"""Betweenness with CUDA kernels compiled for the CPU."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.betweenness import rows_cuda
from gravel.kernels.betweenness.interface import Wanted
from gravel.kernels.betweenness.sums import arranged, betweenness
from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.distances import in_step
from tests.emulation.strict_cupy import held, on_device
from tests.kernels.distances.test_many import ascending, random_rows

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.mark.parametrize(
    ("form", "piece", "deep"),
    [
        ("vertices", 3, False),
        ("vertices", 512, True),
        ("endpoints", 512, False),
        ("endpoints", 512, True),
        ("arcs", 3, False),
        ("arcs", 512, True),
    ],
)
def test_sums_are_those_of_the_cpu(deep, piece, form, monkeypatch):
    monkeypatch.setattr(rows_cuda, "PIECE", piece)
    options = {"endpoints": form == "endpoints", "of_arcs": form == "arcs"}
    for seed in (0, 1, 5):
        symmetric = seed > 0
        rows = random_rows(seed, symmetric=symmetric, vertices=120)
        back = rows if symmetric else reversed_rows(*rows)[:2]
        sources = numpy.random.default_rng(seed).integers(0, 120, 1 + 20 * seed)
        there = tuple(map(on_device, rows))
        there_back = there if symmetric else tuple(map(on_device, back))
        expected = betweenness(rows, back, sources, **options)
        found = betweenness(there, there_back, sources, deep=deep, **options)
        numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        again = betweenness(there, there_back, sources, deep=deep, **options)
        numpy.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("sources", [20, 50])
def test_rows_take_what_they_state(sources, symmetric, monkeypatch):
    monkeypatch.setattr(rows_cuda, "PIECE", 5)
    rows = random_rows(3, symmetric=symmetric, vertices=200)
    there = tuple(map(on_device, rows))
    back = there if symmetric else tuple(map(on_device, reversed_rows(*rows)[:2]))
    searches = rows_cuda.InRows(Wanted(there, back, sources), 1 << 30)
    pieces = {id(each): each for each in searches._pieces}.values()
    assert all(each.count for each in pieces)
    assert searches.bytes == held(searches) + sum(map(held, pieces))


def test_sources_in_step_have_the_same_sums(monkeypatch):
    monkeypatch.setattr(in_step, "FEWEST", 2)
    rows = ascending(random_rows(5, vertices=120))
    there = tuple(map(on_device, rows))
    sources = numpy.arange(120)
    assert (arranged(there, there, sources) != sources).any()
    assert (arranged(rows, rows, sources) == sources).all()
    found = betweenness(there, there, sources, deep=False)
    numpy.testing.assert_allclose(found, betweenness(rows, rows, sources), rtol=1e-12, atol=1e-12)
