"""Ranks that send, on emulated kernels and streams: as the CPU finds it, whatever order events leave open."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.source import waits_for_the_grid
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.nccl import NcclSearch
from gravel.kernels.partition.nccl.masks import choose_way
from gravel.kernels.partition.nccl.rank import NcclRank
from gravel.stages.rank_group import run_in_threads
from tests.emulation import fake_cupy, lazy_cupy
from tests.emulation.fake_nccl import Network
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.encoded_case import encode_rank
from tests.kernels.partition.test_search import GROUPED, OPTIONS
from tests.zoo import zoo

BY_NAME = {graph.name: graph for graph in zoo()}
SHAPES = ["one_vertex", "one_edge", "star_300", "two_parts", "hub_and_chain"]
MORE = {
    "blocking": {"reduction": "blocking"},
    "whole masks": {"changed_only": False},
    "two phases": GROUPED["two phases"],
    "two phases, blocking": GROUPED["two phases, blocking"],
    "local all-to-all": GROUPED["local all-to-all"],
    "local all-to-all, uniquify": GROUPED["local all-to-all, uniquify"],
}


@pytest.fixture(autouse=True)
def lazy(monkeypatch: pytest.MonkeyPatch) -> Any:

    def use(seed: int) -> None:
        monkeypatch.setitem(sys.modules, "cupy", lazy_cupy.module(seed))

    use(1)
    monkeypatch.setattr("gravel.kernels.partition.nccl.launching.load", lazy_cupy.load)
    monkeypatch.setattr(
        "gravel.kernels.partition.nccl.launching.resident_blocks", lambda *_: fake_cupy.BLOCKS
    )
    return use


def search(
    group: Any, _: Any, whole: Any, network: Network, sources: list[int], query: Query, options: SearchOptions
) -> list[Any]:
    with fake_cupy.Device(group.rank):
        rank = NcclRank(group, whole.of_rank(group.rank), query, options, connect_by=network.connect)
        found = [rank.run(source) for source in sources]
        rank.leave(group)
        return found


def searched(
    whole: Any,
    sources: list[int],
    network: Network | None = None,
    query: Query = Query(symmetric=True),
    options: SearchOptions = SearchOptions(),
) -> list[Any]:
    network = network or Network(whole.ranks)
    run = functools.partial(
        search, whole=whole, network=network, sources=sources, query=query, options=options
    )
    return run_in_threads(run, [None] * whole.ranks, time_limit=60.0)  # type: ignore[return-value]


def check(whole: Any, sources: list[int], options: SearchOptions, symmetric: bool = True) -> None:
    answers = searched(whole, sources, query=Query(symmetric=symmetric), options=options)
    on_cpu = PartitionSearch(whole, Query(symmetric=symmetric), options)
    for place, source in enumerate(sources):
        wanted = on_cpu.run(source)
        for rank in range(whole.ranks):
            found, levels = answers[rank][place], on_cpu.labels[rank].levels
            assert numpy.array_equal(found.distance, wanted.distance[rank :: whole.ranks])
            for name in ("normal", "delegates", "backward"):
                told = [getattr(level, name) for level in found.levels]
                assert told == [getattr(level, name) for level in levels]
            parents = found.predecessor
            if options.uniquify:
                tree = parents >= 0
                assert numpy.array_equal(tree, wanted.predecessor[rank :: whole.ranks] >= 0)
                assert (wanted.distance[parents[tree]] == found.distance[tree] - 1).all()
                continue
            assert numpy.array_equal(parents, wanted.predecessor[rank :: whole.ranks])
            if not options.local_all_to_all:
                sent = [level.vertex_bytes for level in levels]
                assert [level.vertex_bytes for level in found.levels] == sent
                assert found.answer_bytes == on_cpu.labels[rank].answer_bytes


@pytest.mark.parametrize("name", SHAPES)
def test_ranks_find_what_the_cpu_does(name: str) -> None:
    graph = BY_NAME[name]
    for symmetric, ranks, threshold in ((True, 1, 2), (True, 2, 10**6), (False, 3, 3)):
        offsets, columns = graph.csr(symmetric=symmetric)
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, sorted({0, graph.vertex_count - 1}), SearchOptions(), symmetric)


@pytest.mark.parametrize("name", [*OPTIONS, *MORE])
def test_options_on_a_skewed_graph(name: str, lazy: Any) -> None:
    options = SearchOptions(**{**OPTIONS, **MORE}[name])
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=4 if options.groups else 2, threshold=40)
    degrees = numpy.diff(offsets)
    for seed, source in enumerate((int(numpy.argmax(degrees)), int(numpy.flatnonzero(degrees)[5]))):
        lazy(seed)
        check(whole, [source], options)


def test_many_delegates_are_joined_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_way(100, 4, 0) == "changed"
    assert choose_way(100, 4, 51) == choose_way(100, 4, None) == choose_way(10**9, 2, None) == "whole"
    assert choose_way(10**7, 4, None) == "sliced"
    assert choose_way(10**7, 4, 10**5) == "changed"
    monkeypatch.setattr("gravel.kernels.partition.nccl.masks.STEP_BYTES", 0.0)
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    # One rank has no words of its own to join.
    for ranks, threshold in ((3, 12), (5, 60)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, [int(numpy.argmax(numpy.diff(offsets)))], SearchOptions(changed_only=False))


def test_outputs_depth_and_wide_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.partition.nccl.rank.WIDE", 1)
    offsets, columns = fast_csr(rmat(7), symmetric=True, index=numpy.uint64)
    source = int(numpy.argmax(numpy.diff(offsets)))
    whole = partition(offsets, columns, ranks=2, threshold=20)
    for depth in (0, 1, 2):
        wanted = PartitionSearch(whole, Query(symmetric=True, max_depth=depth)).run(source)
        answers = searched(
            whole, [source, source], query=Query(output="distance", symmetric=True, max_depth=depth)
        )
        for rank, found in enumerate(answers):
            assert found[1].predecessor is None
            assert len(found[1].levels) == min(depth, len(wanted.directions))
            assert numpy.array_equal(found[1].distance, wanted.distance[rank::2])
    alone = partition(offsets, columns, ranks=1, threshold=20)
    search_alone = NcclSearch(alone, Query(symmetric=True), connect_by=Network(1).connect)
    found, wanted = search_alone.run(source), PartitionSearch(alone, Query(symmetric=True)).run(source)
    assert numpy.array_equal(found.distance, wanted.distance)
    assert numpy.array_equal(found.predecessor, wanted.predecessor)
    assert found.predecessor is not None
    assert found.predecessor.dtype == numpy.int32
    assert found.directions == wanted.directions
    with pytest.raises(ValueError, match="source 128 is not a vertex"):
        search_alone.run(128)
    with pytest.raises(ValueError, match="2 ranks were to share one GPU, and NCCL takes one"):
        NcclSearch(whole)


def test_nothing_changed_nothing_sent() -> None:
    # A path's vertices are all normal: there are no masks, and each level sends one vertex.
    offsets, columns = BY_NAME["path_33"].csr()
    network = Network(2)
    whole = partition(offsets, columns, ranks=2, threshold=10)
    answers = searched(whole, [0], network)
    assert sum(level.mask_bytes for rank in answers for level in rank[0].levels) == 0
    assert network.operations[0].count("all_gather") == 33 + 1
    offsets, columns = BY_NAME["star_300"].csr()
    whole = partition(offsets, columns, ranks=2, threshold=10)
    masks = [level.mask_bytes for level in searched(whole, [7])[1][0].levels]
    assert masks == [8, 0, 0]  # the hub, once


@pytest.mark.parametrize("operation", [0, 4])
def test_a_rank_that_is_lost_ends_the_others(operation: int) -> None:
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=12)
    source = int(numpy.argmax(numpy.diff(offsets)))
    network = Network(2, lost=(1, operation), patience=0.3)
    ended: list[Any] = []

    def until_it_ends(group: Any, _: Any) -> None:
        communicators: list[Any] = []

        def connected(group: Any) -> Any:
            communicators.append(network.connect(group))
            return communicators[-1]

        rank = NcclRank(
            group, whole.of_rank(group.rank), Query(symmetric=True), SearchOptions(), connect_by=connected
        )
        with pytest.raises(RuntimeError, match="given up"):
            rank.run(source)
        ended.append(communicators[0].closed)

    run_in_threads(until_it_ends, [None] * 2)
    assert ended == [True, True]


def test_the_kernels_of_a_level_are_not_launched_cooperatively() -> None:
    # `gravel.kernels.cuda.load` goes by the text, and cooperative launches would not overlap.
    assert not waits_for_the_grid("kernels/partition/nccl/level.cu")


def test_encoded_rows_and_uneven_groups_are_refused() -> None:
    offsets, columns = BY_NAME["two_parts"].csr()
    whole = partition(offsets, columns, ranks=1, threshold=3)
    facts = {"vertex_count": whole.vertex_count, "delegate_count": len(whole.delegates), "ranks": 1}
    encoded = replace(whole, parts=(encode_rank(whole.parts[0], "varint", **facts),))
    with pytest.raises(ValueError, match="those of this one are encoded"):
        NcclSearch(encoded, connect_by=Network(1).connect)
    with pytest.raises(ValueError, match="1 ranks do not make 2 equal groups"):
        NcclSearch(whole, options=SearchOptions(groups=2), connect_by=Network(1).connect)
