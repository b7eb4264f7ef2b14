"""Partitioned searches on a GPU equal the CPU's: ranks on one device, and every option."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.directions import without_nn
from tests.kernels.cuda_case import ENDS_OF_PATH, LONG_PATH, ZOO, fast_csr, names, rmat
from tests.kernels.partition.ranks_case import check, check_outputs_and_depth, two_sources
from tests.kernels.partition.test_search import OPTIONS

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
RANKS = (1, 2, 3, 4)


def test_labels_of_more_levels_than_a_byte_has() -> None:
    offsets, columns = fast_csr(LONG_PATH, symmetric=True)
    for ranks, threshold in itertools.product((1, 3), (2, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, ENDS_OF_PATH)


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_virtual_ranks_find_what_the_cpu_does(graph: Any) -> None:
    n = graph.vertex_count
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        for ranks, threshold in itertools.product(RANKS, (0, 3, 10**6)):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            sources = sorted({0, n // 2, n - 1})
            check(whole, sources, symmetric=symmetric)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_change_nothing(name: str) -> None:
    options = SearchOptions(**OPTIONS[name])
    offsets, columns = fast_csr(rmat(13), symmetric=True)
    for ranks, threshold in itertools.product(RANKS, (0, 12, 200)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, two_sources(offsets), options=options)


def test_wide_vertices_and_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True, index=numpy.uint64)
    whole = partition(offsets, columns, ranks=3, threshold=20)
    check(whole, [7, 100])
    monkeypatch.setattr("gravel.kernels.partition.cuda.search.WIDE", 1)
    check(whole, [7, 100])


def test_levels_are_told() -> None:
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    offsets, columns = fast_csr(rmat(12), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    source = int(numpy.argmax(numpy.diff(offsets)))
    search, on_cpu = (made(whole, Query(symmetric=True)) for made in (CudaPartitionSearch, PartitionSearch))
    result, wanted = search.run(source), on_cpu.run(source)
    assert len(search.levels[0]) == len(result.directions) == len(wanted.directions)
    for place, level in enumerate(search.levels[0]):
        records = [rank.levels[place] for rank in on_cpu.labels]
        assert without_nn(level.backward) == without_nn(record.backward for record in records)
        assert level.normal == sum(record.normal for record in records)
        assert level.delegates == records[0].delegates
        assert min(level.visit, level.wait, level.commit, level.commit_wait) >= 0
        assert level.visit > 0


def test_outputs_and_depth() -> None:
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    offsets, columns = fast_csr(rmat(11), symmetric=True)
    check_outputs_and_depth((offsets, columns))
    whole = partition(offsets, columns, ranks=2, threshold=20)
    source = int(numpy.argmax(numpy.diff(offsets)))
    grouped = CudaPartitionSearch(whole, Query(symmetric=True), SearchOptions(groups=2)).run(source)
    assert numpy.array_equal(
        grouped.distance.get(), PartitionSearch(whole, Query(symmetric=True)).run(source).distance
    )
