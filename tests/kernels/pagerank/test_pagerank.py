"""PageRank on the CPU: ranks and iterations of NetworkX, in every layout, with equal bits on any threads."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings

from gravel.kernels.layouts import LAYOUTS, columns_as_rows, encode
from gravel.kernels.pagerank import NotConverged, pagerank
from gravel.kernels.threads import max_threads, set_threads
from tests.kernels.pagerank.cases import Case, cases, skewed

MAX_ITERATIONS = 1 << 12
"""Iterations, in which each case converges."""


def found(case: Case, layout: str = "csr", **asked: Any) -> Any:
    rows = encode(layout, *case.rows)
    return pagerank(
        rows, case.outgoing, case.weights, max_iterations=MAX_ITERATIONS, **{**case.asked, **asked}
    )


def compare(case: Case, ranks: Any, tolerance: float) -> None:
    """Compare ranks with those of NetworkX, which does not converge in fewer iterations."""
    numpy.testing.assert_allclose(ranks.rank, case.expected(tolerance, MAX_ITERATIONS), rtol=0, atol=1e-9)
    if tolerance > 1e-12:  # that is near the rounding of sums
        assert case.expected(tolerance, ranks.iterations) is not None
        assert case.expected(tolerance, ranks.iterations - 1) is None


@given(cases())
@settings(max_examples=30, deadline=None)
def test_ranks_are_those_of_networkx(case: Case) -> None:
    for tolerance in (1e-6, 1e-12):
        ranks = found(case, tolerance=tolerance)
        compare(case, ranks, tolerance)
        assert ranks.residual < tolerance * len(ranks.rank)
        for layout in LAYOUTS:
            other = found(case, layout, tolerance=tolerance)
            assert other.rank.tobytes() == ranks.rank.tobytes()


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_a_skewed_graph_on_any_number_of_threads(
    directed: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gravel.kernels.pagerank.cpu.CHUNK", 1 << 8)
    monkeypatch.setattr("gravel.kernels.threads.max_threads", lambda: 8)
    case = skewed(directed=directed, weighted=weighted)
    bits = set()
    for threads in (1, 2, 3, 8):
        set_threads(threads)
        for layout in ("csr", "varint"):
            ranks = found(case, layout, tolerance=1e-9)
            bits.add((ranks.iterations, ranks.rank.tobytes()))
    set_threads(max_threads())
    assert len(bits) == 1
    compare(case, ranks, 1e-9)


def test_pauses_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    case, told = skewed(), []
    whole = found(case)
    monkeypatch.setattr("gravel.kernels.pagerank.UNINTERRUPTED", 1)
    one_by_one = found(case, progress=lambda done, most: told.append((done, most)))
    assert whole.rank.tobytes() == one_by_one.rank.tobytes()
    assert told == [(i + 1, MAX_ITERATIONS) for i in range(whole.iterations)]


def test_no_convergence_is_an_error_with_its_numbers() -> None:
    case = skewed()
    rows = columns_as_rows(*case.rows)
    with pytest.raises(NotConverged, match=r"after 3 iterations the residual is 0\.\d+, .* below 3e-12") as e:
        pagerank(rows, case.outgoing, tolerance=1e-15, max_iterations=3)
    assert e.value.iterations == 3
    assert e.value.residual > 1e-12


def test_what_is_refused() -> None:
    case = skewed(100)
    rows, zero = columns_as_rows(*case.rows), numpy.zeros(100)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"damping": 1.5}, "damping is 1.5"),
        ({"tolerance": 0}, "tolerance is 0"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"personalization": zero}, "personalization must have finite values"),
        ({"start": zero - 1}, "start must have"),
        ({"dangling": zero + numpy.inf}, "dangling must have"),
        ({"dangling": zero[:3]}, r"dangling has the shape \(3,\)"),
        ({"weights": zero}, "100 weights"),
    ]
    for asked, message in refused:
        with pytest.raises(ValueError, match=message):
            pagerank(rows, case.outgoing, **asked)


def test_a_graph_without_vertices() -> None:
    rows = columns_as_rows(numpy.zeros(1, numpy.int64), numpy.empty(0, numpy.uint32))
    assert len(pagerank(rows, numpy.empty(0)).rank) == 0
