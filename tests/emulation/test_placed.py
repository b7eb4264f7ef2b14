"""Ranks whose columns lie in pinned host memory, or some of them: as on the CPU, and what is read there."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.peer_rank import PeerRank
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.placement.pinned import PinnedRefused
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.ranks_case import same
from tests.parameters import slow_among
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("pinned_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
SECTOR = 32
"""Bytes; emulated lanes read one at a time, so that each counts a sector of its own."""


class Pinned:
    def __init__(self, array: Any) -> None:
        self.array = array

    def view(self) -> Any:
        return fake_cupy.module().asarray(self.array)


@pytest.fixture
def pinned_on_cpu(cupy_on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", Pinned)


@pytest.fixture
def skewed() -> Any:
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    return offsets, partition(offsets, columns, ranks=3, threshold=20)


def placings(whole: Any) -> dict[str, Placing]:
    most = max(4 * len(part.subgraph(name)[1]) for part in whole.parts for name in ("nn", "nd", "dn", "dd"))
    return {
        "device": Placing("device"),
        "all": Placing("split", 5 * most),
        "some": Placing("split", most),
        "few": Placing("split", 400),
        "pinned": Placing("pinned"),
    }


@pytest.mark.parametrize("optimized", slow_among([True, False], [False]))
def test_placements_change_nothing_but_what_is_read(skewed: Any, optimized: bool) -> None:
    offsets, whole = skewed
    source = int(numpy.argmax(numpy.diff(offsets)))
    # Who takes any predecessor reads more or less, as others are faster or slower.
    options = SearchOptions(direction_optimized=optimized, predecessors="smallest")
    on_cpu = PartitionSearch(whole, Query(symmetric=True), options)
    read = {}
    for name, placing in placings(whole).items():
        given = Query(symmetric=True), replace(options, barrier_seconds=60.0)
        search = CudaPartitionSearch(whole, *given, devices=(0, 1), placing=placing)
        same(search, on_cpu, 3)
        wanted, found = on_cpu.run(source), search.run(source)
        assert numpy.array_equal(found.predecessor, wanted.predecessor)
        read[name] = found.link_bytes
    assert read["device"] == read["all"] == 0
    assert read["pinned"] > read["few"] > read["some"] > 0, read
    if not optimized:
        # Every arc of what is reached is read once, forward; none to delegates when all are behind.
        _, columns = fast_csr(rmat(7), symmetric=True)
        distance, delegates = on_cpu.run(source).distance, numpy.asarray(whole.delegates)
        levels = numpy.repeat(distance, numpy.diff(offsets))
        behind = numpy.isin(columns, delegates) & (levels > distance[delegates].max())
        assert distance[delegates].min() >= 0
        assert behind.any()
        assert read["pinned"] == SECTOR * ((levels >= 0) & ~behind).sum()


@pytest.mark.parametrize("name", ["one_vertex", "all_isolated", "star_300"])
def test_shapes(name: str) -> None:
    offsets, columns = BY_NAME[name].csr()
    for threshold in (0, 3):
        whole = partition(offsets, columns, ranks=2, threshold=threshold)
        on_cpu = PartitionSearch(whole, Query(symmetric=True))
        for placing in (Placing("pinned"), Placing("split", 400)):
            search = CudaPartitionSearch(
                whole,
                Query(symmetric=True),
                SearchOptions(barrier_seconds=60.0),
                devices=(0, 1),
                placing=placing,
            )
            same(search, on_cpu, 0, whole)


def test_wide_vertices() -> None:
    offsets, columns = fast_csr(rmat(7), symmetric=True, index=numpy.uint64)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    search = CudaPartitionSearch(whole, Query(symmetric=True), placing=Placing("split", 3000))
    same(search, PartitionSearch(whole, Query(symmetric=True)), 7, whole)


def test_ranks_of_a_rank_group_place_their_own(skewed: Any) -> None:
    offsets, whole = skewed
    source = int(numpy.argmax(numpy.diff(offsets)))
    wanted = PartitionSearch(whole, Query(symmetric=True)).run(source)
    options = SearchOptions(predecessors="smallest")

    def search(group: Any, _: Any, placing: Placing) -> Any:
        with fake_cupy.Device(group.rank):
            given = Query(symmetric=True), replace(options, barrier_seconds=60.0)
            rank = PeerRank(group, whole.of_rank(group.rank), *given, placing=placing)
            found = rank.run(source)
            rank.leave(group)
            return found

    alone = CudaPartitionSearch(whole, Query(symmetric=True), options, placing=Placing("pinned")).run(source)
    answers = run_in_threads(functools.partial(search, placing=Placing("pinned")), [None] * 3)
    for rank, found in enumerate(answers):
        assert numpy.array_equal(found.distance, wanted.distance[rank::3])
        assert found.link_bytes > 0
    assert sum(found.link_bytes for found in answers) == alone.link_bytes


def test_memory_that_is_not_pinned_is_said(skewed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(array: Any) -> Any:
        raise PinnedRefused("operation not supported")

    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", refuse)
    with pytest.raises(ValueError, match=r"refuses pinned memory .operation not supported"):
        CudaPartitionSearch(skewed[1], Query(symmetric=True), placing=Placing("pinned"))
    with pytest.raises(ValueError, match="placement is 'streamed'; ranks have device, split, pinned"):
        Placing("streamed")
