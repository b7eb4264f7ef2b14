"""traverse with components of a partition: ranks in lock step, or a rank group where workers are reserved."""

from __future__ import annotations

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from tests.stages.ranks.test_searches import RankGroupContext, graph_of, split

ASKED = TraverseParameters(algorithm="components")


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_a_rank_group_finds_what_one_rank_does(ranks: int, symmetric: bool) -> None:
    single, alone = traverse(PlainContext(), ASKED, input=split("skewed_random", 1, symmetric))
    stored = split("skewed_random", ranks, symmetric)
    here, in_turns = traverse(PlainContext(), ASKED, input=stored)
    context = RankGroupContext(ranks)
    together, measured = traverse(context, ASKED, input=stored)
    for found in (here, together):
        assert numpy.array_equal(found.component, single.component)
        assert found.component.dtype == single.component.dtype
    assert context.calls == [ranks]
    assert len(measured.searches) == 1
    assert len(alone.searches) == len(in_turns.searches) == 3
    assert all(search["milliseconds"] > 0 for search in measured.searches)
    told = measured.searches[0]["exchange"]
    assert told["rounds"] > 1
    assert told["delegate_bytes"] > 0
    assert told["vertex_bytes"] > 0
    assert any("took turns in one process" in note for note in in_turns.notes)
    assert not any("took turns" in note for note in [*measured.notes, *alone.notes])
    assert f"each of {ranks} ranks on its own worker" in measured.reason
    assert measured.backend == "cpu"


def test_stripes_have_no_rank_group() -> None:
    stored = partition(
        PlainContext(), PartitionParameters(ranks=2, scheme="striped"), input=graph_of("path_33")
    )
    context = RankGroupContext(2)
    found, _ = traverse(context, ASKED, input=stored)
    assert not found.component.any()
    assert context.calls == []


def test_a_partition_takes_no_strategy() -> None:
    asked = TraverseParameters(algorithm="components", strategy="afforest")
    with pytest.raises(StageError, match="a partition has no other strategy"):
        traverse(PlainContext(), asked, input=split("path_33", 2))
