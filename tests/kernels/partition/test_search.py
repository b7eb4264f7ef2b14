"""Searches over ranks equal SciPy and each other: every rank count, threshold, option, and any wire."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.exchange import Groups, Stuck, gather, run_in_lock_step, swap
from gravel.kernels.partition import (
    PartitionedGraph,
    PartitionSearch,
    SearchOptions,
    partition,
    search_rank,
    suggest_threshold,
)
from gravel.kernels.partition.components import components
from gravel.kernels.partition.directions import Ends, is_backward
from gravel.kernels.partition.masks import add, message_bytes, pack
from gravel.kernels.partition.program import search_program
from gravel.kernels.partition.rank_search import RankSearch
from gravel.kernels.partition.routes import Direct
from gravel.stages.rank_group import run_in_threads
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.disorder import DisorderedNetwork
from tests.kernels.partition.ranks_case import assert_shares
from tests.parameters import slow_among
from tests.workflows.real_graphs import graph_cases, read
from tests.zoo import ZooGraph, needs_data, scipy_components, scipy_distances, zoo

ZOO = list(zoo())
BY_NAME = {graph.name: graph for graph in ZOO}
CUTS = tuple(itertools.product((1, 2, 3, 4, 7), (0, 3, 10**6)))
FEW_CUTS = ((1, 3), (2, 0), (3, 3), (4, 10**6), (7, 3))
"""Ranks and thresholds: all vertices are delegates, some, or none."""
each_cut = pytest.mark.parametrize("every", slow_among([False, True], [True]), ids=["few", "every"])
DEEP = ("path_1000", "hub_and_chain")
"""Of hundreds of levels, each of which takes every rank a turn."""
SOME = [graph for graph in ZOO[-9:] if graph.name not in DEEP] + [BY_NAME["path_33"], BY_NAME["complete_40"]]

OPTIONS = {
    "forward": {"direction_optimized": False, "reduction": "blocking", "changed_only": False},
    "uniquify": {"uniquify": True, "reduction": "blocking"},
    "backward": dict.fromkeys(("nd_backward", "dn_backward", "dd_backward"), 0.0)
    | dict.fromkeys(("nd_forward", "dn_forward", "dd_forward"), 0.0),
    "tree": {"reduction_algorithm": "tree", "message_bytes": 8},
    "recursive doubling": {"reduction_algorithm": "recursive_doubling", "reduction": "blocking"},
    "swinging": dict.fromkeys(("nd_backward", "dn_backward", "dd_backward"), 1e-3)
    | dict.fromkeys(("nd_forward", "dn_forward", "dd_forward"), 1e-3),
}
GROUPED = {
    "two phases": {"groups": 2},
    "two phases, blocking": {"groups": 2, "reduction": "blocking", "changed_only": False},
    "one group": {"groups": 1},
    "local all-to-all": {"groups": 2, "local_all_to_all": True},
    "local all-to-all, uniquify": {"groups": 2, "local_all_to_all": True, "uniquify": True},
    "local all-to-all by trees": {
        "groups": 2,
        "local_all_to_all": True,
        "uniquify": True,
        "reduction_algorithm": "tree",
        "message_bytes": 4,
    },
    "four groups": {"groups": 4, "local_all_to_all": True, "uniquify": True},
    "all in one": {"groups": 1, "local_all_to_all": True},
}


def preferred_predecessors(offsets: Any, columns: Any, distance: Any, threshold: int) -> Any:
    """The smallest delegate one level up, else the smallest normal vertex; delegates take any smallest."""
    n = len(distance)
    degrees = numpy.diff(offsets)
    tails = numpy.repeat(numpy.arange(n), degrees)
    heads = columns.astype(numpy.int64)
    tree = (distance[tails] >= 0) & (distance[heads] == distance[tails] + 1)
    rank = tails + numpy.where((degrees[tails] > threshold) | (degrees[heads] > threshold), 0, n)
    result = numpy.full(n, 2 * n)
    numpy.minimum.at(result, heads[tree], rank[tree])
    return numpy.where(result == 2 * n, -1, numpy.where(result >= n, result - n, result))


def cut(graph: ZooGraph, ranks: int, threshold: int, symmetric: bool = True) -> PartitionedGraph:
    return partition(*graph.csr(symmetric=symmetric), ranks=ranks, threshold=threshold)


@each_cut
@pytest.mark.parametrize("graph", slow_among(ZOO, [BY_NAME["path_1000"]]), ids=lambda graph: graph.name)
def test_searches_equal_scipy(graph: ZooGraph, every: bool) -> None:
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        n = graph.vertex_count
        # Hundreds of levels on fifteen layouts are slow enough from one source.
        sources = sorted({n // 2} if graph.name in DEEP else {0, n // 2, n - 1} & set(range(n)))
        wanted = {source: scipy_distances(offsets, columns, source) for source in sources}
        for ranks, threshold in CUTS if every else FEW_CUTS:
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            search = PartitionSearch(whole, Query(symmetric=symmetric))
            for source, distance in wanted.items():
                result = search.run(source)
                assert numpy.array_equal(result.distance, distance)
                parents = preferred_predecessors(offsets, columns, distance, threshold)
                assert numpy.array_equal(result.predecessor, parents)


@each_cut
@pytest.mark.parametrize(
    "name", slow_among([*OPTIONS, *GROUPED], {"all in one", "four groups", "local all-to-all", "swinging"})
)
def test_no_option_changes_what_is_found(name: str, every: bool) -> None:
    options = SearchOptions(**{**OPTIONS, **GROUPED}[name])
    cuts = list(itertools.product((4, 8) if name in GROUPED else (1, 3, 4), (0, 5, 10**6)))
    if not every:
        cuts = [(ranks, threshold) for ranks, threshold in cuts if ranks == 4 or threshold == 5]
    for graph in SOME:
        offsets, columns = graph.csr()
        distance = scipy_distances(offsets, columns, 1)
        expected = {each: preferred_predecessors(offsets, columns, distance, each) for _, each in cuts}
        for ranks, threshold in cuts:
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            found = PartitionSearch(whole, Query(symmetric=True), options).run(1)
            assert numpy.array_equal(found.distance, distance)
            assert numpy.array_equal(found.predecessor, expected[threshold])


def test_directions_turn_for_each_subgraph_where_work_is_saved() -> None:
    graph = rmat(12)
    offsets, columns = fast_csr(graph, symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=16)
    source = int(numpy.argmax(numpy.diff(offsets)))
    search = PartitionSearch(whole, Query(symmetric=True))
    assert "pull" in search.run(source).directions
    turned = {name for rank in search.labels for record in rank.levels for name in record.backward}
    assert turned == {"nd", "dn", "dd"}
    plain = PartitionSearch(whole, Query(symmetric=True), SearchOptions(direction_optimized=False))
    assert set(plain.run(source).directions) == {"push"}
    assert set(PartitionSearch(whole, Query(symmetric=False)).run(source).directions) == {"push"}
    # Each subgraph has factors of its own; it turns anyway when no destination is left to look for a parent.
    for name in ("nd", "dn", "dd"):
        never = {f"{other}_backward": 1e30 for other in ("nd", "dn", "dd") if other != name}
        search = PartitionSearch(whole, Query(symmetric=True), SearchOptions(**never))
        search.run(source)
        assert {way for rank in search.labels for way in rank.levels[1].backward} == {name}


def test_a_direction_follows_the_work() -> None:
    sources = Ends(unvisited=1000)
    sources.advance(new=100, arcs=600)
    factors = {"to_backward": 0.5, "to_forward": 0.05}
    # A tenth of the sources is new, so a destination expects ten looks.
    assert is_backward(False, sources, 100, **factors)
    assert not is_backward(False, sources, 120, **factors)
    assert is_backward(True, sources, 1199, **factors)
    assert not is_backward(True, sources, 1201, **factors)
    sources.advance(new=0, arcs=0)
    assert is_backward(True, sources, 10**9, **factors)


@pytest.mark.parametrize("changed_only", [True, False])
def test_a_mask_survives_its_message(changed_only: bool) -> None:
    random = numpy.random.default_rng(3)
    for share in (0.0, 0.02, 0.3, 1.0):
        mask = numpy.where(random.random(500) < share, random.integers(1, 1 << 60, 500), 0).astype(
            numpy.uint64
        )
        message = pack(mask, changed_only)
        again = numpy.full(500, 1 << 63, numpy.uint64)
        add(again, message)
        assert numpy.array_equal(again, mask | numpy.uint64(1 << 63))
        assert message_bytes(message) <= mask.nbytes
        if changed_only and share < 0.1:
            assert message_bytes(message) == 12 * numpy.count_nonzero(mask)


@pytest.mark.parametrize("name", ["forward", "uniquify", "local all-to-all, uniquify", "all in one"])
def test_a_level_in_several_visits_finds_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few arcs are visited at once, and tails are asked for as soon as few are kept."""
    options = SearchOptions(**{**OPTIONS, **GROUPED}[name])
    for graph in [BY_NAME["skewed_random"], BY_NAME["tail_on_clique"], BY_NAME["grid_13x17"]]:
        whole = cut(graph, 4, 12)
        expected = PartitionSearch(whole, Query(symmetric=True), options).run(1)
        for visited, kept in ((5, 1 << 20), (1 << 20, 0), (1, 3)):
            monkeypatch.setattr("gravel.kernels.partition.rank_search.VISITED", visited)
            monkeypatch.setattr("gravel.kernels.partition.program.KEPT", kept)
            states = [RankSearch(whole.of_rank(rank), Query(symmetric=True), options) for rank in range(4)]
            network = DisorderedNetwork(4, visited, hold=0.3)
            answers = network.run(lambda end, ready=states: search_program(end, ready[end.rank], 1))
            assert_shares(answers, expected)
            assert {len(labels.levels) for labels in answers} == {len(expected.directions)}
        monkeypatch.undo()


def test_no_rank_keeps_the_arcs_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a rank has at once are so many arcs, whatever a level has."""
    monkeypatch.setattr("gravel.kernels.partition.rank_search.VISITED", 1 << 10)
    monkeypatch.setattr("gravel.kernels.partition.program.KEPT", 1 << 10)
    offsets, columns = fast_csr(rmat(12), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=1 << 10)
    kept = []
    deliver = Direct.deliver

    def watched(self: Direct, bins: Any) -> Any:
        yield from deliver(self, bins)
        kept.append(self.kept)

    monkeypatch.setattr(Direct, "deliver", watched)
    PartitionSearch(whole, Query(symmetric=True)).run(int(numpy.argmax(numpy.diff(offsets))))
    assert len(columns) > 50 << 10
    assert (1 << 10) < max(kept) < 8 << 10


def test_options_send_less() -> None:
    offsets, columns = fast_csr(rmat(12), symmetric=True)
    whole = partition(offsets, columns, ranks=8, threshold=20)
    source = int(numpy.argmax(numpy.diff(offsets)))

    def sent(**options: Any) -> tuple[int, int]:
        search = PartitionSearch(whole, Query(symmetric=True), SearchOptions(**options))
        search.run(source)
        records = [record for rank in search.labels for record in rank.levels]
        return sum(r.mask_bytes for r in records), sum(r.vertex_bytes for r in records)

    plain = sent(changed_only=False)
    assert sent(changed_only=True)[0] < plain[0]
    assert sent(uniquify=True)[1] < sent()[1]
    # Each leader gets what its mates know, and asks one other leader instead of four ranks.
    assert sent(groups=2, changed_only=False)[0] < plain[0]
    both = sent(groups=2, local_all_to_all=True, uniquify=True)[1]
    assert both < sent(groups=2, local_all_to_all=True)[1]


def test_ranks_of_a_rank_group_find_the_same() -> None:
    for graph in SOME:
        whole = cut(graph, 3, 5)
        expected = PartitionSearch(whole, Query(symmetric=True)).run(1)
        states = [RankSearch(whole.of_rank(rank), Query(symmetric=True)) for rank in range(3)]
        answers = run_in_threads(lambda group, state: search_rank(group, state, 1), states)
        assert_shares(answers, expected)


@pytest.mark.parametrize("hold", slow_among([0.1, 0.5, 0.95], [0.1, 0.95]))
@pytest.mark.parametrize(
    "name",
    [
        "forward",
        "uniquify",
        "tree",
        "recursive doubling",
        "two phases",
        "local all-to-all, uniquify",
        "local all-to-all by trees",
        "all in one",
    ],
)
def test_parcels_may_be_late_and_out_of_order(name: str, hold: float) -> None:
    options = SearchOptions(**{**OPTIONS, **GROUPED}[name])
    overtaken = 0
    for graph in [BY_NAME["skewed_random"], BY_NAME["tail_on_clique"], BY_NAME["grid_13x17"]]:
        whole = cut(graph, 4, 5)
        expected = PartitionSearch(whole, Query(symmetric=True)).run(2)
        for seed in range(3):
            network = DisorderedNetwork(4, seed, hold=hold)
            states = [RankSearch(whole.of_rank(rank), Query(symmetric=True), options) for rank in range(4)]
            answers = network.run(lambda end, states=states: search_program(end, states[end.rank], 2))
            assert_shares(answers, expected)
            overtaken += network.overtaken
    assert overtaken or name == "all in one"


def test_max_depth_and_outputs() -> None:
    offsets, columns = BY_NAME["path_33"].csr()
    whole = partition(offsets, columns, ranks=2, threshold=1)
    result = PartitionSearch(whole, Query(max_depth=3)).run(10)
    distance = scipy_distances(offsets, columns, 10)
    assert numpy.array_equal(result.distance, numpy.where(distance <= 3, distance, -1))
    assert result.directions == ("push",) * 3
    bare = PartitionSearch(whole, Query(output="distance")).run(0)
    assert bare.predecessor is None
    assert numpy.array_equal(bare.distance, scipy_distances(offsets, columns, 0))
    assert PartitionSearch(whole, Query(output="predecessor")).run(0).distance is None
    with pytest.raises(ValueError, match="output is 'all'"):
        PartitionSearch(whole, Query(output="all"))
    with pytest.raises(ValueError, match="source 33 is not a vertex"):
        PartitionSearch(whole).run(33)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"reduction": "lazy"}, "'blocking' or 'overlapped'"),
        ({"reduction_algorithm": "ring"}, "'all_gather', 'tree', 'recursive_doubling'"),
        ({"message_bytes": 6}, "multiple of the 4 bytes"),
        ({"predecessors": "first"}, "'any' or 'smallest'"),
        ({"groups": -1}, "number of hosts"),
        ({"local_all_to_all": True}, "say how many `groups`"),
        ({"nd_forward": 2.0}, "nd_forward lies between"),
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SearchOptions(**wrong)


def test_groups_must_be_equal() -> None:
    search = PartitionSearch(cut(BY_NAME["path_33"], 3, 1), options=SearchOptions(groups=2))
    with pytest.raises(ValueError, match="3 ranks do not make 2 equal groups"):
        search.run(0)
    group = Groups.of(5, 8, 2)
    assert (group.group, group.member, group.leader, group.leads) == (1, 1, 4, False)
    assert (group.mates, group.twins) == ((4, 6, 7), (1,))


def test_verbs_and_what_nobody_sends() -> None:
    def program(end: Any) -> Any:
        values = yield from gather(end, end.rank * 10)
        swapped = yield from swap(end, {to: (end.rank, to) for to in end.others})
        return values, swapped

    answers = run_in_lock_step(program, 3)
    assert answers[1] == ([0, 10, 20], {0: (0, 1), 2: (2, 1)})

    def waits(end: Any) -> Any:
        yield end.post({}, end.others)

    with pytest.raises(Stuck, match="nobody sent"):
        run_in_lock_step(waits, 2)

    def to_itself(end: Any) -> Any:
        yield end.post({end.rank: 1}, ())

    with pytest.raises(ValueError, match="posts to itself"):
        run_in_lock_step(to_itself, 2)


@needs_data
@each_cut
@pytest.mark.parametrize("path", graph_cases())
def test_any_number_of_ranks_finds_the_same_in_real_graphs(path: Path, every: bool) -> None:
    graph = read(path)
    offsets, columns = fast_csr(
        ZooGraph(path.name, len(graph.ids), graph.source, graph.target), symmetric=True
    )
    source = int(graph.source[len(graph.source) // 2])
    distance = scipy_distances(offsets, columns, source)
    threshold = suggest_threshold(offsets, columns, 4)
    single = PartitionSearch(
        partition(offsets, columns, ranks=1, threshold=threshold), Query(symmetric=True)
    ).run(source)
    assert numpy.array_equal(single.distance, distance)
    labels = scipy_components(offsets, columns)
    for ranks in (2, 3, 4, 7) if every else (3,):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        assert numpy.array_equal(components(whole, symmetric=True).component, labels)
        found = PartitionSearch(whole, Query(symmetric=True)).run(source)
        assert numpy.array_equal(found.distance, distance)
        assert numpy.array_equal(found.predecessor, single.predecessor)
