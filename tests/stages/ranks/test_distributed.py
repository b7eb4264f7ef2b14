"""Components over ranks that alone hold a generated graph, and ranks that verify them."""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.stages.artifacts import DistributedGraph, Graph, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.distribute import COMPILED, STAGE, distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.partitioning import resident
from gravel.stages.partitioning.resident import Recipe
from gravel.stages.ranks.distributed import MADE_ANEW
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from gravel.stages.traversal.implementations import RUNS
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE as TRAVERSE
from gravel.stages.traverse import traverse
from gravel.stages.verify import STAGE as VERIFY
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.test_distribute import RankGroupContext

# Sparse, so that there are many components beside the largest.
SOURCE = {"uniform": {"vertices": 600, "edges": 420, "seed": 3}}
FOUR = {"ranges", "edges_agree", "smallest", "connected"}


@pytest.fixture(autouse=True)
def _nothing_resident() -> None:
    resident.RESIDENT.clear()


@pytest.fixture(scope="module")
def whole() -> Graph:
    edges, _ = ingest(PlainContext(), IngestParameters(source=SOURCE))
    return symmetrize(PlainContext(), SymmetrizeParameters(), input=edges)


def made(ranks: int, context: PlainContext | None = None, threshold: int = 3) -> DistributedGraph:
    parameters = DistributeParameters(source=SOURCE, ranks=ranks, threshold=threshold)
    return distribute(context or PlainContext(), parameters)[0]


def find(graph: Any, context: PlainContext | None = None, **asked: Any) -> Any:
    parameters = TraverseParameters(algorithm="components", **asked)
    return traverse(context or PlainContext(), parameters, input=graph)


def check(graph: Any, traversal: Traversal, context: PlainContext | None = None) -> dict[str, int]:
    found = verify(context or PlainContext(), VerifyParameters(), graph=graph, traversal=traversal)
    assert found.algorithm == "components"
    return {record["check"]: record["searches"] for record in found.checks}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_components_are_those_of_the_graph(whole: Graph, ranks: int) -> None:
    expected, _ = find(whole)
    stored = partition(PlainContext(), PartitionParameters(ranks=ranks, threshold=3), input=whole)
    _, told = find(stored, RankGroupContext(ranks))
    context = RankGroupContext(ranks)
    found, measured = find(made(ranks, context), context)
    assert numpy.array_equal(found.component, expected.component)
    assert found.component.dtype == expected.component.dtype
    assert len(measured.searches) == RUNS
    for mine, theirs in zip(measured.searches[-len(told.searches) :], told.searches, strict=True):
        for name in ("source", "reached", "arcs", "edges", "levels"):
            assert mine[name] == theirs[name]
        if ranks > 1:  # a partition of one rank has no rank group, and tells nothing
            assert mine["exchange"] == theirs["exchange"]
    count = len(numpy.unique(expected.component))
    assert count > 50
    assert f"{count} components" in measured.notes
    assert measured.graph["partition"]["threshold"] == 3
    # To make, to look for what was made, and to find components.
    assert context.calls == ["make_as_rank", "ready_as_rank", "find_as_rank"]
    assert not any(rank.kept for rank in resident.RESIDENT.values())


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_verify_what_they_alone_hold(whole: Graph, ranks: int) -> None:
    context = RankGroupContext(ranks)
    graph = made(ranks, context)
    labels, _ = find(graph, context)
    del context.calls[:]
    assert check(graph, labels, context) == check(whole, labels) == dict.fromkeys(FOUR, 1)
    assert context.calls == ["check_labels_as_rank"]
    right = numpy.array(labels.component)
    lone = numpy.flatnonzero(right == numpy.arange(600))[-1]
    split, merged, strange = right.copy(), right.copy(), right.copy()
    split[7], merged[right == lone], strange[9] = 7 if right[7] != 7 else 0, 0, 600
    for wrong in (split, merged, strange):
        broken = dataclasses.replace(labels, component=wrong)
        with pytest.raises(VerificationFailed) as over_ranks:
            check(graph, broken)
        with pytest.raises(VerificationFailed) as alone:
            check(whole, broken)
        assert str(over_ranks.value) == str(alone.value)
        assert over_ranks.value.vertices == alone.value.vertices


def test_labels_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.verifying.ranks.PIECE", 7)
    graph = made(3)
    labels, _ = find(graph)
    assert check(graph, labels).keys() == FOUR
    wrong = numpy.array(labels.component)
    wrong[599] = 600
    with pytest.raises(VerificationFailed, match="ranges"):
        check(graph, dataclasses.replace(labels, component=wrong))


def test_ranks_check_at_once_and_keep_no_labels(whole: Graph) -> None:
    graph = made(3)
    kept, measured = find(graph, output="checks")
    assert kept.component is None
    assert check(graph, kept) == dict.fromkeys(FOUR, 1)
    assert any("no labels were kept" in note for note in measured.notes)
    with pytest.raises(StageError, match="no component labels"):
        check(whole, kept)
    with pytest.raises(StageError, match="neither component labels nor checks"):
        check(graph, dataclasses.replace(kept, checks=None))
    with pytest.raises(StageError, match="only a search of a distributed graph may leave out labels"):
        find(whole, output="checks")


def test_a_fault_that_ranks_find_fails_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    from gravel.kernels.partition import components

    graph = made(3)
    flatten = components.ComponentsRank.flatten

    def wrong(self: Any, giant: int) -> None:
        flatten(self, giant)
        if self.rank == 1 and self.local > 5:
            self.labels[5] = 0

    monkeypatch.setattr(components.ComponentsRank, "flatten", wrong)
    kept, _ = find(graph, output="checks")
    with pytest.raises(VerificationFailed, match=r"edges_agree|connected"):
        check(graph, kept)


def test_ranks_are_made_again_when_one_is_gone() -> None:
    graph = made(3)
    first, measured = find(graph)
    assert MADE_ANEW not in measured.notes
    del resident.RESIDENT[Recipe.of(graph).key, 1]
    again, measured = find(graph)
    assert MADE_ANEW in measured.notes
    assert numpy.array_equal(first.component, again.component)
    # The verifier finds, or makes, them as well.
    resident.RESIDENT.clear()
    assert check(graph, again).keys() == FOUR


def test_what_cannot_be_is_said() -> None:
    graph = made(2)
    for asked, words in (
        ({"placement": "pinned"}, "in the memory of its ranks"),
        ({"strategy": "afforest"}, "a partition has no other strategy"),
        ({"tuning": {"groups": 2}}, "have no constant but barrier_seconds"),
    ):
        with pytest.raises(StageError, match=words):
            find(graph, **asked)
    for asked in ({"output": "distance"}, {"max_depth": 2}, {"transport": "nccl"}, {"sources": [1]}):
        with pytest.raises(ValidationError, match=f"components take no {next(iter(asked))}"):
            TraverseParameters(algorithm="components", **asked)


@pytest.mark.parametrize(("ranks", "threshold"), [(1, "auto"), (3, 4), (3, 10**6)])
@pytest.mark.parametrize("output", ["checks", None])
def test_memory_stays_within_the_stated_need(ranks: int, threshold: int | str, output: str | None) -> None:
    asked = DistributeParameters(source={"rmat": {"scale": 15, "seed": 1}}, ranks=ranks, threshold=threshold)
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 33)
    parameters = TraverseParameters(algorithm="components", **({"output": output} if output else {}))
    small = made(ranks)  # what compiles is measured elsewhere
    check(small, traverse(PlainContext(machine), parameters, input=small)[0])
    check(small, find(small)[0])
    resident.RESIDENT.clear()
    graph, _ = distribute(PlainContext(machine), asked)
    made_extent = STAGE.estimate(asked, {}, machine).outputs[0]
    extent = dataclasses.replace(made_extent, normal_arcs=graph.statistics["nn_arcs"])
    rows = sum(
        array.nbytes
        for held in resident.RESIDENT.values()
        for name in ("nn", "nd", "dn", "dd")
        for array in held.share.part.subgraph(name)
    )
    tracemalloc.start()
    labels, _ = traverse(PlainContext(machine), parameters, input=graph)
    finding = tracemalloc.get_traced_memory()[1] + rows
    tracemalloc.reset_peak()
    check(graph, labels)
    checking = tracemalloc.get_traced_memory()[1] + rows
    tracemalloc.stop()
    found = TRAVERSE.estimate(parameters, {"input": (extent,)}, machine)
    given = {"graph": (extent,), "traversal": (found.outputs[0],)}
    verified = VERIFY.estimate(VerifyParameters(), given, machine)
    assert finding < found.host_bytes - COMPILED
    if output is None:
        assert checking < verified.host_bytes - COMPILED
    else:
        assert (verified.workers, verified.device_bytes) == (0, 0)


def test_what_is_stated() -> None:
    graph = Extent("DistributedGraph", 1 << 31, 1 << 36, ranks=8, normal_arcs=(1 << 36) // 10)
    eight = Machine(backend="cuda", threads=8, host_memory=1 << 39, device_memory=140 << 30)
    kept = TraverseParameters(algorithm="components", output="checks")
    need = TRAVERSE.estimate(kept, {"input": (graph,)}, eight)
    assert need.workers == 8
    assert 40 << 30 < need.device_bytes < 139 << 30
    assert need.host_bytes < 8 << 30
    assert need.outputs[0].bytes == 0
    labels = TRAVERSE.estimate(TraverseParameters(algorithm="components"), {"input": (graph,)}, eight)
    assert labels.outputs[0].bytes == 4 << 31
    assert labels.host_bytes > need.host_bytes + (8 << 30)
    host = Machine(backend="cpu", threads=8, host_memory=1 << 42)
    small = Extent("DistributedGraph", 1 << 20, 1 << 24, ranks=4, normal_arcs=1 << 24)
    few = dataclasses.replace(small, normal_arcs=1 << 22)
    costs = [TRAVERSE.estimate(kept, {"input": (each,)}, host).host_bytes for each in (few, small)]
    # What is sent is bounded, however many arcs there are between normal vertices.
    assert costs[1] == costs[0]
    verified = VERIFY.estimate(
        VerifyParameters(), {"graph": (graph,), "traversal": (labels.outputs[0],)}, eight
    )
    assert verified.workers == 8
    assert verified.host_bytes > 8 * (4 << 31)
