"""Ranks of a rank group, each with a device of its own, that map each other's memory."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import mapping
from gravel.kernels.partition.cuda.peer_rank import PeerRank
from gravel.stages.rank_group import run_in_threads
from tests.directions import without_nn
from tests.emulation import fake_cupy
from tests.kernels.cuda_case import fast_csr, rmat
from tests.parameters import slow_among
from tests.trees import check_tree
from tests.zoo import zoo

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

BY_NAME = {graph.name: graph for graph in zoo()}
PATIENT = SearchOptions(barrier_seconds=60.0)


def search(group: Any, whole: Any, sources: list[int], options: SearchOptions = PATIENT) -> list[Any]:
    with fake_cupy.Device(group.rank):
        rank = PeerRank(group, whole.of_rank(group.rank), Query(symmetric=True), options)
        found = [rank.run(source) for source in sources]
        rank.leave(group)
        return found


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("ranks", slow_among([1, 2, 3], [3]))
def test_every_rank_finds_its_part(ranks: int, apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if apart:
        monkeypatch.setattr(mapping, "process_id", threading.get_ident)
    for offsets, columns in (fast_csr(rmat(8), symmetric=True), BY_NAME["tail_on_clique"].csr()):
        whole = partition(offsets, columns, ranks=ranks, threshold=12)
        sources = [int(numpy.argmax(numpy.diff(offsets))), 3]
        on_cpu = PartitionSearch(whole, Query(symmetric=True))
        answers = run_in_threads(functools.partial(search, sources=sources), [whole] * ranks)
        for place, source in enumerate(sources):
            wanted, tree = on_cpu.run(source), numpy.empty(whole.vertex_count, numpy.int64)
            for rank in range(ranks):
                found = answers[rank][place]
                assert numpy.array_equal(found.distance, wanted.distance[rank::ranks])
                tree[rank::ranks] = found.predecessor
                levels = on_cpu.labels[rank].levels
                assert without_nn(level.backward for level in found.levels) == [
                    list(level.backward) for level in levels
                ]
                assert [level.normal for level in found.levels] == [level.normal for level in levels]
            check_tree(whole, source, wanted.distance, tree)
            most = -(-whole.vertex_count // ranks)
            fronts = 4 * -(-most // 32) * (ranks - 1) * ranks
            for level, records in enumerate(zip(*(rank.levels for rank in on_cpu.labels), strict=True)):
                here = [rank[place].levels[level] for rank in answers]
                sent = sum(record.vertex_bytes for record in records)
                expected = fronts if "nn" in here[0].backward else sent
                assert sum(each.vertex_bytes for each in here) == expected


def test_a_rank_that_does_not_search_is_given_up_by_all() -> None:
    offsets, columns = fast_csr(rmat(7), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=12)

    def one_is_late(group: Any, _: Any) -> str:
        with fake_cupy.Device(group.rank):
            given = Query(symmetric=True), SearchOptions(barrier_seconds=0.3)
            rank = PeerRank(group, whole.of_rank(group.rank), *given)
            if group.rank == 1:
                rank._launch.start = lambda source, depth: (None, fake_cupy.Event())  # type: ignore[method-assign]
            with pytest.raises(RuntimeError) as given_up:
                rank.run(1)
            return str(given_up.value)

    answers = run_in_threads(one_is_late, [None] * 2)
    assert all("for 0.3 s, and the search was given up" in answer for answer in answers)
    assert all("tuning: {barrier_seconds: SECONDS}" in answer for answer in answers)
    with pytest.raises(ValueError, match="2 ranks do not make 3 equal groups"):
        run_in_threads(
            lambda group, _: search(group, whole, [1], options=SearchOptions(groups=3)), [None] * 2
        )
