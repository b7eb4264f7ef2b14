"""Searches over several devices, on one GPU that they share, equal the CPU's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.directions import without_nn
from tests.kernels.cuda_case import ENDS_OF_PATH, LONG_PATH, ZOO, fast_csr, names, rmat
from tests.kernels.partition.ranks_case import check, two_sources
from tests.kernels.partition.test_encoded import encoded
from tests.kernels.partition.test_search import OPTIONS
from tests.kernels.side_by_side import sharing
from tests.trees import check_tree
from tests.zoo import scipy_components

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
LAYOUTS = ((2, 2), (3, 3), (4, 2), (8, 8))
"""Ranks and devices."""


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_small_graphs(graph: Any) -> None:
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        for (ranks, devices), threshold in zip(LAYOUTS, (3, 0, 10**6, 3), strict=True):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            with sharing(devices) as shared:
                sources = sorted({0, graph.vertex_count - 1})
                check(whole, sources, symmetric=symmetric, devices=shared)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(("ranks", "devices"), LAYOUTS)
def test_options_on_a_skewed_graph(ranks: int, devices: int, name: str) -> None:
    offsets, columns = fast_csr(rmat(15), symmetric=True)
    for threshold in (0, 12, 200):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        with sharing(devices) as shared:
            options = SearchOptions(**OPTIONS[name])
            check(whole, two_sources(offsets), options=options, devices=shared)


def test_hundreds_of_levels_and_again_and_again() -> None:
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    whole = partition(*fast_csr(LONG_PATH, symmetric=True), ranks=3, threshold=2)
    with sharing(3) as shared:
        check(whole, ENDS_OF_PATH, devices=shared)
    whole = partition(*fast_csr(rmat(16), symmetric=True), ranks=2, threshold=32)
    on_cpu = PartitionSearch(whole, Query(symmetric=True))
    with sharing(2) as shared:
        search = CudaPartitionSearch(
            whole, Query(symmetric=True), SearchOptions(barrier_seconds=5.0), devices=shared
        )
        for source in numpy.flatnonzero(on_cpu.run(1).distance >= 0)[:200].tolist():
            found = search.run(source)
            assert numpy.array_equal(found.distance.get(), on_cpu.run(source).distance)
            check_tree(whole, source, found.distance.get(), found.predecessor.get())
        for told, records in zip(search.levels, on_cpu.labels, strict=True):
            assert without_nn(level.backward[0] for level in told) == [
                list(record.backward) for record in records.levels
            ]
            assert [level.normal for level in told] == [record.normal for record in records.levels]


@pytest.mark.parametrize("layout", ["varint", "blocks", "elias_fano"])
def test_encoded_rows(layout: str) -> None:
    offsets, columns = fast_csr(rmat(13), symmetric=True)
    with sharing(2) as shared:
        for ranks, threshold in ((2, 30), (4, 10**6)):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            graph = encoded(whole, layout)
            check(whole, [7, 100], devices=shared, graph=graph)


@pytest.mark.parametrize("placement", ["split", "pinned"])
def test_columns_in_host_memory(placement: Any) -> None:
    from gravel.kernels.partition.cuda.placing import Placing

    offsets, columns = fast_csr(rmat(13), symmetric=True)
    placing = Placing(placement, len(columns) if placement == "split" else 0)
    with sharing(2) as shared:
        whole = partition(offsets, columns, ranks=2, threshold=30)
        check(whole, [7, 100], devices=shared, placing=placing)


def test_vertices_and_offsets_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True, index=numpy.uint64)
    monkeypatch.setattr("gravel.kernels.partition.cuda.search.WIDE", 1)
    with sharing(3) as shared:
        whole = partition(offsets, columns, ranks=3, threshold=20)
        check(whole, [7, 100], devices=shared)


@pytest.mark.parametrize(("ranks", "devices"), LAYOUTS)
def test_components(ranks: int, devices: int) -> None:
    from gravel.kernels.partition.cuda.components import CudaComponents

    for graph in (rmat(16), *ZOO):
        offsets, columns = fast_csr(graph, symmetric=True)
        wanted = scipy_components(offsets, columns)
        whole = partition(offsets, columns, ranks=ranks, threshold=64 if graph not in ZOO else 3)
        with sharing(devices) as shared:
            search = CudaComponents(whole, symmetric=True, devices=shared, time_limit=5.0)
            for _ in range(3):
                assert numpy.array_equal(search.run().component.get(), wanted)


def test_a_device_that_does_not_come_is_given_up_and_searches_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.partition.cuda import CudaPartitionSearch
    from gravel.kernels.partition.cuda.launch import Launch

    whole = partition(*fast_csr(rmat(12), symmetric=True), ranks=2, threshold=20)
    wanted = PartitionSearch(whole, Query(symmetric=True)).run(7).distance
    with sharing(2) as shared:
        search = CudaPartitionSearch(
            whole, Query(symmetric=True), SearchOptions(barrier_seconds=0.2), devices=shared
        )
        start = Launch.start

        def first_alone(self: Any, source: int, depth: int | None) -> Any:
            if self is not search._devices.launches[0]:
                return None, cupy.cuda.Event()
            return start(self, source, depth)

        for _ in range(2):
            assert numpy.array_equal(search.run(7).distance.get(), wanted)
            with monkeypatch.context() as patch:
                patch.setattr(Launch, "start", first_alone)
                with pytest.raises(RuntimeError, match="the search was given up"):
                    search.run(7)
