"""Searches of more levels than a log has room for at first: each level keeps its clock, on GPUs."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.kernels.cuda_case import path

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
LEVELS = 5000
"""More than 4,096, with which the log of a search over ranks begins."""


@pytest.mark.parametrize(("ranks", "levels"), [(1, 700), (2, 700), (4, LEVELS)])
def test_every_level_of_ranks_on_one_gpu_has_a_clock(ranks: int, levels: int) -> None:
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    whole = partition(*path(levels), ranks=ranks, threshold=10**6)
    search, on_cpu = (
        CudaPartitionSearch(whole, Query(symmetric=True)),
        PartitionSearch(whole, Query(symmetric=True)),
    )
    for source in (levels // 2, 0, 0):
        found, wanted = search.run(source), on_cpu.run(source)
        assert numpy.array_equal(cupy.asnumpy(found.distance), wanted.distance)
        assert found.directions == wanted.directions
        (told,) = search.levels
        assert len(told) == len(wanted.directions)
        # Some GPUs' clock advances by a microsecond at a time, which is longer than a part of a level.
        taken = [level.visit + level.wait + level.commit + level.commit_wait for level in told]
        assert all(time > 0 for time in taken)
        assert sum(taken) <= 1.05e3 * found.milliseconds
        assert [level.normal for level in told] == [
            sum(level.normal for level in each)
            for each in zip(*(rank.levels for rank in on_cpu.labels), strict=True)
        ]


@pytest.mark.parametrize("reduction", ["overlapped", "blocking"])
def test_every_level_of_a_rank_that_sends_has_a_clock(reduction: str) -> None:
    from gravel.kernels.partition.nccl import NcclSearch, why_not

    if (problem := why_not()) is not None:
        pytest.skip(problem)
    whole = partition(*path(700), ranks=1, threshold=10**6)
    search = NcclSearch(whole, Query(symmetric=True), SearchOptions(reduction=reduction))
    on_cpu = PartitionSearch(whole, Query(symmetric=True))
    for source in (0, 350, 0):
        found, wanted = search.run(source), on_cpu.run(source)
        assert found.directions == wanted.directions
        (told,) = search.labels
        assert len(told.levels) == len(wanted.directions)
        # Blocked visits have the reduction's time taken off, and may be left with none.
        assert all(
            level.visit_milliseconds + level.reduce_milliseconds + level.exchange_milliseconds > 0
            for level in told.levels
        )
        assert sum(level.exchange_milliseconds for level in told.levels) <= 1.01 * found.milliseconds
