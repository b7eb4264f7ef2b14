"""The search over ranks on one to three emulated devices: as the CPU finds it, and a device that is lost."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.source import read_source
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.launching import DeviceBarrier
from tests.directions import without_nn
from tests.emulation import fake_cupy, kernel_library
from tests.kernels.cuda_case import LONG_PATH, fast_csr, rmat
from tests.kernels.partition.ranks_case import check, check_outputs_and_depth, same, two_sources
from tests.kernels.partition.test_search import OPTIONS
from tests.parameters import slow_among
from tests.zoo import ZooGraph, zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")
BY_NAME = {graph.name: graph for graph in zoo()}
SHAPES = ["one_vertex", "all_isolated", "one_edge", "path_33", "star_300", "two_parts", "tail_on_clique"]
LAYOUTS = [(1, 1), (3, 1), (2, 2), (4, 3)]
"""Ranks and devices."""

LONG = {"path_33", "tail_on_clique"}
"""Of many levels, each of which every emulated thread goes through."""


@pytest.mark.parametrize("name", slow_among(SHAPES, LONG))
def test_devices_find_what_the_cpu_does(name: str) -> None:
    graph: ZooGraph = BY_NAME[name]
    for symmetric, thresholds in ((True, (0, 3, 10**6, 2)), (False, (2, 10**6, 0, 3))):
        offsets, columns = graph.csr(symmetric=symmetric)
        for (ranks, devices), threshold in zip(LAYOUTS, thresholds, strict=True):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            check(whole, sorted({0, graph.vertex_count - 1}), symmetric=symmetric, devices=range(devices))


def test_labels_of_more_levels_than_a_byte_has() -> None:
    offsets, columns = fast_csr(LONG_PATH, symmetric=True)
    for ranks, threshold in ((1, 2), (2, 10**6)):
        check(partition(offsets, columns, ranks=ranks, threshold=threshold), [0])


def test_delegates_side_by_side() -> None:
    """Whole words of them, as in degree order, some words in part, and labels of four digits."""
    ring = numpy.arange(128)
    source = numpy.tile(ring, 8)
    target = (source + numpy.repeat(numpy.arange(1, 9), 128)) % 128
    tails = numpy.arange(160, 240)
    graph = ZooGraph(
        "ring",
        1200,
        numpy.concatenate((32 + source, tails, [160])).astype(numpy.uint32),
        numpy.concatenate((32 + target, tails + 1, [40])).astype(numpy.uint32),
    )
    offsets, columns = fast_csr(graph, symmetric=True)
    for ranks, devices in ((1, 1), (2, 2)):
        whole = partition(offsets, columns, ranks=ranks, threshold=10)
        check(whole, [40, 163], devices=range(devices))


def test_rows_longer_than_a_byte_are_counted_whole() -> None:
    """400 normal vertices with 300 delegates each: 401 arcs for a look back, and 341 if a row had 255."""
    normal, delegate = numpy.meshgrid(numpy.arange(400), 400 + numpy.arange(300))
    pairs = (normal.ravel().astype(numpy.uint32), delegate.ravel().astype(numpy.uint32))
    whole = partition(*fast_csr(ZooGraph("bipartite", 700, *pairs), symmetric=True), ranks=1, threshold=350)
    for factor, wanted in ((370.0, "pull"), (430.0, "push")):
        never = dict.fromkeys(("dn_backward", "dd_backward"), 1e9) | dict.fromkeys(
            ("dn_forward", "dd_forward"), 1.0
        )
        options = SearchOptions(nd_backward=factor, nd_forward=1.0, **never)
        search = CudaPartitionSearch(whole, Query(symmetric=True, output="distance"), options)
        same_distances = PartitionSearch(whole, Query(symmetric=True), options).run(500)
        found = search.run(500)
        assert numpy.array_equal(found.distance, same_distances.distance)
        assert found.directions == same_distances.directions
        assert found.directions[1] == wanted


@pytest.mark.parametrize("name", slow_among(OPTIONS, {"swinging", "uniquify"}))
def test_options_on_a_skewed_graph(name: str) -> None:
    offsets, columns = fast_csr(rmat(9), symmetric=True)
    sources = two_sources(offsets)
    for (ranks, devices), threshold in zip(LAYOUTS, (12, 200, 12, 12), strict=True):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, sources, options=SearchOptions(**OPTIONS[name]), devices=range(devices))


def test_lists_for_nn_end_where_they_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_short_lists(path: str, macros: Any) -> str:
        text = read_source(path, macros)
        assert path != "kernels/partition/cuda/ranks.cu" or "MAX_LISTED = 1 << 12;" in text
        return text.replace("MAX_LISTED = 1 << 12;", "MAX_LISTED = 3;")

    monkeypatch.setattr(kernel_library, "read_source", with_short_lists)
    monkeypatch.setattr(fake_cupy, "library", kernel_library.library.__wrapped__)
    offsets, columns = fast_csr(rmat(9), symmetric=True)
    sources = two_sources(offsets)
    for ranks, devices in ((1, 1), (2, 2)):
        whole = partition(offsets, columns, ranks=ranks, threshold=12)
        check(whole, sources, devices=range(devices))
        check(whole, sources, options=SearchOptions(direction_optimized=False), devices=range(devices))


def test_wide_vertices_and_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.partition.cuda.search.WIDE", 1)
    offsets, columns = fast_csr(rmat(8), symmetric=True, index=numpy.uint64)
    whole = partition(offsets, columns, ranks=3, threshold=20)
    check(whole, [7, 100], devices=range(2))


def test_any_predecessors_of_many_vertices_are_wide() -> None:
    """From 2^31 vertices on, of which keys of 32 bits still are the vertices."""
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    search = CudaPartitionSearch(partition(offsets, columns, ranks=1, threshold=20), Query(symmetric=True))
    (memory,) = search._memory
    narrow = search.run(1).predecessor
    assert memory.predecessors().dtype == numpy.int32
    memory._vertices = 1 << 31
    wide = memory.predecessors()
    assert wide.dtype == numpy.int64
    assert (wide == narrow).all()
    assert set(wide[wide < 0].tolist()) == {-1}


def test_levels_are_told_by_each_device() -> None:
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=4, threshold=20)
    source = int(numpy.argmax(numpy.diff(offsets)))
    search, on_cpu = (
        CudaPartitionSearch(whole, Query(symmetric=True), devices=(0, 1)),
        PartitionSearch(whole, Query(symmetric=True)),
    )
    same(search, on_cpu, source, whole)
    turned = set()
    for place, level in enumerate(zip(*search.levels, strict=True)):
        records = [rank.levels[place] for rank in on_cpu.labels]
        backward = sum((device.backward for device in level), ())
        nn_backward = {"nn" in each for each in backward}
        assert len(nn_backward) == 1
        turned |= nn_backward
        assert without_nn(backward) == without_nn(record.backward for record in records)
        assert sum(device.normal for device in level) == sum(record.normal for record in records)
        assert {device.delegates for device in level} == {records[0].delegates}
        sent = sum(record.vertex_bytes for record in records)
        assert 4 * sum(device.arrived for device in level) == (0 if True in nn_backward else sent)
        assert all(min(d.visit, d.wait, d.commit, d.commit_wait) >= 0 for d in level)
    assert turned == {True, False}


def test_a_device_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    described, alone = DeviceBarrier.described, DeviceBarrier()

    def with_a_stranger(self: Any, pointers: Any, device: int, limit: float) -> Any:
        return described(self, [*pointers, alone.pointer], device, limit)

    offsets, columns = fast_csr(rmat(7), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    with monkeypatch.context() as lost:
        lost.setattr(DeviceBarrier, "described", with_a_stranger)
        search = CudaPartitionSearch(
            whole, Query(symmetric=True), SearchOptions(barrier_seconds=0.3), devices=(0, 1)
        )
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the search was given up"):
            search.run(1)
    assert alone.aborted


def test_a_search_after_one_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    search = CudaPartitionSearch(
        whole, Query(symmetric=True), SearchOptions(barrier_seconds=0.5), devices=(0, 1)
    )
    launch = fake_cupy.Kernel.__call__

    def only_the_first(self: Any, grid: Any, block: Any, arguments: Any) -> None:
        if fake_cupy.Device().id == 0:
            launch(self, grid, block, arguments)

    with monkeypatch.context() as lost:
        lost.setattr(fake_cupy.Kernel, "__call__", only_the_first)
        with pytest.raises(RuntimeError, match="the search was given up"):
            search.run(1)
    same(search, PartitionSearch(whole, Query(symmetric=True)), 1, whole)


def test_outputs_and_depth() -> None:
    check_outputs_and_depth(fast_csr(rmat(8), symmetric=True), devices=(0, 1))
