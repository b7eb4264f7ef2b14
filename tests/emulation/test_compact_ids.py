"""Compact ids on devices: rows and columns go by them, and labels come back to where vertices are."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import total
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.compact_ids import (
    CompactIds,
    compact_ids_of,
    compacted,
    every_id,
    locals_of,
)
from gravel.stages.traversal import rank_memory
from tests.kernels.cuda_case import fast_csr
from tests.trees import check_tree
from tests.zoo import ZooGraph

pytestmark = pytest.mark.usefixtures("cupy_on_cpu")

VERTICES = 2600
"""Of which a warp labels 1,024 at once."""


def half_empty(tail: int, vertices: int = VERTICES) -> tuple[ZooGraph, list[int]]:
    """Let half the vertices have arcs: hubs, their neighbours, pairs of these, and a path of `tail`.

    Gives the graph, and the first of each kind, the end of the path, and one without arcs.
    """
    random = numpy.random.default_rng(5)
    filled = random.random(vertices) < 0.5
    named = random.permutation(numpy.flatnonzero(filled))
    hubs, rest, path = named[:20], named[20:-tail], named[-tail:]
    hub = numpy.concatenate((hubs[random.integers(0, 20, len(rest))], hubs))
    leaf = numpy.concatenate((rest, numpy.full(20, hubs[0])))
    pair = random.choice(rest, (2, 150))
    source = numpy.concatenate((hub, pair[0], path[:-1], hubs[:1])).astype(numpy.uint32)
    target = numpy.concatenate((leaf, pair[1], path[1:], path[:1])).astype(numpy.uint32)
    kinds = [hubs[0], rest[0], path[-1], numpy.flatnonzero(~filled)[0]]
    return ZooGraph("half_empty", vertices, source, target), [int(each) for each in kinds]


def test_compact_ids_ascend_with_their_vertices() -> None:
    bits = numpy.random.default_rng(1).random(500) < 0.4
    ids = CompactIds(numpy.packbits(numpy.append(bits, [False] * 12), bitorder="little").view(numpy.uint32))
    filled = numpy.flatnonzero(bits)
    assert ids.count == len(filled)
    assert numpy.array_equal(ids.of(filled), numpy.arange(len(filled)))
    assert numpy.array_equal(locals_of(ids), filled)
    for local in range(500):
        assert ids.find(local) == (int(bits[:local].sum()) if bits[local] else None)
    assert every_id(500).count == 500
    assert every_id(500).find(499) == 499


@pytest.mark.parametrize("ranks", [1, 3])
def test_rows_and_columns_go_by_compact_ids(ranks: int) -> None:
    graph, _ = half_empty(9)
    whole = partition(*fast_csr(graph, symmetric=True), ranks=ranks, threshold=12)
    ids = [compact_ids_of(whole.of_rank(rank)) for rank in range(ranks)]
    kept = [numpy.asarray(locals_of(each)).astype(numpy.int64) for each in ids]
    assert 0.4 < sum(map(len, kept)) / whole.vertex_count < 0.6
    for part, own in zip(whole.parts, kept, strict=True):
        # dn columns are written over.
        dn = part.dn.column_indices.copy()
        found, compaction = compacted(part, ids)
        assert (compaction.ids, compaction.most) == (ids[part.rank], max(map(len, kept)))
        for name in ("nn", "nd"):
            before, after = part.subgraph(name).row_offsets, found.subgraph(name).row_offsets
            assert numpy.array_equal(after[:-1], before[own])
            assert numpy.array_equal(after[1:], before[own + 1])
        assert numpy.array_equal(own[found.dn.column_indices], dn)
        assert numpy.array_equal(own[found.nd_source_list], part.nd_source_list)
        columns = numpy.asarray(found.nn.column_indices).astype(numpy.int64)
        back = [kept[column % ranks][column // ranks] * ranks + column % ranks for column in columns]
        assert numpy.array_equal(back, compaction.nn_vertices)
        assert numpy.array_equal(back, part.nn.column_indices)


@pytest.mark.parametrize(
    ("ranks", "devices", "tail", "digits"),
    [(1, 1, 2, 3), (1, 1, 8, 4), (1, 1, 40, 6), (2, 2, 8, 4), (3, 1, 40, 6)],
)
def test_labels_come_back_to_their_vertices(ranks: int, devices: int, tail: int, digits: int) -> None:
    graph, sources = half_empty(tail)
    whole = partition(*fast_csr(graph, symmetric=True), ranks=ranks, threshold=12)
    choices: dict[str, Any] = {"options": SearchOptions(barrier_seconds=60.0), "devices": range(devices)}
    on_cpu = PartitionSearch(whole, Query(symmetric=True))
    of_distances, of_any = (
        CudaPartitionSearch(whole, Query(symmetric=True, output="distance"), **choices),
        CudaPartitionSearch(whole, Query(symmetric=True), **choices),
    )
    depth = 0
    for source in sources:
        wanted = on_cpu.run(source)
        depth = max(depth, int(wanted.distance.max()))
        assert numpy.array_equal(of_distances.run(source).distance, wanted.distance)
        found = of_any.run(source)
        assert numpy.array_equal(found.distance, wanted.distance)
        assert found.directions == wanted.directions
        check_tree(whole, source, wanted.distance, found.predecessor)
    assert (depth + 1).bit_length() == digits
    assert numpy.array_equal(numpy.flatnonzero(wanted.distance >= 0), sources[-1:])
    memory = of_any._memory[0]
    assert memory.numbers["local"] < 0.6 * memory.numbers["own"]


def test_warps_that_commit_several_words_at_a_time() -> None:
    graph, sources = half_empty(2, 26_000)
    whole = partition(*fast_csr(graph, symmetric=True), ranks=1, threshold=12)
    search = CudaPartitionSearch(
        whole, Query(symmetric=True, output="distance"), SearchOptions(barrier_seconds=60.0)
    )
    wanted = PartitionSearch(whole, Query(symmetric=True)).run(sources[0])
    assert numpy.array_equal(search.run(sources[0]).distance, wanted.distance)


def test_directed_graphs_keep_all_ids() -> None:
    graph, sources = half_empty(3)
    whole = partition(*fast_csr(graph, symmetric=False), ranks=2, threshold=12)
    search = CudaPartitionSearch(whole, options=SearchOptions(barrier_seconds=60.0), devices=(0, 1))
    assert not search._ids
    for source in sources:
        wanted = PartitionSearch(whole).run(source)
        found = search.run(source)
        assert numpy.array_equal(found.distance, wanted.distance)
        check_tree(whole, source, wanted.distance, found.predecessor)


@pytest.mark.parametrize("output", ["both", "distance"])
@pytest.mark.parametrize("predecessors", ["any", "smallest"])
def test_a_rank_takes_no_more_than_is_stated(
    monkeypatch: pytest.MonkeyPatch, output: str, predecessors: Any
) -> None:
    n, ranks = 20_000, 2
    graph, _ = half_empty(3, n)
    whole = partition(*fast_csr(graph, symmetric=True), ranks=ranks, threshold=12)
    options = SearchOptions(predecessors=predecessors)
    search = CudaPartitionSearch(whole, Query(symmetric=True, output=output), options)
    for part, memory in zip(whole.parts, search._memory, strict=True):
        subgraphs = sum(
            sum(array.nbytes for array in part.subgraph(name)) for name in ("nn", "nd", "dn", "dd")
        )
        monkeypatch.setattr(rank_memory, "DELEGATE_SHARE", len(whole.delegates) / n)
        normal = ranks * len(part.nn.column_indices)
        assert memory.nbytes <= subgraphs + total(rank_memory.searching_rank(n, normal, ranks))
