"""PageRank by CUDA kernels compiled for the CPU: the ranks and iterations of the CPU, in every layout."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.pagerank import NotConverged, pagerank
from tests.emulation.strict_cupy import encoded, on_device
from tests.kernels.pagerank.cases import Case, case, skewed

pytestmark = pytest.mark.usefixtures("on_cpu")


def there(case: Case, layout: str = "csr", weights: Any = None, **asked: Any) -> Any:
    rows = encoded(layout, case.rows)
    given = None if weights is None else on_device(weights)
    found = pagerank(rows, on_device(case.outgoing), given, max_iterations=200, **case.asked, **asked)
    again = pagerank(rows, on_device(case.outgoing), given, max_iterations=200, **case.asked, **asked)
    assert found.rank.get().tobytes() == again.rank.get().tobytes()
    return found


def compare(case: Case, found: Any, weights: Any = None, **asked: Any) -> None:
    rows = columns_as_rows(*case.rows)
    expected = pagerank(rows, case.outgoing, weights, max_iterations=200, **case.asked, **asked)
    numpy.testing.assert_allclose(found.rank.get(), expected.rank, rtol=1e-12, atol=1e-15)
    assert found.iterations == expected.iterations
    assert found.residual == pytest.approx(expected.residual, rel=1e-6)


@pytest.mark.parametrize(
    ("layout", "directed"),
    [("csr", False), ("csr", True), ("varint", True), ("blocks", True), ("elias_fano", True)],
)
def test_ranks_are_those_of_the_cpu(layout: str, directed: bool) -> None:
    drawn = skewed(5000, directed=directed)
    assert numpy.diff(drawn.rows[0]).max() > 2048  # a row of several tiles, and of several units
    compare(drawn, there(drawn, layout))


@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64, numpy.uint32])
def test_weights(kind: Any) -> None:
    drawn = skewed(1200, weighted=True)
    weights = numpy.asarray(drawn.weights).astype(kind)
    compare(drawn, there(drawn, weights=weights), weights)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_dangling_vertices_and_jumps(index: Any) -> None:
    jumps = {
        "personalization": numpy.arange(9.0),
        "dangling": numpy.ones(9),
        "start": numpy.arange(1.0, 10),
        "damping": 0.6,
    }
    arcs = [(0, 1), (1, 2), (2, 0), (4, 4), (4, 7), (8, 1)]
    for asked in ({}, jumps):
        drawn = case(arcs, 9, None, directed=True, index=index, **asked)
        compare(drawn, there(drawn))
        compare(drawn, there(drawn, "varint"))


def test_a_graph_without_arcs() -> None:
    drawn = case([], 3, None, directed=True)
    for layout in ("csr", "varint"):
        assert there(drawn, layout).rank.get().tolist() == pytest.approx([1 / 3] * 3)


def test_what_is_refused() -> None:
    drawn = skewed(100, weighted=True)
    with pytest.raises(ValueError, match="reads columns"):
        there(drawn, "varint", drawn.weights)
    with pytest.raises(ValueError, match="these are in host memory"):
        pagerank(encoded("varint", drawn.rows, on_host=True), on_device(drawn.outgoing))
    with pytest.raises(NotConverged, match="after 2 iterations"):
        pagerank(encoded("csr", drawn.rows), on_device(drawn.outgoing), max_iterations=2, tolerance=1e-12)
