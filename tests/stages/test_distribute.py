"""distribute, traverse and verify over ranks that alone hold a generated graph."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.partition.layout import to_arrays
from gravel.stages.artifacts import DistributedGraph, Graph, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.distribute import COMPILED, STAGE, distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.partitioning import resident
from gravel.stages.partitioning.resident import Recipe, Renamed, find_rank
from gravel.stages.rank_group import run_in_threads
from gravel.stages.ranks.distributed import MADE_ANEW
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE as TRAVERSE
from gravel.stages.traverse import traverse
from gravel.stages.verify import STAGE as VERIFY
from gravel.stages.verify import VerifyParameters, verify

SOURCE = {"rmat": {"scale": 9, "edge_factor": 8, "seed": 5}}


class RankGroupContext(PlainContext):
    """Ranks as threads of this process, and a count of the calls."""

    def __init__(self, reserved: int) -> None:
        super().__init__()
        self.reserved = reserved
        self.calls: list[str] = []

    def rank_group(self, function: Any, ranks: Sequence[Any]) -> list[Any]:
        self.calls.append(function.__name__)
        return super().rank_group(function, ranks)


@pytest.fixture(autouse=True)
def _nothing_resident() -> None:
    resident.RESIDENT.clear()


@pytest.fixture(scope="module")
def whole() -> Graph:
    edges, _ = ingest(PlainContext(), IngestParameters(source=SOURCE))
    return symmetrize(PlainContext(), SymmetrizeParameters(), input=edges)


def made(ranks: int, context: PlainContext | None = None, **asked: Any) -> DistributedGraph:
    parameters = DistributeParameters(source=SOURCE, ranks=ranks, **asked)
    graph, ids = distribute(context or PlainContext(), parameters)
    assert ids.vertex_count == graph.vertex_count == 512
    return graph


def search(graph: Any, context: PlainContext | None = None, **asked: Any) -> Any:
    parameters = TraverseParameters(sources={"random": 5, "seed": 2}, **asked)
    return traverse(context or PlainContext(), parameters, input=graph)


def check(graph: Any, traversal: Traversal, context: PlainContext | None = None) -> dict[str, int]:
    found = verify(context or PlainContext(), VerifyParameters(), graph=graph, traversal=traversal)
    return {record["check"]: record["searches"] for record in found.checks}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("threshold", [8, "auto"])
def test_it_is_what_partition_makes_of_the_graph(whole: Graph, ranks: int, threshold: int | str) -> None:
    graph = made(ranks, threshold=threshold)
    stored = partition(PlainContext(), PartitionParameters(ranks=ranks, threshold=threshold), input=whole)
    facts = ("ranks", "threshold", "vertex_count", "arc_count", "symmetric", "statistics")
    assert [getattr(graph, name) for name in facts] == [getattr(stored, name) for name in facts]
    held = {
        name: array
        for rank in resident.RESIDENT.values()
        for name, array in to_arrays(rank.share.part).items()
    }
    assert held.keys() == stored.arrays.keys()
    assert all(numpy.array_equal(held[name], array) for name, array in stored.arrays.items())
    # Nothing but the recipe leaves the ranks.
    assert json.dumps(dataclasses.asdict(graph))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_searches_are_those_of_the_partition(whole: Graph, ranks: int) -> None:
    stored = partition(PlainContext(), PartitionParameters(ranks=ranks, threshold=8), input=whole)
    expected, told = search(stored)
    context = RankGroupContext(ranks)
    found, measured = search(made(ranks, context, threshold=8), context)
    assert numpy.array_equal(found.sources, expected.sources)
    assert numpy.array_equal(found.distance, expected.distance)
    assert numpy.array_equal(found.predecessor, expected.predecessor)
    assert found.predecessor.dtype == expected.predecessor.dtype
    for mine, theirs in zip(measured.searches, told.searches, strict=True):
        for name in ("source", "reached", "arcs", "edges", "depth", "levels", "batch"):
            assert mine[name] == theirs[name]
    assert measured.graph["partition"]["threshold"] == 8
    # To make, to look for what was made, to draw, to compile, to search, and to let go of labels.
    assert context.calls == ["make_as_rank", "ready_as_rank"] + ["work_as_rank"] * 4
    assert not any(rank.kept for rank in resident.RESIDENT.values())


def test_ranks_check_each_search_and_keep_no_labels(whole: Graph) -> None:
    graph = made(3, threshold=8)
    kept, measured = search(graph, output="checks")
    assert kept.distance is None
    assert kept.predecessor is None
    five = {"tree", "tree_levels", "edge_levels", "component", "tree_arcs"}
    assert check(graph, kept) == dict.fromkeys({"ranges", "source", *five}, 5)
    assert any("no labels were kept" in note for note in measured.notes)
    with pytest.raises(StageError, match="neither a distance nor a predecessor"):
        check(whole, kept)
    with pytest.raises(StageError, match="only a search of a distributed graph may leave out labels"):
        search(whole, output="checks")


@pytest.mark.parametrize("output", ["checks", "both"])
def test_searches_may_end_at_a_depth(whole: Graph, output: str) -> None:
    graph = made(3, threshold=8)
    found, measured = search(graph, output=output, max_depth=1)
    assert {record["depth"] for record in measured.searches} == {1}
    assert check(graph, found)["component"] == 5
    deeper = dataclasses.replace(found, max_depth=2)
    if output == "both":
        assert check(whole, found)["component"] == 5
        with pytest.raises(VerificationFailed, match="component"):
            check(graph, deeper)


def test_a_fault_that_ranks_find_fails_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.partition.rank_search import RankSearch

    graph = made(3, threshold=8)
    own_labels = RankSearch.own_labels

    def wrong(self: RankSearch, *given: Any) -> Any:
        distance, predecessor = own_labels(self, *given)
        if self.rank == 1:
            distance[distance == 2] += 1
        return distance, predecessor

    monkeypatch.setattr(RankSearch, "own_labels", wrong)
    kept, _ = search(graph, output="checks")
    with pytest.raises(VerificationFailed, match="tree_levels"):
        check(graph, kept)


@pytest.mark.parametrize("output", ["both", "distance", "predecessor"])
def test_labels_are_verified_over_ranks(whole: Graph, output: str) -> None:
    graph = made(3, threshold=8)
    labels, _ = search(graph, output=output)
    assert check(graph, labels) == check(whole, labels)
    name = "predecessor" if output == "predecessor" else "distance"
    broken = numpy.array(getattr(labels, name), numpy.int32)
    broken[2, 7] = 600
    with pytest.raises(VerificationFailed) as over_ranks:
        check(graph, dataclasses.replace(labels, **{name: broken}))
    with pytest.raises(VerificationFailed) as alone:
        check(whole, dataclasses.replace(labels, **{name: broken}))
    assert over_ranks.value.vertices == alone.value.vertices == (7,)
    assert str(over_ranks.value) == str(alone.value)


def test_ranks_are_made_once_and_again_when_one_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = made(3, threshold=8)
    times: list[int] = []
    make = resident.make_rank_of

    def counted(group: Any, *given: Any) -> Any:
        times.append(group.rank)
        return make(group, *given)

    monkeypatch.setattr(resident, "make_rank_of", counted)
    first, measured = search(graph)
    assert times == []
    assert MADE_ANEW not in measured.notes
    del resident.RESIDENT[Recipe.of(graph).key, 1]
    again, measured = search(graph)
    assert MADE_ANEW in measured.notes
    assert sorted(times) == [0, 1, 2]
    assert numpy.array_equal(first.distance, again.distance)
    made(2, threshold=8)
    assert {rank for _, rank in resident.RESIDENT} == {0, 1}
    assert {key for key, _ in resident.RESIDENT} != {Recipe.of(graph).key}


def test_workers_keep_the_ranks_that_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe.of(made(3, threshold=8))
    shares = dict(resident.RESIDENT)
    # Each worker has one rank, and not that of its place in the rank group.
    monkeypatch.setattr(resident, "_resident_rank", lambda place, _: (place + 1) % 3)

    def look(group: Any, item: Any) -> Any:
        named, held, new = find_rank(group, recipe, "cpu")
        assert isinstance(named, Renamed)
        named.send((named.rank + 1) % 3, 0, named.rank)
        heard = named.receive((named.rank + 2) % 3, 0)
        named.barrier()
        return group.rank, named.rank, held.share.part.rank, named.all_gather(named.rank), heard, new

    for place, name, rank, gathered, heard, new in run_in_threads(look, [None] * 3):
        assert name == rank == (place + 1) % 3
        assert gathered == [0, 1, 2]
        assert heard == (name + 2) % 3
        assert not new
    assert shares == resident.RESIDENT


def test_what_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = made(2, threshold=8)
    for asked, words in (
        ({"statistics": True}, "do not count"),
        ({"placement": "pinned"}, "in the memory of its ranks"),
        ({"tuning": {"groups": 3}}, "2 ranks do not make 3 equal groups"),
        ({"tuning": {"groop": 3}}, "no constant 'groop'"),
    ):
        with pytest.raises(StageError, match=words):
            search(graph, **asked)
    with pytest.raises(StageError, match="no such source: 512"):
        traverse(PlainContext(), TraverseParameters(sources={"vertices": [512]}), input=graph)
    on_gpus = PlainContext(Machine(backend="cuda", threads=1, host_memory=1 << 30, device_memory=1 << 30))
    with pytest.raises(StageError, match="2 ranks take 2 GPUs at the same time, and 0 were there"):
        made(2, on_gpus)
    with pytest.raises(ValidationError, match="do not make 3 equal hosts"):
        DistributeParameters(source=SOURCE, ranks=4, hosts=3)
    monkeypatch.setattr("gravel.kernels.partition.layout.local_count", lambda *_: 2**32)
    with pytest.raises(StageError, match="do not fit 32-bit local ids"):
        made(1)


def test_sources_are_drawn_and_given() -> None:
    few, _ = distribute(PlainContext(), DistributeParameters(source={"path": {"vertices": 11}}, ranks=3))
    every, _ = traverse(PlainContext(), TraverseParameters(sources={"random": 10**6}), input=few)
    assert every.sources.tolist() == list(range(11))
    graph = made(3, threshold=8)
    given, _ = traverse(PlainContext(), TraverseParameters(sources={"vertices": [3, 5]}), input=graph)
    assert given.sources.tolist() == [3, 5]


@pytest.mark.parametrize(("ranks", "threshold"), [(1, "auto"), (3, 4), (3, 10**6)])
def test_memory_stays_within_the_stated_need(ranks: int, threshold: int | str) -> None:
    asked = DistributeParameters(source={"rmat": {"scale": 15, "seed": 1}}, ranks=ranks, threshold=threshold)
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 33)
    need = STAGE.estimate(asked, {}, machine)
    made(ranks, threshold=8)  # what compiles is measured elsewhere
    resident.RESIDENT.clear()
    tracemalloc.start()
    graph, _ = distribute(PlainContext(machine), asked)
    making = tracemalloc.get_traced_memory()[1]
    extent = dataclasses.replace(need.outputs[0], normal_arcs=graph.statistics["nn_arcs"])
    tracemalloc.reset_peak()
    parameters = TraverseParameters(sources={"random": 2}, output="checks")
    traverse(PlainContext(machine), parameters, input=graph)
    searching = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    searched = TRAVERSE.estimate(parameters, {"input": (extent,)}, machine)
    assert making < need.host_bytes - COMPILED
    assert searching < searched.host_bytes - COMPILED


def test_what_is_stated() -> None:
    scale = 31
    asked = DistributeParameters(source={"rmat": {"scale": scale}}, ranks=8)
    eight = Machine(backend="cuda", threads=8, host_memory=1 << 39, device_memory=140 << 30)
    need = STAGE.estimate(asked, {}, eight)
    assert need.workers == 8
    assert 34 << 30 < need.device_bytes < 139 << 30
    assert need.host_bytes < 8 << 30
    graph = need.outputs[0]
    assert graph == Extent("DistributedGraph", 1 << 31, 1 << 36, ranks=8, normal_arcs=(1 << 36) // 10)
    searching = TRAVERSE.estimate(TraverseParameters(output="checks"), {"input": (graph,)}, eight)
    assert searching.device_bytes < 139 << 30
    assert searching.host_bytes < 8 << 30
    assert searching.workers == 8
    labels = searching.outputs[0]
    assert labels.bytes == 0
    verified = VERIFY.estimate(VerifyParameters(), {"graph": (graph,), "traversal": (labels,)}, eight)
    assert (verified.workers, verified.device_bytes) == (0, 0)
    with_labels = TRAVERSE.estimate(TraverseParameters(), {"input": (graph,)}, eight)
    assert with_labels.host_bytes > searching.host_bytes + (8 << 31)
