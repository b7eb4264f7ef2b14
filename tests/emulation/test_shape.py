"""How a GPU measures a graph, on CPU threads: degrees against the CPU's, and a short search against SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.bfs import choose_for_rows
from gravel.kernels.bfs.cuda import shape
from gravel.kernels.bfs.shape import measure_on_host as measure_on_cpu
from gravel.kernels.layouts import LAYOUTS
from tests.emulation import strict_cupy
from tests.kernels.conformance import csr_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import scipy_distances

pytestmark = pytest.mark.usefixtures("on_cpu")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex", "grid_13x17", "path_33")


def test_auto_searches_encoded_rows_of_a_deep_graph_by_hops() -> None:
    for name, strategy in (("grid_13x17", "persistent"), ("star_300", "direction_optimizing")):
        rows = strict_cupy.encoded("varint", csr_of(name, True))
        assert choose_for_rows(rows, symmetric=True).strategy == strategy


@pytest.mark.parametrize("layout", LAYOUTS)
def test_encoded_rows_are_measured_as_columns_are(layout: str) -> None:
    for csr in (*(csr_of(name, True) for name in SMALL), fast_csr(rmat(8, 8), symmetric=True)):
        placed = [strict_cupy.on_device(array) for array in csr]
        columns = shape.measure(*placed, symmetric=True)
        found = shape.measure_rows(strict_cupy.encoded(layout, csr), symmetric=True)
        assert replace(found, milliseconds=0) == replace(columns, milliseconds=0)


def test_a_gpu_measures_what_the_cpu_does() -> None:
    for csr in (*(csr_of(name, True) for name in SMALL), fast_csr(rmat(8, 8), symmetric=True)):
        placed = [strict_cupy.on_device(array) for array in csr]
        found, wanted = shape.measure(*placed, symmetric=True), measure_on_cpu(*csr, symmetric=True)
        degrees = numpy.diff(csr[0])
        for name in ("vertices", "arcs", "linked", "largest_degree", "top_share"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name)), name
        assert found.growth is not None
        assert found.growth.complete
        # A vertex of the largest degree is where the search begins; ties may be broken either way.
        levels = set()
        for source in numpy.flatnonzero(degrees == degrees.max()):
            distance = scipy_distances(*csr, int(source))
            levels.add(tuple(numpy.bincount(distance[distance >= 0]).tolist()))
        assert tuple(found.growth.vertices) in levels
