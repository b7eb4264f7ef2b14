"""Searches of more levels than a log has room for at first: each level keeps its clock and its counts."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.peer_rank import PeerRank
from gravel.kernels.partition.nccl.rank import NcclRank
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy, lazy_cupy
from tests.emulation.fake_nccl import Network
from tests.kernels.cuda_case import path
from tests.zoo import zoo

LEVELS = 700
SHORT = {graph.name: graph for graph in zoo()}["path_33"]


def check_records(found: Any, wanted: Any) -> None:
    """Compare the levels of a rank with those of the CPU's, all of which have a clock."""
    assert len(found) == len(wanted)
    assert [level.normal for level in found] == [level.normal for level in wanted]
    assert [level.delegates for level in found] == [level.delegates for level in wanted]
    assert all(level.visit_milliseconds > 0 for level in found)


@pytest.mark.usefixtures("cupy_on_cpu")
@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_level_of_ranks_on_one_or_two_gpus_has_a_clock(devices: int) -> None:
    whole = partition(*path(LEVELS), ranks=2, threshold=10**6)
    search, on_cpu = (
        CudaPartitionSearch(whole, Query(symmetric=True), devices=range(devices)),
        PartitionSearch(whole, Query(symmetric=True)),
    )
    found, wanted = search.run(0), on_cpu.run(0)
    assert numpy.array_equal(found.distance, wanted.distance)
    assert found.directions == wanted.directions
    assert len(found.directions) == LEVELS
    for levels in search.levels:
        assert len(levels) == LEVELS
        assert all(level.visit > 0 for level in levels)
    frontiers = zip(*search.levels, strict=True)
    assert all(sum(device.normal for device in level) == 1 for level in frontiers)


@pytest.mark.usefixtures("cupy_on_cpu")
def test_a_log_that_is_full_grows_and_the_search_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = SHORT.csr()
    whole = partition(offsets, columns, ranks=2, threshold=10**6)
    on_cpu, roomy = (
        PartitionSearch(whole, Query(symmetric=True)),
        CudaPartitionSearch(whole, Query(symmetric=True), devices=range(2)),
    )
    for room in (1, 33, 34):
        monkeypatch.setattr("gravel.kernels.partition.cuda.launch.LOGGED_LEVELS", room)
        search = CudaPartitionSearch(whole, Query(symmetric=True), devices=range(2))
        for source in (16, 0, 32, 5):
            found, wanted = search.run(source), on_cpu.run(source)
            roomy.run(source)
            assert found.directions == wanted.directions
            counts = [counts_of(each) for each in (search, roomy)]
            assert counts[0] == counts[1]
            assert [len(levels) for levels in counts[0]] == [len(wanted.directions)] * 2


def counts_of(search: Any) -> Any:
    """List what each device counted in each level."""
    return [
        [(level.backward, level.normal, level.delegates, level.arrived) for level in levels]
        for levels in search.levels
    ]


def search_as_peer(group: Any, whole: Any) -> Any:
    with fake_cupy.Device(group.rank):
        rank = PeerRank(
            group,
            whole.of_rank(group.rank),
            Query(symmetric=True),
            SearchOptions(barrier_seconds=60.0),
        )
        found = rank.run(0)
        rank.leave(group)
        return found


@pytest.mark.usefixtures("cupy_on_cpu")
def test_every_level_of_peers_has_a_clock() -> None:
    whole = partition(*path(LEVELS), ranks=3, threshold=10**6)
    on_cpu = PartitionSearch(whole, Query(symmetric=True))
    on_cpu.run(0)
    for found, wanted in zip(run_in_threads(search_as_peer, [whole] * 3), on_cpu.labels, strict=True):
        check_records(found.levels, wanted.levels)


def search_and_send(group: Any, whole: Any, network: Network, options: SearchOptions) -> Any:
    with fake_cupy.Device(group.rank):
        rank = NcclRank(
            group,
            whole.of_rank(group.rank),
            Query(symmetric=True),
            options,
            connect_by=network.connect,
        )
        found = [rank.run(source) for source in (0, LEVELS // 2, 0)]
        rank.leave(group)
        return found


@pytest.mark.slow
@pytest.mark.parametrize("options", [SearchOptions(), SearchOptions(reduction="blocking")])
def test_every_level_of_ranks_that_send_has_a_clock(
    options: SearchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", lazy_cupy.module(1))
    monkeypatch.setattr("gravel.kernels.partition.nccl.launching.load", lazy_cupy.load)
    monkeypatch.setattr(
        "gravel.kernels.partition.nccl.launching.resident_blocks", lambda *_: fake_cupy.BLOCKS
    )
    whole = partition(*path(LEVELS), ranks=2, threshold=10**6)
    on_cpu = PartitionSearch(whole, Query(symmetric=True), options)
    network = Network(2)
    act = functools.partial(search_and_send, network=network, options=options)
    answers = run_in_threads(act, [whole] * 2)
    for place, source in enumerate((0, LEVELS // 2, 0)):
        on_cpu.run(source)
        for rank, wanted in enumerate(on_cpu.labels):
            found = answers[rank][place].levels
            assert [level.normal for level in found] == [level.normal for level in wanted.levels]
            assert all(level.exchange_milliseconds > 0 for level in found)
            # The emulated clock gives 1 ms to each part.
            visit = 0.0 if options.reduction == "blocking" else 1.0
            assert [level.visit_milliseconds for level in found] == [visit] * len(found)


def test_every_level_of_ranks_on_the_cpu_has_a_clock() -> None:
    for ranks in (1, 3):
        search = PartitionSearch(
            partition(*path(LEVELS), ranks=ranks, threshold=10**6), Query(symmetric=True)
        )
        assert len(search.run(0).directions) == LEVELS
        for rank in search.labels:
            assert len(rank.levels) == LEVELS
            assert all(level.visit_milliseconds > 0 for level in rank.levels)
        assert [
            sum(level.normal for level in each)
            for each in zip(*(rank.levels for rank in search.labels), strict=True)
        ] == [1] * LEVELS
