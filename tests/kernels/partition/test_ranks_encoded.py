"""Ranks on a GPU whose rows are encoded find what the CPU does, in every layout."""

from __future__ import annotations

import pytest

from gravel.kernels.partition import SearchOptions, partition
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.ranks_case import check, two_sources
from tests.kernels.partition.test_encoded import encoded
from tests.zoo import zoo

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
LAYOUTS = ["varint", "blocks", "elias_fano"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_graphs(layout: str) -> None:
    for graph in zoo():
        if not graph.vertex_count:
            continue
        for symmetric, threshold in ((True, 3), (False, 0), (True, 10**6)):
            whole = partition(*graph.csr(symmetric=symmetric), ranks=3, threshold=threshold)
            sources = sorted({0, graph.vertex_count - 1})
            check(whole, sources, symmetric=symmetric, graph=encoded(whole, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("optimized", [True, False])
def test_a_skewed_graph(layout: str, optimized: bool) -> None:
    offsets, columns = fast_csr(rmat(14), symmetric=True)
    for ranks, threshold in ((1, 30), (4, 30), (2, 0), (2, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        options = SearchOptions(direction_optimized=optimized)
        check(whole, two_sources(offsets), options=options, graph=encoded(whole, layout))
