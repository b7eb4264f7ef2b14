"""Striped searches on a GPU equal the CPU's: ranks on one device, and every option."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.striped import StripedOptions, StripedSearch, stripe
from tests.kernels.cuda_case import ZOO, fast_csr, names, path, rmat
from tests.kernels.side_by_side import sharing
from tests.kernels.striped.striped_case import check
from tests.trees import check_tree

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


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_virtual_ranks_find_what_the_cpu_does(graph: Any) -> None:
    n = graph.vertex_count
    for symmetric in (True, False):
        for ranks in RANKS:
            sources = sorted({0, n // 2, n - 1})
            check(graph.csr(symmetric=symmetric), sources, ranks)


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
    check(graph, [7, 100], 3)
    monkeypatch.setattr("gravel.kernels.striped.cuda.search.MAX_ARCS", 1)
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    check(graph, [7, 100], 3)


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
    check_tree(whole, source, distance, found.predecessor.get())


@pytest.mark.parametrize(("ranks", "devices"), [(2, 2), (3, 3), (4, 2), (8, 8)])
def test_devices_that_share_a_gpu(ranks: int, devices: int) -> None:
    for graph in (rmat(14), *ZOO):
        for options in (StripedOptions(), StripedOptions(bitmask=False)):
            with sharing(devices) as shared:
                sources = [0, graph.vertex_count - 1]
                check(fast_csr(graph, symmetric=True), sources, ranks, options, devices=shared)


def test_every_level_of_stripes_has_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.striped.cuda import CudaStripedSearch

    monkeypatch.setattr("gravel.kernels.striped.cuda.launch.LOGGED_LEVELS", 250)
    whole = stripe(*path(700), ranks=2)
    search, on_cpu = CudaStripedSearch(whole), StripedSearch(whole)
    for source in (350, 0, 0):
        found, wanted = search.run(source), on_cpu.run(source)
        assert found.directions == wanted.directions
        for mine, theirs in zip(search.labels, on_cpu.labels, strict=True):
            assert [level.frontier for level in mine.levels] == [level.frontier for level in theirs.levels]
            assert all(
                level.expand_milliseconds + level.barrier_milliseconds + level.contract_milliseconds > 0
                for level in mine.levels
            )
