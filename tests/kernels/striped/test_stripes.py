"""Striped searches on a GPU equal the CPU's: ranks on one device, every option, and a lost device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.striped import StripedOptions, StripedSearch, stripe
from tests.kernels.cuda_case import ZOO, fast_csr, names, rmat

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

RANKS = (1, 2, 3, 4)
OPTIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "none": {"bitmask": False, "local_duplicates": False},
    "bitmask": {"local_duplicates": False},
    "duplicates": {"bitmask": False},
    "history": {"bitmask": False, "warp_duplicates": False, "history": 64},
    "serial": {"gather": "serial"},
    "warp": {"gather": "warp"},
    "scan": {"gather": "scan"},
}


def check_tree(offsets: Any, columns: Any, distance: Any, predecessor: Any) -> None:
    n, reached = len(distance), distance > 0
    assert numpy.array_equal(predecessor >= 0, reached)
    assert (distance[predecessor[reached]] == distance[reached] - 1).all()
    tails = numpy.repeat(numpy.arange(n), numpy.diff(offsets))
    arcs = numpy.sort(tails * n + columns.astype(numpy.int64))
    wanted = predecessor[reached].astype(numpy.int64) * n + numpy.flatnonzero(reached)
    assert numpy.isin(wanted, arcs).all()


def check(graph: Any, sources: list[int], ranks: int, options: StripedOptions, **constants: Any) -> None:
    from gravel.kernels.striped.cuda import CudaStripedSearch

    whole = stripe(*graph, ranks=ranks)
    on_cpu = StripedSearch(whole, options=options)
    on_gpu = CudaStripedSearch(whole, options=replace(options, barrier_seconds=5.0), **constants)
    for source in sources:
        wanted, found = on_cpu.run(source), on_gpu.run(source)
        distance, predecessor = found.distance.get(), found.predecessor.get()
        assert numpy.array_equal(distance, wanted.distance)
        assert found.directions == wanted.directions
        if options.bitmask:
            check_tree(*graph, distance, predecessor)
        else:
            assert numpy.array_equal(predecessor, wanted.predecessor)
        for mine, theirs in zip(on_gpu.labels, on_cpu.labels, strict=True):
            for one, other in zip(mine.levels, theirs.levels, strict=True):
                assert (one.frontier, one.arcs, one.claimed) == (other.frontier, other.arcs, other.claimed)
                assert one.arcs == one.duplicates + one.masked + sum(one.sent)
                if options.bitmask or not options.local_duplicates:
                    assert (one.sent, one.sent_bytes) == (other.sent, other.sent_bytes)


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_virtual_ranks_find_what_the_cpu_does(graph: Any) -> None:
    n = graph.vertex_count
    for symmetric in (True, False):
        for ranks in RANKS:
            sources = sorted({0, n // 2, n - 1})
            check(graph.csr(symmetric=symmetric), sources, ranks, StripedOptions())


@pytest.mark.parametrize("name", OPTIONS)
def test_options_on_a_skewed_graph(name: str) -> None:
    graph = fast_csr(rmat(13), symmetric=True)
    degrees = numpy.diff(graph[0])
    sources = [int(numpy.argmax(degrees)), int(numpy.flatnonzero(degrees)[5])]
    for ranks in RANKS:
        check(graph, sources, ranks, StripedOptions(**OPTIONS[name]))
    check(graph, sources, 2, StripedOptions(**OPTIONS[name]), longest=40)


def test_wide_vertices_offsets_and_predecessors(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = fast_csr(rmat(11), symmetric=True, index=numpy.uint64)
    check(graph, [7, 100], 3, StripedOptions())
    monkeypatch.setattr("gravel.kernels.striped.cuda.search.MOST_ARCS", 1)
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    check(graph, [7, 100], 3, StripedOptions())


def test_outputs_depth_and_devices() -> None:
    from gravel.kernels.striped.cuda import CudaStripedSearch

    graph = fast_csr(rmat(11), symmetric=True)
    whole = stripe(*graph, ranks=2)
    source = int(numpy.argmax(numpy.diff(graph[0])))
    devices = range(min(2, cupy.cuda.runtime.getDeviceCount()))
    for depth in (0, 1, 2):
        wanted = StripedSearch(whole, Asked(max_depth=depth)).run(source)
        found = CudaStripedSearch(whole, Asked(max_depth=depth, output="distance"), devices=devices).run(
            source
        )
        assert found.predecessor is None
        assert numpy.array_equal(found.distance.get(), wanted.distance)
    search = CudaStripedSearch(whole, Asked(output="predecessor"), devices=devices)
    distance = StripedSearch(whole).run(source).distance
    found = search.run(source)
    assert found.distance is None
    check_tree(*graph, distance, found.predecessor.get())


def test_a_device_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.partition.cuda.device_barrier import DeviceBarrier
    from gravel.kernels.striped.cuda import CudaStripedSearch

    described, alone = DeviceBarrier.described, DeviceBarrier()

    def with_a_stranger(self: Any, pointers: Any, device: int, limit: float) -> Any:
        return described(self, [*pointers, alone.pointer], device, limit)

    whole = stripe(*fast_csr(rmat(10), symmetric=True), ranks=2)
    monkeypatch.setattr(DeviceBarrier, "described", with_a_stranger)
    search = CudaStripedSearch(whole, options=StripedOptions(barrier_seconds=0.2))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the search was given up"):
            search.run(1)
    assert alone.aborted
