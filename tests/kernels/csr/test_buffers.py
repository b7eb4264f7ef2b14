"""What tables of rows state is what NumPy takes: of building, turning round, choosing and ranking."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from gravel.kernels import subgraph_buffers
from gravel.kernels.buffers import Table, total
from gravel.kernels.cores import core_numbers
from gravel.kernels.csr import buffers, build
from gravel.kernels.csr.reversed import reversed_rows
from gravel.kernels.csr.weighted import build_weighted
from gravel.kernels.generate import generate
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.pagerank import buffers as ranks
from gravel.kernels.pagerank import pagerank
from gravel.kernels.subgraph import induced

SCALE = 16
N, EDGES = 1 << SCALE, 16 << SCALE
KEPT: dict[str, Any] = {"direction": "as_given", "keep_loops": True}

SORTING = 1 << 19
"""Of a row that is sorted, on each of a few threads."""

Case = tuple[Callable[..., Any], Table]

CASES: dict[str, Case] = {
    "rows": (
        lambda edges, *_: build(*edges, N, keep_duplicates=True, **KEPT),
        buffers.on_host(N, EDGES, "u4"),
    ),
    "weighted rows": (
        lambda edges, _, weights: build_weighted(*edges, weights, N, **KEPT),
        buffers.weighted(N, EDGES),
    ),
    "reversed rows": (
        lambda _, rows, __: reversed_rows(*rows[:2]),
        buffers.reversed_rows(N, EDGES, "u4", weights=False),
    ),
    "reversed rows with weights": (
        lambda _, rows, weights: reversed_rows(*rows[:2], weights),
        buffers.reversed_rows(N, EDGES, "u4", weights=True),
    ),
    "subgraph": (
        lambda _, rows, weights: induced(
            columns_as_rows(*rows[:2]), numpy.arange(0, N, 2), permutation=None, weights=weights
        ),
        subgraph_buffers.on_host(N, N // 2, 0, "u4", weighted=True),
    ),
    "cores": (lambda _, rows, __: core_numbers(*rows[:2]), subgraph_buffers.cores(N)),
    "PageRank": (
        lambda _, rows, __: pagerank(columns_as_rows(*rows[:2]), numpy.diff(rows[0]).astype(float)),
        ranks.on_host(N),
    ),
}


@pytest.fixture(scope="module")
def given() -> tuple[Any, Any, Any]:
    edges = generate("rmat", scale=SCALE, edge_factor=16, seed=1)
    rows = build(*edges, N, keep_duplicates=True, **KEPT)
    return edges, rows, numpy.arange(EDGES, dtype=numpy.uint32)


@pytest.mark.parametrize("name", CASES)
def test_what_is_stated_is_taken(given: tuple[Any, Any, Any], name: str) -> None:
    """Kernels are compiled before; of the subgraph, the arcs are known when it is there."""
    run, table = CASES[name]
    found = run(*given)
    arcs = 8 * len(found.column_indices) if name == "subgraph" else 0
    del found
    tracemalloc.start()
    try:
        run(*given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    stated = total(table, "host") + arcs
    assert 0.9 * stated <= peak <= 1.03 * stated + SORTING
