"""Distances between two sets, on arrays of a GPU and of the host, against SciPy."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs.cuda import multi_source
from gravel.kernels.distances.between import batch_that_fits, distances_between
from gravel.kernels.layouts.layout import columns_as_rows
from tests.emulation import strict_cupy
from tests.emulation.test_many_sources_encoded import encoded
from tests.kernels.distances.test_many import encodable, random_rows, scipy_all


@pytest.mark.parametrize(("symmetric", "batch"), [(True, 1), (False, 7), (True, 64)])
@pytest.mark.parametrize("backend", ["cpu", "cuda", "varint", "blocks", "elias_fano"])
def test_distances_are_those_of_scipy(on_cpu, backend, symmetric, batch, monkeypatch):
    if backend != "cpu":
        monkeypatch.setitem(multi_source.MultiSource.__init__.__kwdefaults__, "block", 64)
    rows = encodable(random_rows(4, symmetric=symmetric, vertices=150))
    draw = numpy.random.default_rng(3).permutation(150)
    sources, targets = draw[:70], draw[50:60]
    found = numpy.full((len(targets), len(sources)), -7, numpy.int32)
    if backend in ("cpu", "cuda"):
        there = columns_as_rows(*(rows if backend == "cpu" else map(strict_cupy.on_device, rows)))
    else:
        there = encoded(backend, rows)
    asked = {"symmetric": symmetric, "batch": batch}
    distances_between(there, sources, targets, into=found.T, **asked)
    numpy.testing.assert_array_equal(found.T, scipy_all(rows, sources)[:, targets])


def test_batches_fit_their_memory():
    assert batch_that_fits(1 << 20, 1 << 25, 4, 1000, 10, 1 << 40) == 64
    assert batch_that_fits(1 << 20, 1 << 25, 4, 5, 10, 1 << 40) == 5
    assert batch_that_fits(1 << 20, 1 << 25, 4, 64, 10, 100 << 20) == 13
    assert batch_that_fits(1 << 20, 1 << 25, 4, 64, 10, 1 << 20) == 0
