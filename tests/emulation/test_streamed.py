"""Columns in parts: searches and components, on CPU threads, against SciPy."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.components import components
from tests.emulation import strict_cupy
from tests.kernels.conformance import check, csr_of, sources_of
from tests.kernels.counted import Counted
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import scipy_components, zoo

pytestmark = pytest.mark.usefixtures("on_cpu")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex")


@pytest.mark.parametrize("output", ["both", "distance"])
def test_searches(output: str) -> None:
    from gravel.kernels.bfs.cuda.streamed import StreamedSearch as streamed
    from gravel.kernels.layouts import columns_as_rows

    for csr in [*(csr_of(name, True) for name in SMALL), fast_csr(rmat(9, 8), symmetric=True)]:
        for constants in ({"buffer_bytes": 4096, "buffers": 2}, {}):
            rows = columns_as_rows(strict_cupy.on_device(csr[0]), Counted(csr[1]))
            made = streamed(rows, Query(output=output, symmetric=True), **constants)
            for source in sources_of(len(csr[0]) - 1, 2):
                check(made.run(source), csr, source, output)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_components(symmetric: bool) -> None:
    for graph in zoo():
        csr = graph.csr(symmetric=symmetric)
        for constants in ({"buffer_bytes": 700, "buffers": 2}, {}):
            found = components(
                strict_cupy.on_device(csr[0]),
                Counted(csr[1]),
                symmetric=symmetric,
                strategy="streamed",
                **constants,
            )
            numpy.testing.assert_array_equal(found.component, scipy_components(*csr), err_msg=graph.name)
