"""Ranks that cull and sort their nn arcs, on one to three emulated devices: found is what the CPU finds."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.source import read_source
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch, mapping
from gravel.kernels.partition.cuda.peer_rank import PeerRank
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.partition.stripes import stripe
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy, kernel_library
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.culled_case import CULLING, FORWARD, check_culled
from tests.kernels.partition.ranks_case import check, two_sources
from tests.parameters import slow_among
from tests.zoo import ZooGraph, zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
SHAPES = ["one_vertex", "all_isolated", "one_edge", "path_33", "star_300", "two_parts", "tail_on_clique"]
LAYOUTS = [(1, 1), (3, 1), (2, 2), (4, 3)]
"""Ranks and devices."""


@pytest.mark.parametrize("name", slow_among(SHAPES, {"path_33", "tail_on_clique"}))
def test_devices_find_in_stripes_what_the_cpu_does(name: str) -> None:
    graph: ZooGraph = BY_NAME[name]
    for symmetric in (True, False):
        for ranks, devices in LAYOUTS:
            whole = stripe(*graph.csr(symmetric=symmetric), ranks=ranks)
            sources = sorted({0, graph.vertex_count - 1})
            check_culled(whole, sources, CULLING["all"], symmetric=symmetric, devices=range(devices))


@pytest.mark.parametrize("name", slow_among(CULLING, {"bins", "exact", "duplicates"}))
def test_options_on_a_skewed_graph(name: str) -> None:
    graph = fast_csr(rmat(9), symmetric=True)
    for ranks, devices in LAYOUTS:
        whole = stripe(*graph, ranks=ranks)
        check_culled(whole, two_sources(graph[0]), CULLING[name], devices=range(devices))


@pytest.mark.parametrize("name", slow_among(["all", "exact"], ["exact"]))
def test_delegates_go_beside(name: str) -> None:
    """With delegates too, and with visits that turn backward, nn among them."""
    graph = fast_csr(rmat(9), symmetric=True)
    ways: dict[str, Any] = CULLING[name]
    for (ranks, devices), threshold in zip(LAYOUTS, (0, 12, 12, 200), strict=True):
        whole = partition(*graph, ranks=ranks, threshold=threshold)
        check_culled(whole, two_sources(graph[0]), ways, devices=range(devices))
        check(whole, two_sources(graph[0]), options=SearchOptions(**ways), devices=range(devices))


def with_other_text(monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> None:
    """Let the kernel that culls be another."""

    def changed(path: str, macros: Any) -> str:
        text = read_source(path, macros)
        for old, new in texts.items() if path == "kernels/partition/cuda/ranks_culled.cu" else ():
            assert text.count(old) == 1
            text = text.replace(old, new)
        return text

    monkeypatch.setattr(kernel_library, "read_source", changed)
    monkeypatch.setattr(fake_cupy, "library", kernel_library.library.__wrapped__)


def test_wide_vertices_and_long_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a whole block, and more bins than are sorted at once."""
    less = {"BLOCK_ROW = 2048;": "BLOCK_ROW = 40;", "BINS_AT_ONCE = 64;": "BINS_AT_ONCE = 2;"}
    with_other_text(monkeypatch, less)
    graph = fast_csr(rmat(8), symmetric=True, index=numpy.uint64)
    for name in ("all", "none"):
        check_culled(stripe(*graph, ranks=5), two_sources(graph[0]), CULLING[name], devices=range(2))


def test_a_byte_that_others_write_may_lose_bits_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second bit is lost: more is sent, and the same is found."""
    with_other_text(monkeypatch, {"*byte = u8(known | bit);": "if (id & 1) *byte = u8(known | bit);"})
    graph = fast_csr(rmat(8), symmetric=True)
    check_culled(stripe(*graph, ranks=3), two_sources(graph[0]), CULLING["bitmask"], devices=range(2))


def test_a_log_that_is_too_short_is_made_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.partition.cuda.launch.LOGGED_LEVELS", 3)
    graph = fast_csr(rmat(7), symmetric=True)
    check_culled(stripe(*graph, ranks=2), [1, 1], CULLING["all"], devices=[0])


def search_as_peer(group: Any, whole: Any, source: int) -> Any:
    with fake_cupy.Device(group.rank):
        ways: dict[str, Any] = {**FORWARD, **CULLING["exact"], "barrier_seconds": 60.0}
        rank = PeerRank(group, whole.of_rank(group.rank), Query(symmetric=True), SearchOptions(**ways))
        found = rank.run(source)
        rank.leave(group)
        return found


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_of_a_rank_group_count_their_own_arcs(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "process_id", threading.get_ident)
    graph = fast_csr(rmat(8), symmetric=True)
    whole, source = stripe(*graph, ranks=ranks), two_sources(graph[0])[0]
    ways: dict[str, Any] = {**FORWARD, **CULLING["exact"]}
    on_cpu = PartitionSearch(whole, Query(symmetric=True), SearchOptions(**ways))
    wanted = on_cpu.run(source)
    answers = run_in_threads(functools.partial(search_as_peer, source=source), [whole] * ranks)
    for rank, labels in enumerate(on_cpu.labels):
        assert numpy.array_equal(answers[rank].distance, wanted.distance[rank::ranks])
        assert [level.gathered for level in answers[rank].levels] == [
            level.gathered for level in labels.levels
        ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"groups": 2}, "bins: on GPUs for columns there and neither groups"),
        ({"reduction_algorithm": "tree"}, "bins: on GPUs for columns there and neither groups"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], words: str) -> None:
    whole = stripe(*BY_NAME["path_33"].csr(), ranks=2)
    with pytest.raises(ValueError, match=words):
        CudaPartitionSearch(whole, options=SearchOptions(bins="prefix_sum", **given))


def test_columns_in_host_memory_are_not_culled() -> None:
    whole = stripe(*BY_NAME["path_33"].csr(), ranks=2)
    options = SearchOptions(local_duplicates=True)
    with pytest.raises(ValueError, match=r"local_duplicates: on GPUs .* these are columns in host memory"):
        CudaPartitionSearch(whole, options=options, placing=Placing("pinned", 0))
