"""Striped searches equal those of a graph in one piece: every rank count, option, output, and any wire."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs import prepare as prepare_csr
from gravel.kernels.bfs.asked import Asked
from gravel.kernels.partition import to_arrays
from gravel.kernels.partition.chunks import assemble
from gravel.kernels.partition.components import components
from gravel.kernels.striped import (
    StripedOptions,
    StripedSearch,
    from_arrays,
    search_rank,
    stripe,
)
from gravel.kernels.striped.program import search_program
from gravel.kernels.striped.rank import StripedRankSearch
from gravel.stages.rank_group import run_in_threads
from tests.kernels.cuda_case import fast_csr, rmat, smallest_predecessors
from tests.kernels.disorder import DisorderedNetwork
from tests.kernels.partition.ranks_case import assert_shares
from tests.kernels.partition.test_search import DEEP, SOME
from tests.parameters import slow_among
from tests.zoo import ZooGraph, scipy_distances, zoo

ZOO = list(zoo())
BY_NAME = {graph.name: graph for graph in ZOO}
RANKS = (1, 2, 3, 4, 7)

OPTIONS = {
    "both": {},
    "none": {"bitmask": False, "local_duplicates": False},
    "bitmask": {"local_duplicates": False},
    "duplicates": {"bitmask": False},
    "one entry": {"bitmask": False, "history": 1},
}


@pytest.mark.parametrize("graph", slow_among(ZOO, [BY_NAME["path_1000"]]), ids=lambda graph: graph.name)
def test_searches_equal_scipy(graph: ZooGraph) -> None:
    for symmetric, raw in ((True, False), (False, False), (True, True), (False, True)):
        offsets, columns = graph.csr(symmetric=symmetric, raw=raw)
        n = graph.vertex_count
        sources = sorted({n // 2} if graph.name in DEEP else {0, n // 2, n - 1} & set(range(n)))
        wanted = {source: scipy_distances(offsets, columns, source) for source in sources}
        for ranks in RANKS:
            search = StripedSearch(stripe(offsets, columns, ranks=ranks))
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


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("output", ["distance", "predecessor", "both"])
def test_no_option_changes_what_is_found(name: str, output: str) -> None:
    options = StripedOptions(**OPTIONS[name])
    for graph in SOME:
        offsets, columns = graph.csr()
        distance = scipy_distances(offsets, columns, 1)
        expected = smallest_predecessors(offsets, columns, distance)
        for ranks in (1, 3, 4):
            search = StripedSearch(stripe(offsets, columns, ranks=ranks), Asked(output=output), options)
            found = search.run(1)
            assert (found.distance is None) == (output == "predecessor")
            assert (found.predecessor is None) == (output == "distance")
            if found.distance is not None:
                assert numpy.array_equal(found.distance, distance)
            if found.predecessor is not None:
                assert numpy.array_equal(found.predecessor, expected)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_threads_find_the_same(name: str, index: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.row_blocks.LEAST_WORK", 64)
    monkeypatch.setattr("gravel.kernels.striped.rank.BINS_ALONE", 64)
    offsets, columns = fast_csr(rmat(11), symmetric=True)
    columns = columns.astype(index)
    source = int(numpy.argmax(numpy.diff(offsets)))
    distance = scipy_distances(offsets, columns, source)
    expected = smallest_predecessors(offsets, columns, distance)
    for ranks in (1, 3):
        search = StripedSearch(stripe(offsets, columns, ranks=ranks), options=StripedOptions(**OPTIONS[name]))
        for _ in range(3):
            found = search.run(source)
            assert numpy.array_equal(found.distance, distance)
            assert numpy.array_equal(found.predecessor, expected)


def test_every_arc_is_accounted_for() -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True)
    degrees = numpy.diff(offsets)
    source = int(numpy.argmax(degrees))
    one_piece = prepare_csr(offsets, columns, symmetric=True).run(source)
    reached = one_piece.distance >= 0
    sent = {}
    for name, chosen in OPTIONS.items():
        search = StripedSearch(stripe(offsets, columns, ranks=4), options=StripedOptions(**chosen))
        found = search.run(source)
        assert len(found.directions) == int(one_piece.distance.max()) + 1
        records = [record for rank in search.labels for record in rank.levels]
        assert sum(record.arcs for record in records) == degrees[reached].sum()
        assert sum(record.frontier for record in records) == reached.sum()
        assert sum(record.claimed for record in records) == reached.sum() - 1
        for record in records:
            assert record.arcs == record.duplicates + record.masked + sum(record.sent)
        over_wires = 0
        for rank, labels in enumerate(search.labels):
            for record in labels.levels:
                away = sum(record.sent) - record.sent[rank]
                assert record.sent_bytes == 8 * away
                over_wires += away
        sent[name] = over_wires
        # A bit for each vertex lets every rank send each only once.
        if StripedOptions(**chosen).bitmask:
            assert over_wires <= 3 * reached.sum()
    assert sent["both"] == sent["bitmask"] < sent["duplicates"] < sent["one entry"] < sent["none"]


def test_distances_take_half_the_bytes() -> None:
    offsets, columns = fast_csr(rmat(10), symmetric=True)
    source = int(numpy.argmax(numpy.diff(offsets)))

    def sent(output: str) -> int:
        search = StripedSearch(stripe(offsets, columns, ranks=3), Asked(output=output))
        search.run(source)
        return sum(record.sent_bytes for rank in search.labels for record in rank.levels)

    assert sent("both") == sent("predecessor") == 2 * sent("distance") > 0


def test_ranks_of_a_rank_group_find_the_same() -> None:
    for graph in SOME:
        whole = stripe(*graph.csr(), ranks=3)
        expected = StripedSearch(whole).run(1)
        states = [StripedRankSearch(part, whole.vertex_count, 3) for part in whole.parts]
        answers = run_in_threads(lambda group, state: search_rank(group, state, 1), states)
        assert_shares(answers, expected)


@pytest.mark.parametrize("hold", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("name", ["both", "none"])
def test_parcels_may_be_late_and_out_of_order(name: str, hold: float) -> None:
    options = StripedOptions(**OPTIONS[name])
    overtaken = 0
    for graph in [BY_NAME["skewed_random"], BY_NAME["tail_on_clique"], BY_NAME["grid_13x17"]]:
        whole = stripe(*graph.csr(), ranks=4)
        expected = StripedSearch(whole).run(2)
        for seed in range(3):
            network = DisorderedNetwork(4, seed, hold=hold)
            states = [
                StripedRankSearch(part, whole.vertex_count, 4, Asked(), options) for part in whole.parts
            ]
            answers = network.run(lambda end, states=states: search_program(end, states[end.rank], 2))
            assert_shares(answers, expected)
            overtaken += network.overtaken
    assert overtaken


def test_max_depth() -> None:
    offsets, columns = BY_NAME["path_33"].csr()
    distance = scipy_distances(offsets, columns, 10)
    for depth in (0, 1, 3, 22, 23, 50):
        search = StripedSearch(stripe(offsets, columns, ranks=2), Asked(max_depth=depth))
        found = search.run(10)
        assert numpy.array_equal(found.distance, numpy.where(distance <= depth, distance, -1))
        assert len(found.directions) == min(depth, 23)


def test_components_of_stripes() -> None:
    offsets, columns = BY_NAME["two_parts"].csr()
    found = components(stripe(offsets, columns, ranks=3), symmetric=True)
    assert found.component.tolist() == [0, 0, 0, 3, 4, 5, 5, 5, 8, 8]


@pytest.mark.parametrize("history", [0, -1, 12])
def test_a_history_is_a_power_of_two(history: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        StripedOptions(history=history)


def test_what_cannot_be_is_refused() -> None:
    whole = stripe(*BY_NAME["path_33"].csr(), ranks=2)
    with pytest.raises(ValueError, match="output is 'all'"):
        StripedSearch(whole, Asked(output="all"))
    with pytest.raises(ValueError, match="source 33 is not a vertex"):
        StripedSearch(whole).run(33)
    with pytest.raises(ValueError, match="no array 'rank0/nn/row_offsets'"):
        from_arrays({}, ranks=1, vertex_count=1, arc_count=0)
