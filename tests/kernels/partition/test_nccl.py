"""Ranks over NCCL on GPUs equal the CPU's: one rank on one GPU, two on two, and one that never comes."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.nccl import NcclMissing, NcclRank, NcclSearch, why_not
from gravel.stages.rank_group import RankGroupBroken, run_in_threads
from tests.kernels.cuda_case import ZOO, fast_csr, names, rmat
from tests.kernels.partition.ranks_case import part_on_device, two_sources
from tests.kernels.partition.test_search import GROUPED, OPTIONS

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

MORE: dict[str, Any] = {
    name: GROUPED[name] for name in ("two phases", "local all-to-all", "local all-to-all, uniquify")
}


@pytest.fixture(autouse=True)
def nccl() -> None:
    if (problem := why_not()) is not None:
        pytest.skip(problem)


def same(found: Any, wanted: Any, options: SearchOptions) -> None:
    assert numpy.array_equal(found.distance, wanted.distance)
    if not options.uniquify:
        assert numpy.array_equal(found.predecessor, wanted.predecessor)
        return
    tree = found.predecessor >= 0
    assert numpy.array_equal(tree, wanted.predecessor >= 0)
    assert (found.distance[found.predecessor[tree]] == found.distance[tree] - 1).all()


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_one_rank_finds_what_the_cpu_does(graph: Any) -> None:
    n = graph.vertex_count
    for symmetric, threshold in ((True, 3), (False, 0)):
        offsets, columns = graph.csr(symmetric=symmetric)
        whole = partition(offsets, columns, ranks=1, threshold=threshold)
        search, on_cpu = (
            NcclSearch(whole, Query(symmetric=symmetric)),
            PartitionSearch(whole, Query(symmetric=symmetric)),
        )
        for source in sorted({0, n - 1}):
            wanted, found = on_cpu.run(source), search.run(source)
            same(found, wanted, SearchOptions())
            assert found.directions == wanted.directions


@pytest.mark.parametrize("name", [*OPTIONS, "blocking"])
def test_options_of_one_rank(name: str) -> None:
    everything: dict[str, Any] = {**OPTIONS, "blocking": {"reduction": "blocking"}}
    options = SearchOptions(**everything[name])
    offsets, columns = fast_csr(rmat(14), symmetric=True)
    sources = two_sources(offsets)
    for threshold in (0, 12, 200):
        whole = partition(offsets, columns, ranks=1, threshold=threshold)
        search, on_cpu = (
            make(whole, Query(symmetric=True), options) for make in (NcclSearch, PartitionSearch)
        )
        for source in sources:
            wanted, found = on_cpu.run(source), search.run(source)
            same(found, wanted, options)
            assert found.directions == wanted.directions
            mine, theirs = search.labels[0].levels, on_cpu.labels[0].levels
            assert [level.normal for level in mine] == [level.normal for level in theirs]
            assert all(level.visit_milliseconds > 0 for level in mine)


def search_as_rank(group: Any, _: Any, whole: Any, sources: list[int], options: SearchOptions) -> list[Any]:
    with cupy.cuda.Device(group.rank):
        rank = NcclRank(
            group, whole.of_rank(group.rank), Query(symmetric=True), replace(options, barrier_seconds=5.0)
        )
        answers = []
        for source in sources:
            group.all_gather(None)
            answers.append(rank.run(source))
        rank.leave(group)
        return answers


@pytest.mark.parametrize("name", ["plain", *OPTIONS, *MORE])
def test_two_ranks_find_what_the_cpu_does(name: str) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("two ranks take two GPUs")
    everything: dict[str, Any] = {"plain": {}, **OPTIONS, **MORE}
    options = SearchOptions(**everything[name])
    offsets, columns = fast_csr(rmat(14), symmetric=True)
    sources = two_sources(offsets)
    for threshold in (12, 200, 10**6):
        whole = partition(offsets, columns, ranks=2, threshold=threshold)
        run = functools.partial(search_as_rank, whole=whole, sources=sources, options=options)
        answers = run_in_threads(run, [None] * 2)
        on_cpu = PartitionSearch(whole, Query(symmetric=True), options)
        for place, source in enumerate(sources):
            wanted: Any = on_cpu.run(source)
            for rank in range(2):
                labels = answers[rank][place]
                assert numpy.array_equal(labels.distance, wanted.distance[rank::2])
                if not options.uniquify:
                    assert numpy.array_equal(labels.predecessor, wanted.predecessor[rank::2])
                backward = [level.backward for level in on_cpu.labels[rank].levels]
                assert [level.backward for level in labels.levels] == backward


def search_on_device(group: Any, _: Any, whole: Any, sources: list[int]) -> list[Any]:
    """Search a part that lies on the GPU, and take each search's labels from there before the next."""
    with cupy.cuda.Device(group.rank):
        part = replace(whole.of_rank(group.rank), graph=part_on_device(whole.parts[group.rank], cupy.asarray))
        rank = NcclRank(
            group,
            part,
            Query(symmetric=True),
            SearchOptions(barrier_seconds=5.0),
        )
        answers = []
        for source in sources:
            group.all_gather(None)
            found = rank.run(source, on_device=True)
            assert isinstance(found.distance, cupy.ndarray)
            answers.append((found.distance.get(), found.predecessor.get()))
        rank.leave(group)
        return answers


@pytest.mark.parametrize("ranks", [1, 2])
def test_labels_may_stay_on_the_gpus(ranks: int) -> None:
    if cupy.cuda.runtime.getDeviceCount() < ranks:
        pytest.skip("two ranks take two GPUs")
    offsets, columns = fast_csr(rmat(14), symmetric=True)
    sources = two_sources(offsets)
    whole = partition(offsets, columns, ranks=ranks, threshold=40)
    run = functools.partial(search_on_device, whole=whole, sources=sources)
    answers = run_in_threads(run, [None] * ranks)
    on_cpu = PartitionSearch(whole, Query(symmetric=True))
    for place, source in enumerate(sources):
        wanted: Any = on_cpu.run(source)
        for rank in range(ranks):
            distance, predecessor = answers[rank][place]
            assert numpy.array_equal(distance, wanted.distance[rank::ranks])
            assert numpy.array_equal(predecessor, wanted.predecessor[rank::ranks])


def test_two_ranks_of_one_gpu_are_refused() -> None:
    offsets, columns = fast_csr(rmat(8), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=12)

    def on_the_first(group: Any, _: Any) -> None:
        with cupy.cuda.Device(0):
            NcclRank(group, whole.of_rank(group.rank), Query(symmetric=True), SearchOptions())

    with pytest.raises(NcclMissing, match="are on the same GPU"):
        run_in_threads(on_the_first, [None] * 2)


def test_a_rank_that_does_not_search_ends_the_other() -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("two ranks take two GPUs")
    offsets, columns = fast_csr(rmat(10), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=12)

    def only_the_first(group: Any, _: Any) -> None:
        with cupy.cuda.Device(group.rank):
            rank = NcclRank(
                group,
                whole.of_rank(group.rank),
                Query(symmetric=True),
                SearchOptions(barrier_seconds=1.0),
            )
            if group.rank == 0:
                with pytest.raises(RuntimeError, match=r"given up|NCCL lost"):
                    rank.run(1)
            group.all_gather(None)

    run_in_threads(only_the_first, [None] * 2)
    # The GPUs are free for other work.
    run = functools.partial(search_as_rank, whole=whole, sources=[1], options=SearchOptions())
    try:
        answers = run_in_threads(run, [None] * 2)
    except RankGroupBroken as error:
        pytest.fail(str(error))
    wanted: Any = PartitionSearch(whole, Query(symmetric=True)).run(1)
    assert numpy.array_equal(answers[0][0].distance, wanted.distance[0::2])
