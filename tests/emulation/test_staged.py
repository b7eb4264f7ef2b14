"""Masks in rounds and local all-to-all between emulated devices: found is what the CPU finds."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.partition.cuda.staging import Staging
from gravel.kernels.partition.reductions import ALGORITHMS
from gravel.stages.rank_group import run_in_threads
from tests.emulation.test_peer_rank import search
from tests.kernels.cuda_case import STAGED, fast_csr, rmat
from tests.kernels.partition.ranks_case import check
from tests.parameters import slow_among
from tests.trees import check_tree
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
LAYOUTS = {0: [(3, 3), (5, 2)], 2: [(4, 2), (6, 4)]}
"""Ranks and devices, by groups."""


@pytest.mark.parametrize("name", slow_among(STAGED, {"two phases", "two phases, tree", "L"}))
def test_stages_find_what_the_cpu_does(name: str) -> None:
    options = SearchOptions(**STAGED[name])  # type: ignore[arg-type]
    for ranks, devices in LAYOUTS[options.groups]:
        offsets, columns = fast_csr(rmat(8), symmetric=True)
        for threshold in (12, 10**6):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            sources = [int(numpy.argmax(numpy.diff(offsets))), 3]
            check(whole, sources, options=options, devices=range(devices))
    graph = BY_NAME["tail_on_clique"]
    whole = partition(*graph.csr(), ranks=ranks, threshold=3)
    check(whole, [0, graph.vertex_count - 1], options=options, devices=range(devices))


def test_local_all_to_all_reads_as_much_as_the_cpu_sends() -> None:
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=4, threshold=10**6)
    for uniquify in (False, True):
        options = SearchOptions(groups=2, local_all_to_all=True, uniquify=uniquify, nn_directed=False)
        on_cpu = PartitionSearch(whole, Query(symmetric=True), options)
        found = CudaPartitionSearch(
            whole, Query(symmetric=True), replace(options, barrier_seconds=60.0), devices=range(2)
        )
        for each in (on_cpu, found):
            each.run(5)
        sent = sum(record.vertex_bytes for rank in on_cpu.labels for record in rank.levels)
        read = 4 * sum(level.arrived for device in found.levels for level in device)
        # A GPU remembers what it sent in earlier levels, and each CPU rank only this level's.
        assert read < sent if uniquify else read == sent
        assert all(level.relay > 0 for device in found.levels for level in device)
        assert [found.masks_read(device) for device in range(2)] == [0, 0]


@pytest.mark.parametrize("name", ["recursive doubling", pytest.param("LU", marks=pytest.mark.slow)])
def test_ranks_of_a_rank_group_do_so_too(name: str) -> None:
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    options = SearchOptions(**STAGED[name])  # type: ignore[arg-type]
    ranks = 4
    whole = partition(offsets, columns, ranks=ranks, threshold=12)
    wanted = PartitionSearch(whole, Query(symmetric=True)).run(3)
    answers = run_in_threads(functools.partial(search, sources=[3, 3], options=options), [whole] * ranks)
    tree = numpy.empty(whole.vertex_count, numpy.int64)
    for rank in range(ranks):
        for found in answers[rank]:
            assert numpy.array_equal(found.distance, wanted.distance[rank::ranks])
        tree[rank::ranks] = answers[rank][1].predecessor
        mask = 8 * -(-len(whole.delegates) // 64)
        read = Staging.of(options, ranks).masks_read(rank)  # type: ignore[union-attr]
        assert {level.mask_bytes for level in found.levels} == {mask * read}
    check_tree(whole, 3, wanted.distance, tree)


def test_the_schedule_names_whose_masks_are_taken() -> None:
    for algorithm in ALGORITHMS[1:]:
        for ranks in (1, 2, 3, 4, 7, 8):
            options = SearchOptions(reduction_algorithm=algorithm)
            staging = Staging.of(options, ranks)
            assert staging is not None
            assert not staging.relays
            schedule = staging.schedule().tolist()
            for number, each in enumerate(staging.rounds):
                for rank, senders in enumerate(each):
                    first, last = schedule[number * ranks + rank :][:2]
                    assert tuple(schedule[first:last]) == senders
    assert Staging.of(SearchOptions(), 8) is None


def test_columns_that_are_not_read_by_stages_are_refused() -> None:
    whole = partition(*BY_NAME["path_33"].csr(), ranks=2, threshold=1)
    options = SearchOptions(reduction_algorithm="tree")
    with pytest.raises(ValueError, match="these are columns in host memory; leave both out"):
        CudaPartitionSearch(whole, options=options, placing=Placing("pinned", 0))
    with pytest.raises(ValueError, match="2 ranks do not make 3 equal groups"):
        CudaPartitionSearch(whole, options=replace(options, groups=3))
