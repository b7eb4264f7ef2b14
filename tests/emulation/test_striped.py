"""The striped search on one to three emulated devices: as the CPU finds it, and a device that is lost."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.partition.cuda import mapping
from gravel.kernels.partition.cuda.launching import DeviceBarrier
from gravel.kernels.striped import StripedOptions, StripedSearch, stripe
from gravel.kernels.striped.cuda import CudaStripedSearch
from gravel.kernels.striped.cuda.search import PeerStripe
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.striped.striped_case import check, same_levels
from tests.parameters import slow_among
from tests.trees import check_tree
from tests.zoo import ZooGraph, zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
SHAPES = ["one_vertex", "all_isolated", "one_edge", "path_33", "star_300", "two_parts", "tail_on_clique"]
LAYOUTS = [(1, 1), (3, 1), (2, 2), (4, 3)]
"""Ranks and devices."""
OPTIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "none": {"bitmask": False, "local_duplicates": False, "gather": "warp"},
    "bitmask": {"local_duplicates": False, "gather": "scan"},
    "duplicates": {"bitmask": False},
    "history": {"bitmask": False, "warp_duplicates": False, "history": 4, "gather": "serial"},
}


@pytest.mark.parametrize("name", slow_among(SHAPES, {"path_33", "tail_on_clique"}))
def test_devices_find_what_the_cpu_does(name: str) -> None:
    graph: ZooGraph = BY_NAME[name]
    for symmetric in (True, False):
        csr = graph.csr(symmetric=symmetric)
        for ranks, devices in LAYOUTS:
            check(csr, sorted({0, graph.vertex_count - 1}), ranks, devices=range(devices))


@pytest.mark.parametrize("name", slow_among(OPTIONS, {"none", "duplicates", "history"}))
def test_options_on_a_skewed_graph(name: str) -> None:
    graph = fast_csr(rmat(9), symmetric=True)
    degrees = numpy.diff(graph[0])
    sources = [int(numpy.argmax(degrees)), int(numpy.flatnonzero(degrees)[5])]
    for ranks, devices in LAYOUTS:
        check(graph, sources, ranks, StripedOptions(**OPTIONS[name]), devices=range(devices))


def test_wide_vertices_offsets_and_predecessors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.striped.cuda.search.MAX_ARCS", 1)
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    graph = fast_csr(rmat(8), symmetric=True, index=numpy.uint64)
    check(graph, [7, 100], 3, devices=range(2))


def test_rows_that_the_whole_grid_reads() -> None:
    graph = fast_csr(rmat(8), symmetric=True)
    sources = [7, int(numpy.argmax(numpy.diff(graph[0])))]
    check(graph, sources, 2, StripedOptions(bitmask=False), devices=[0], longest=5)


def test_outputs_and_depth() -> None:
    graph = fast_csr(rmat(8), symmetric=True)
    whole = stripe(*graph, ranks=2)
    source = int(numpy.argmax(numpy.diff(graph[0])))
    for depth in (0, 1, 2):
        wanted = StripedSearch(whole, Asked(max_depth=depth)).run(source)
        found = CudaStripedSearch(whole, Asked(max_depth=depth, output="distance"), devices=(0, 1)).run(
            source
        )
        assert found.predecessor is None
        assert numpy.array_equal(found.distance, wanted.distance)
        assert found.directions == wanted.directions
    assert CudaStripedSearch(whole, Asked(output="predecessor")).run(source).distance is None


def test_what_cannot_be_is_refused() -> None:
    whole = stripe(*BY_NAME["path_33"].csr(), ranks=2)
    with pytest.raises(ValueError, match="at most 1024 entries"):
        CudaStripedSearch(whole, options=StripedOptions(history=2048))
    with pytest.raises(ValueError, match="2 ranks do not go on 3 devices"):
        CudaStripedSearch(whole, devices=range(3))
    with pytest.raises(ValueError, match="source 33 is not a vertex"):
        CudaStripedSearch(whole).run(33)


def test_a_device_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    described, alone = DeviceBarrier.described, DeviceBarrier()

    def with_a_stranger(self: Any, pointers: Any, device: int, limit: float) -> Any:
        return described(self, [*pointers, alone.pointer], device, limit)

    graph = fast_csr(rmat(7), symmetric=True)
    whole = stripe(*graph, ranks=2)
    with monkeypatch.context() as lost:
        lost.setattr(DeviceBarrier, "described", with_a_stranger)
        search = CudaStripedSearch(whole, options=StripedOptions(barrier_seconds=0.3), devices=(0, 1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the search was given up"):
            search.run(1)
    assert alone.aborted


def search_as_peer(group: Any, part: Any, vertices: int, sources: list[int]) -> list[Any]:
    with fake_cupy.Device(group.rank):
        rank = PeerStripe(group, part, vertices, Asked(), StripedOptions(barrier_seconds=60.0))
        found = [rank.run(source) for source in sources]
        rank.leave(group)
        return found


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_of_a_rank_group_map_each_other(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "process_id", threading.get_ident)
    graph = fast_csr(rmat(8), symmetric=True)
    whole = stripe(*graph, ranks=ranks)
    sources = [int(numpy.argmax(numpy.diff(graph[0]))), 3]
    on_cpu = StripedSearch(whole)
    act = functools.partial(search_as_peer, vertices=whole.vertex_count, sources=sources)
    answers = run_in_threads(act, list(whole.parts))
    for place, source in enumerate(sources):
        wanted = on_cpu.run(source)
        distance, predecessor = (numpy.empty(whole.vertex_count, numpy.int64) for _ in range(2))
        for rank in range(ranks):
            distance[rank::ranks] = answers[rank][place].distance
            predecessor[rank::ranks] = answers[rank][place].predecessor
        assert numpy.array_equal(distance, wanted.distance)
        check_tree(whole, source, distance, predecessor)
        same_levels([answers[rank][place] for rank in range(ranks)], on_cpu.labels, StripedOptions())
