"""Ranks on a GPU that cull and sort their nn arcs find what the CPU's do, and count the same arcs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.partition import partition
from gravel.kernels.partition.stripes import stripe
from tests.kernels.cuda_case import LONG_PATH, ZOO, fast_csr, names, rmat
from tests.kernels.partition.culled_case import CULLING, check_culled
from tests.kernels.partition.ranks_case import two_sources
from tests.kernels.side_by_side import sharing

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

RANKS = (1, 2, 3, 4)


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_stripes_of_one_gpu(graph: Any) -> None:
    n = graph.vertex_count
    for symmetric in (True, False):
        for ranks in RANKS:
            whole = stripe(*graph.csr(symmetric=symmetric), ranks=ranks)
            check_culled(whole, sorted({0, n // 2, n - 1}), CULLING["all"], symmetric=symmetric)


@pytest.mark.parametrize("name", CULLING)
def test_options_on_a_skewed_graph(name: str) -> None:
    graph = fast_csr(rmat(13), symmetric=True)
    for ranks in (*RANKS, 16):
        check_culled(stripe(*graph, ranks=ranks), two_sources(graph[0]), CULLING[name])
    for threshold in (0, 30):
        check_culled(partition(*graph, ranks=2, threshold=threshold), two_sources(graph[0]), CULLING[name])


def test_rows_that_a_block_reads_and_wide_vertices() -> None:
    graph = fast_csr(rmat(15), symmetric=True)
    assert numpy.diff(graph[0]).max() > 4096
    for index in (numpy.uint32, numpy.uint64):
        rows = graph[0], graph[1].astype(index)
        check_culled(stripe(*rows, ranks=3), two_sources(graph[0]), CULLING["all"])


def test_hundreds_of_levels() -> None:
    check_culled(stripe(*fast_csr(LONG_PATH, symmetric=True), ranks=2), [0], CULLING["all"])


@pytest.mark.parametrize(("ranks", "devices"), [(2, 2), (3, 3), (4, 2), (8, 8)])
def test_devices_that_share_a_gpu(ranks: int, devices: int) -> None:
    for graph in (rmat(14), *ZOO):
        whole = stripe(*fast_csr(graph, symmetric=True), ranks=ranks)
        for name in ("all", "none"):
            with sharing(devices) as shared:
                check_culled(whole, [0, graph.vertex_count - 1], CULLING[name], devices=shared)
