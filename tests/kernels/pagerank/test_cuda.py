"""PageRank on a GPU: the ranks and iterations of the CPU, and the same bits on every call."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.layouts import LAYOUTS, columns_as_rows, encode
from gravel.kernels.pagerank import pagerank
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.pagerank.cases import skewed

pytestmark = pytest.mark.gpu


def compare(rows: Any, outgoing: Any, weights: Any = None, layout: str = "csr", **asked: Any) -> None:
    import cupy

    expected = pagerank(columns_as_rows(*rows), outgoing, weights, max_iterations=1000, **asked)
    there = encode(layout, *map(cupy.asarray, rows))
    given = cupy.asarray(outgoing), None if weights is None else cupy.asarray(weights)
    bits = set()
    for _ in range(3):
        found = pagerank(there, *given, max_iterations=1000, **asked)
        numpy.testing.assert_allclose(found.rank.get(), expected.rank, rtol=0, atol=1e-12)
        assert found.iterations == expected.iterations
        bits.add(found.rank.get().tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ranks_are_those_of_the_cpu(layout: str) -> None:
    rows = fast_csr(rmat(14), symmetric=True)
    compare(rows, numpy.diff(rows[0]).astype(numpy.float64), layout=layout, tolerance=1e-9)
    for directed in (False, True):
        drawn = skewed(9000, directed=directed)
        compare(drawn.rows, drawn.outgoing, layout=layout)


@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64, numpy.uint32])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_weights(kind: Any, index: Any) -> None:
    drawn = skewed(weighted=True)
    rows = drawn.rows[0], drawn.rows[1].astype(index)
    compare(rows, drawn.outgoing, numpy.asarray(drawn.weights).astype(kind), tolerance=1e-9)
    jumps = numpy.arange(len(drawn.outgoing), dtype=numpy.float64)
    compare(rows, drawn.outgoing, personalization=jumps, start=jumps, dangling=jumps[::-1], damping=0.5)
