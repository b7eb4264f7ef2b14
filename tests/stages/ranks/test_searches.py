"""traverse of a partition: lock step here, a rank group where workers are reserved, options as constants."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Graph, Measurement, Partition, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.ranks import label_ranges, rank
from gravel.stages.ranks.searches import search_options
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE, traverse
from tests.zoo import zoo

BY_NAME = {member.name: member for member in zoo()}


class RankGroupContext(PlainContext):
    """Ranks as threads of this process, and a count of the calls."""

    def __init__(self, reserved: int) -> None:
        super().__init__()
        self.reserved = reserved
        self.calls: list[int] = []

    def rank_group(self, function: Any, ranks: Sequence[Any]) -> list[Any]:
        self.calls.append(len(ranks))
        return super().rank_group(function, ranks)


def graph_of(name: str, symmetric: bool = True) -> Graph:
    offsets, columns = BY_NAME[name].csr(symmetric=symmetric)
    facts = {"vertex_count": len(offsets) - 1, "arc_count": len(columns), "symmetric": symmetric}
    facts["deduplicated"] = True
    return Graph(row_offsets=offsets, column_indices=columns, **facts)


def split(name: str, ranks: int, symmetric: bool = True) -> Partition:
    asked = PartitionParameters(ranks=ranks, threshold=8)
    return partition(PlainContext(), asked, input=graph_of(name, symmetric))


def search(context: PlainContext, stored: Any, **asked: Any) -> tuple[Traversal, Measurement]:
    parameters = TraverseParameters(sources={"random": 5, "seed": 2}, **asked)
    return traverse(context, parameters, input=stored)


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *(("skewed_random", 2), ("skewed_random", 4), ("hub_and_chain", 3), ("grid_13x17", 4)),
        pytest.param("grid_13x17", 7, marks=pytest.mark.slow),
    ],
)
def test_a_rank_group_finds_what_one_rank_does(name: str, ranks: int) -> None:
    single, _ = search(PlainContext(), split(name, 1))
    alone, told = search(PlainContext(), split(name, ranks))
    context = RankGroupContext(ranks)
    together, measured = search(context, split(name, ranks))
    for found in (alone, together):
        assert numpy.array_equal(found.distance, single.distance)
        assert numpy.array_equal(found.predecessor, single.predecessor)
    assert context.calls == [ranks] * 3  # to compile, to search, to let go
    assert not rank.RESIDENT
    assert any("took turns in one process" in note for note in told.notes)
    assert not any("took turns" in note for note in measured.notes)
    assert f"each of {ranks} ranks on its own worker" in measured.reason
    for mine, theirs in zip(told.searches, measured.searches, strict=True):
        assert mine["levels"] == theirs["levels"]
        for key in ("mask_bytes", "vertex_bytes", "normal", "delegates", "backward", "answer_bytes"):
            assert mine["ranks"][key] == theirs["ranks"][key]
        assert len(mine["ranks"]["visit"]) == len(mine["ranks"]["normal"])


def test_a_partition_is_read_once_for_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    import gravel.kernels.partition.layout

    monkeypatch.setattr(label_ranges, "LABEL_BYTES", 1)
    reads: list[int] = []
    read = gravel.kernels.partition.layout.rank_from_arrays
    monkeypatch.setattr(
        gravel.kernels.partition.layout,
        "rank_from_arrays",
        lambda arrays, rank: reads.append(rank) or read(arrays, rank),
    )
    context = RankGroupContext(2)
    stored = split("skewed_random", 2)
    reads.clear()
    found, _ = search(context, stored)
    # One call to compile, one for each of the sources, one to let go; the stage itself reads both ranks too.
    assert len(context.calls) == 7
    assert sorted(reads) == [0, 0, 1, 1]
    monkeypatch.undo()
    assert numpy.array_equal(found.distance, search(PlainContext(), stored)[0].distance)


def test_outputs_of_a_rank_group() -> None:
    context = RankGroupContext(2)
    stored = split("skewed_random", 2)
    bare, _ = search(context, stored, output="distance", max_depth=1)
    assert bare.predecessor is None
    assert int(numpy.asarray(bare.distance).max()) == 1
    tree, _ = search(context, stored, output="predecessor")
    assert tree.distance is None
    assert numpy.array_equal(tree.predecessor, search(PlainContext(), stored)[0].predecessor)


def test_directed_graphs_are_searched_forward() -> None:
    _, measured = search(PlainContext(), split("skewed_random", 3, symmetric=False))
    assert any("searched forward alone" in note for note in measured.notes)
    assert all(record["levels"]["pulled"] == [] for record in measured.searches)


def test_options_are_tuning_constants() -> None:
    stored = split("skewed_random", 4)
    plain, _ = search(PlainContext(), stored)
    tuning = {
        "groups": 2,
        "local_all_to_all": True,
        "uniquify": True,
        "reduction": "blocking",
        "dd_backward": 1,
    }
    asked, measured = search(PlainContext(), stored, tuning=tuning)
    assert numpy.array_equal(asked.distance, plain.distance)
    assert numpy.array_equal(asked.predecessor, plain.predecessor)
    assert measured.asked["tuning"] == tuning


@pytest.mark.parametrize(
    ("tuning", "words"),
    [
        ({"groop": 2}, "no constant 'groop' .did you mean 'groups'"),
        ({"groups": "two"}, "it is a whole number"),
        ({"groups": True}, "it is a whole number"),
        ({"uniquify": 1}, "it is true or false"),
        ({"reduction": "never"}, "'blocking' or 'overlapped'"),
        ({"local_all_to_all": True}, "say how many `groups`"),
        ({"groups": 3}, "4 ranks do not make 3 equal groups"),
    ],
)
def test_wrong_options_are_said(tuning: dict[str, Any], words: str) -> None:
    with pytest.raises(StageError, match=words):
        search(PlainContext(), split("skewed_random", 4), tuning=tuning)
    assert search_options({"nd_backward": 2}).nd_backward == 2


def test_a_rank_group_is_asked_for_where_it_helps() -> None:
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    extent = Extent(kind="Partition", vertices=100, arcs=1000, bytes=8000, normal_arcs=100, ranks=4)
    asked = TraverseParameters()
    need = STAGE.estimate(asked, {"input": (extent,)}, machine)
    assert need.workers == 4
    parts = TraverseParameters(algorithm="components")
    assert STAGE.estimate(parts, {"input": (extent,)}, machine).workers == 4
    striped = dataclasses.replace(extent, striped=True)
    assert STAGE.estimate(parts, {"input": (striped,)}, machine).workers == 0
    graph = Extent(kind="Graph", vertices=100, arcs=1000)
    assert STAGE.estimate(asked, {"input": (graph,)}, machine).workers == 0
