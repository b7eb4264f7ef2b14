"""Ranks with encoded rows on emulated devices find what those with columns do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.peer_rank import PeerRank
from gravel.kernels.partition.cuda.placing import Placing
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.ranks_case import assert_shares, same
from tests.kernels.partition.test_encoded import encoded
from tests.parameters import slow_among
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
LAYOUTS = [
    "varint",
    pytest.param("blocks", marks=pytest.mark.slow),
    pytest.param("elias_fano", marks=pytest.mark.slow),
]


def check(whole: Any, layout: str, sources: list[int], options: SearchOptions = SearchOptions()) -> None:
    query, patient = Query(symmetric=True), replace(options, barrier_seconds=60.0)
    on_cpu = PartitionSearch(whole, query, options)
    search = CudaPartitionSearch(encoded(whole, layout), query, patient, devices=(0, 1))
    for source in sources:
        same(search, on_cpu, source, whole)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_in_both_directions(layout: str) -> None:
    offsets, columns = fast_csr(rmat(6), symmetric=True)
    source = int(numpy.argmax(numpy.diff(offsets)))
    # All arcs nn, all dd, and some of each.
    for threshold, optimized in ((10**6, False), (0, True), (0, False), (20, True), (20, False)):
        whole = partition(offsets, columns, ranks=2, threshold=threshold)
        check(whole, layout, [source], options=SearchOptions(direction_optimized=optimized))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_many_units(layout: str) -> None:
    # A hub of 750 neighbours, 375 here: two units of blocks and as dn a row of its own.
    n = 3000
    spokes = numpy.arange(1, n, 4)
    heads = numpy.concatenate((spokes, numpy.zeros(len(spokes), numpy.int64)))
    tails = numpy.concatenate((numpy.zeros(len(spokes), numpy.int64), spokes))
    order = numpy.lexsort((heads, tails))
    offsets = numpy.zeros(n + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(tails, minlength=n), out=offsets[1:])
    for threshold in (0, 10):
        whole = partition(offsets, heads[order].astype(numpy.uint32), ranks=2, threshold=threshold)
        check(whole, layout, [0, 1])


@pytest.mark.parametrize(
    "name", slow_among(["one_vertex", "path_33", "star_300", "tail_on_clique"], {"path_33"})
)
def test_shapes(name: str) -> None:
    offsets, columns = BY_NAME[name].csr()
    whole = partition(offsets, columns, ranks=2, threshold=3)
    check(whole, "varint", [0])


def test_ranks_of_a_rank_group() -> None:
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    wanted = PartitionSearch(whole, Query(symmetric=True)).run(3)
    packed = encoded(whole, "varint")

    def search(group: Any, _: Any) -> Any:
        with fake_cupy.Device(group.rank):
            options = SearchOptions(predecessors="smallest", barrier_seconds=60.0)
            rank = PeerRank(group, packed.of_rank(group.rank), Query(symmetric=True), options)
            found = rank.run(3)
            rank.leave(group)
            return found

    assert_shares(run_in_threads(search, list(packed.parts)), wanted)


def test_what_is_not_taken() -> None:
    offsets, columns = fast_csr(rmat(7), symmetric=True, index=numpy.uint64)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    with pytest.raises(ValueError, match=r"2\^32 vertices and more"):
        CudaPartitionSearch(encoded(whole, "varint"), Query(symmetric=True))
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    with pytest.raises(ValueError, match="placement pinned is for columns"):
        CudaPartitionSearch(encoded(whole, "varint"), Query(symmetric=True), placing=Placing("pinned"))
