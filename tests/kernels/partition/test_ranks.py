"""Partitioned searches on a GPU equal the CPU's: ranks on one device, every option, and a lost device."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from tests.directions import without_nn
from tests.kernels.cuda_case import ENDS_OF_PATH, LONG_PATH, ZOO, fast_csr, names, rmat
from tests.kernels.partition.test_search import OPTIONS
from tests.trees import check_tree

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

RANKS = (1, 2, 3, 4)


def search_of(whole: Any, *given: Any, **choices: Any) -> Any:
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    return CudaPartitionSearch(whole, *given, **choices)


def check(
    whole: Any,
    sources: list[int],
    *,
    symmetric: bool,
    options: SearchOptions,
    graph: Any = None,
    **given: Any,
) -> None:
    """Compare searches of `graph`, which is `whole` unless its rows are encoded, with the CPU's."""
    graph = whole if graph is None else graph
    on_cpu = PartitionSearch(whole, Asked(symmetric=symmetric), options)
    asked, options = Asked(symmetric=symmetric), replace(options, barrier_seconds=5.0)
    of_any = search_of(graph, asked, options, **given)
    of_distances = search_of(graph, replace(asked, output="distance"), options, **given)
    of_smallest = search_of(graph, asked, replace(options, predecessors="smallest"), **given)
    for source in sources:
        wanted = on_cpu.run(source)
        # Delegates have other numbers where the smallest is not asked for.
        assert numpy.array_equal(of_distances.run(source).distance.get(), wanted.distance)
        for search in (of_any, of_smallest):
            found = search.run(source)
            distance, predecessor = found.distance.get(), found.predecessor.get()
            assert numpy.array_equal(distance, wanted.distance)
            assert found.directions == wanted.directions
            if search is of_smallest and not options.uniquify:
                assert numpy.array_equal(predecessor, wanted.predecessor)
            else:
                check_tree(whole, source, distance, predecessor)


def test_labels_of_more_levels_than_a_byte_has() -> None:
    offsets, columns = fast_csr(LONG_PATH, symmetric=True)
    for ranks, threshold in itertools.product((1, 3), (2, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, ENDS_OF_PATH, symmetric=True, options=SearchOptions())


@pytest.mark.parametrize("graph", ZOO, ids=names)
def test_virtual_ranks_find_what_the_cpu_does(graph: Any) -> None:
    n = graph.vertex_count
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        for ranks, threshold in itertools.product(RANKS, (0, 3, 10**6)):
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            sources = sorted({0, n // 2, n - 1})
            check(whole, sources, symmetric=symmetric, options=SearchOptions())


@pytest.mark.parametrize("name", OPTIONS)
def test_options_change_nothing(name: str) -> None:
    options = SearchOptions(**OPTIONS[name])
    offsets, columns = fast_csr(rmat(13), symmetric=True)
    sources = [int(numpy.argmax(numpy.diff(offsets))), int(numpy.flatnonzero(numpy.diff(offsets))[5])]
    for ranks, threshold in itertools.product(RANKS, (0, 12, 200)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check(whole, sources, symmetric=True, options=options)


def test_wide_vertices_and_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True, index=numpy.uint64)
    whole = partition(offsets, columns, ranks=3, threshold=20)
    check(whole, [7, 100], symmetric=True, options=SearchOptions())
    monkeypatch.setattr("gravel.kernels.partition.cuda.search.WIDE", 1)
    check(whole, [7, 100], symmetric=True, options=SearchOptions())


def test_outputs_and_depth() -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    source = int(numpy.argmax(numpy.diff(offsets)))
    for depth in (0, 1, 2):
        wanted = PartitionSearch(whole, Asked(symmetric=True, max_depth=depth)).run(source)
        found = search_of(whole, Asked(symmetric=True, max_depth=depth, output="distance")).run(source)
        assert found.predecessor is None
        assert numpy.array_equal(found.distance.get(), wanted.distance)
    assert search_of(whole, Asked(output="predecessor")).run(source).distance is None
    with pytest.raises(ValueError, match="source 2048 is not a vertex"):
        search_of(whole).run(2048)
    grouped = search_of(whole, Asked(symmetric=True), SearchOptions(groups=2)).run(source)
    assert numpy.array_equal(
        grouped.distance.get(), PartitionSearch(whole, Asked(symmetric=True)).run(source).distance
    )


def test_levels_are_told() -> None:
    offsets, columns = fast_csr(rmat(12), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    source = int(numpy.argmax(numpy.diff(offsets)))
    search, on_cpu = search_of(whole, Asked(symmetric=True)), PartitionSearch(whole, Asked(symmetric=True))
    result, wanted = search.run(source), on_cpu.run(source)
    assert len(search.levels[0]) == len(result.directions) == len(wanted.directions)
    for place, level in enumerate(search.levels[0]):
        records = [rank.levels[place] for rank in on_cpu.labels]
        assert without_nn(level.backward) == without_nn(record.backward for record in records)
        assert level.normal == sum(record.normal for record in records)
        assert level.delegates == records[0].delegates
        assert min(level.visit, level.wait, level.commit, level.commit_wait) >= 0
        assert level.visit > 0


def test_a_device_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.partition.cuda.device_barrier import DeviceBarrier

    described = DeviceBarrier.described
    alone = DeviceBarrier()

    def with_a_stranger(self: Any, pointers: Any, device: int, limit: float) -> Any:
        return described(self, [*pointers, alone.pointer], device, limit)

    offsets, columns = fast_csr(rmat(10), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    monkeypatch.setattr(DeviceBarrier, "described", with_a_stranger)
    search = search_of(whole, options=SearchOptions(barrier_seconds=0.2))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the search was given up"):
            search.run(1)
    assert alone.aborted
