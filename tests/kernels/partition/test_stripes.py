"""Striped graphs, and ranks that cull what they send, find what is found in one piece."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare as prepare_csr
from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition, to_arrays
from gravel.kernels.partition.chunks import assemble
from gravel.kernels.partition.components import components
from gravel.kernels.partition.program import search_program
from gravel.kernels.partition.rank_search import RankSearch
from gravel.kernels.partition.stripes import from_arrays, stripe
from tests.kernels.cuda_case import fast_csr, rmat, smallest_predecessors
from tests.kernels.disorder import DisorderedNetwork
from tests.kernels.partition.culled_case import CULLING, FORWARD, added_up
from tests.kernels.partition.ranks_case import assert_shares
from tests.kernels.partition.test_search import DEEP, SOME
from tests.parameters import slow_among
from tests.zoo import ZooGraph, scipy_distances, zoo

ZOO = list(zoo())
BY_NAME = {graph.name: graph for graph in ZOO}
RANKS = (1, 2, 3, 4, 7)
each_way = pytest.mark.parametrize("name", CULLING)


def culled(name: str, **more: Any) -> SearchOptions:
    ways: dict[str, Any] = {**FORWARD, **CULLING[name], **more}
    return SearchOptions(**ways)


@pytest.mark.parametrize("graph", slow_among(ZOO, [BY_NAME["path_1000"]]), ids=lambda graph: graph.name)
def test_searches_equal_scipy(graph: ZooGraph) -> None:
    for symmetric, raw in ((True, False), (False, False), (True, True), (False, True)):
        offsets, columns = graph.csr(symmetric=symmetric, raw=raw)
        n = graph.vertex_count
        sources = sorted({n // 2} if graph.name in DEEP else {0, n // 2, n - 1} & set(range(n)))
        wanted = {source: scipy_distances(offsets, columns, source) for source in sources}
        for ranks in RANKS:
            search = PartitionSearch(
                stripe(offsets, columns, ranks=ranks), Query(symmetric=symmetric), culled("all")
            )
            for source, distance in wanted.items():
                result = search.run(source)
                assert numpy.array_equal(result.distance, distance)
                parents = smallest_predecessors(offsets, columns, distance)
                assert numpy.array_equal(result.predecessor, parents)


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_stripes_hold_the_graph(graph: ZooGraph) -> None:
    for raw in (False, True):
        offsets, columns = graph.csr(raw=raw)
        for ranks in RANKS:
            whole = stripe(offsets, columns, ranks=ranks)
            arrays = {
                name: array
                for part in whole.parts
                for name, array in to_arrays(part).items()
                if "/nn/" in name
            }
            facts = {"ranks": ranks, "vertex_count": graph.vertex_count, "arc_count": len(columns)}
            again = assemble(from_arrays(arrays, **facts))
            assert numpy.array_equal(again[0], offsets)
            assert numpy.array_equal(again[1], columns)


@each_way
@pytest.mark.parametrize("output", ["distance", "predecessor", "both"])
def test_no_option_changes_what_is_found(name: str, output: str) -> None:
    for graph in SOME:
        offsets, columns = graph.csr()
        distance = scipy_distances(offsets, columns, 1)
        expected = smallest_predecessors(offsets, columns, distance)
        for ranks in (1, 3, 4):
            query = Query(output=output, symmetric=True)
            found = PartitionSearch(stripe(offsets, columns, ranks=ranks), query, culled(name)).run(1)
            assert (found.distance is None) == (output == "predecessor")
            assert (found.predecessor is None) == (output == "distance")
            if found.distance is not None:
                assert numpy.array_equal(found.distance, distance)
            if found.predecessor is not None:
                assert numpy.array_equal(found.predecessor, expected)


@each_way
@pytest.mark.parametrize("groups", [0, 2])
def test_delegates_and_groups_find_the_same(name: str, groups: int) -> None:
    offsets, columns = fast_csr(rmat(9), symmetric=True)
    source = int(numpy.argmax(numpy.diff(offsets)))
    for threshold in (0, 12, 10**6):
        whole = partition(offsets, columns, ranks=4, threshold=threshold)
        wanted = PartitionSearch(whole, Query(symmetric=True)).run(source)
        ways: dict[str, Any] = {**CULLING[name], "groups": groups, "local_all_to_all": groups > 0}
        found = PartitionSearch(whole, Query(symmetric=True), SearchOptions(**ways)).run(source)
        assert numpy.array_equal(found.distance, wanted.distance)
        assert numpy.array_equal(found.predecessor, wanted.predecessor)


def test_every_arc_is_accounted_for() -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True)
    degrees = numpy.diff(offsets)
    source = int(numpy.argmax(degrees))
    one_piece = prepare_csr(offsets, columns, symmetric=True).run(source)
    reached = one_piece.distance >= 0
    sent, duplicates = {}, {}
    for ranks in (1, 4):
        for name in CULLING:
            search = PartitionSearch(
                stripe(offsets, columns, ranks=ranks), Query(symmetric=True), culled(name)
            )
            search.run(source)
            levels = [added_up(level) for level in zip(*(rank.levels for rank in search.labels), strict=True)]
            arcs, duplicates[name, ranks], masked, sent[name, ranks] = numpy.sum(
                [astuple(level) for level in levels], axis=0
            )
            assert arcs == degrees[reached].sum()
            assert arcs >= duplicates[name, ranks] + masked + sent[name, ranks]
            records = [record for rank in search.labels for record in rank.levels]
            assert sum(record.vertex_bytes for record in records) == 4 * sent[name, ranks]
            # A bit for each vertex lets every rank send each only once.
            if culled(name).uniquify:
                assert sent[name, ranks] <= (ranks - 1) * reached.sum()
    assert sent["all", 4] == sent["bitmask", 4] == sent["exact", 4] < sent["duplicates", 4] < sent["none", 4]
    # As more ranks divide the neighbours, each has fewer duplicates among its own (section 6.2).
    assert duplicates["all", 4] == duplicates["duplicates", 4] < duplicates["all", 1]


@pytest.mark.parametrize("hold", [0.1, 0.5, 0.95])
def test_parcels_may_be_late_and_out_of_order(hold: float) -> None:
    overtaken = 0
    for graph in [BY_NAME["skewed_random"], BY_NAME["tail_on_clique"], BY_NAME["grid_13x17"]]:
        whole = stripe(*graph.csr(), ranks=4)
        expected = PartitionSearch(whole, Query(symmetric=True)).run(2)
        for seed in range(3):
            network = DisorderedNetwork(4, seed, hold=hold)
            given = Query(symmetric=True), culled("all")
            states = [RankSearch(whole.of_rank(rank), *given) for rank in range(4)]
            answers = network.run(lambda end, states=states: search_program(end, states[end.rank], 2))
            assert_shares(answers, expected)
            overtaken += network.overtaken
    assert overtaken


def test_max_depth() -> None:
    offsets, columns = BY_NAME["path_33"].csr()
    distance = scipy_distances(offsets, columns, 10)
    for depth in (0, 1, 3, 22, 23, 50):
        whole = stripe(offsets, columns, ranks=2)
        found = PartitionSearch(whole, Query(max_depth=depth), culled("all")).run(10)
        assert numpy.array_equal(found.distance, numpy.where(distance <= depth, distance, -1))
        assert len(found.directions) == min(depth, 23)


def test_components_of_stripes() -> None:
    offsets, columns = BY_NAME["two_parts"].csr()
    found = components(stripe(offsets, columns, ranks=3), symmetric=True)
    assert found.component.tolist() == [0, 0, 0, 3, 4, 5, 5, 5, 8, 8]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": "sorted"}, "bins is 'sorted'; it can be 'atomic' or 'prefix_sum'"),
        ({"bitmask": "bytes"}, "bitmask is 'bytes'; it can be 'exact' or 'best_effort'"),
        ({"bitmask": "best_effort"}, "bitmask best_effort says how uniquify tells; set uniquify, too"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SearchOptions(**options)


def test_arrays_that_are_missing_are_named() -> None:
    with pytest.raises(ValueError, match="no array 'rank0/nn/row_offsets'"):
        from_arrays({}, ranks=1, vertex_count=1, arc_count=0)
