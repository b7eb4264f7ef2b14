"""partition and traverse of stripes: stored, searched in lock step and by a rank group, as stated."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.partition import to_arrays
from gravel.kernels.partition.stripes import stripe
from gravel.stages.artifacts import Graph, Ordering, Partition
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import STAGE, PartitionParameters, load_partition, partition
from gravel.stages.ranks import label_ranges, rank
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE as TRAVERSE
from gravel.stages.verify import VerifyParameters, verify
from tests.parameters import slow_among
from tests.stages.ranks.test_searches import RankGroupContext, graph_of, search
from tests.zoo import zoo

BY_NAME = {member.name: member for member in zoo()}
RANKS = [1, 2, 3, 4, 7]
PAPER = "merrill2012_striped"


def stripes(graph: Graph, ranks: int, context: PlainContext | None = None) -> Partition:
    return partition(
        context or PlainContext(), PartitionParameters(ranks=ranks, scheme="striped"), input=graph
    )


@pytest.mark.parametrize("ranks", slow_among(RANKS, {2, 4}))
def test_stored_stripes_are_what_the_kernels_make(ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for symmetric in (True, False):
        for name in BY_NAME:
            graph = graph_of(name, symmetric)
            made = stripe(graph.row_offsets, graph.column_indices, ranks=ranks)
            arrays = {
                key: array for part in made.parts for key, array in to_arrays(part).items() if "/nn/" in key
            }
            with monkeypatch.context() as small:
                small.setattr("gravel.stages.partitioning.ranges.RANGE_ARCS", 50)
                small.setattr("gravel.stages.partitioning.ranges.RANGE_ROWS", 64)
                small.setattr("gravel.stages.partitioning.writing.PIECE_ROWS", 64)
                small.setattr("gravel.stages.partition.STRIPES_AT_ONCE", 2)
                context = PlainContext()
                stored = stripes(graph, ranks, context)
            assert arrays.keys() == stored.arrays.keys()
            for key, array in arrays.items():
                assert numpy.array_equal(stored.arrays[key], array), key
                assert stored.arrays[key].dtype == array.dtype
            told = stored.statistics
            assert told["bytes"] == sum(array.nbytes for array in arrays.values())
            assert told["arcs_per_rank"] == [len(part.nn.column_indices) for part in made.parts]
            assert (told["delegates"], len(stored.delegates), told["list_bytes"]) == (0, 0, 0)
            assert stored.threshold == int(numpy.diff(graph.row_offsets).max(initial=0))
            assert load_partition(stored).ranks == ranks
            assert not [path for path in context.scratch.iterdir() if path.name.startswith("rank")]


@pytest.mark.parametrize("ranks", slow_among(RANKS, {1, 3, 4, 7}))
def test_every_small_graph_in_lock_step_and_by_a_rank_group(ranks: int) -> None:
    for name in BY_NAME:
        for symmetric in (True, False):
            graph = graph_of(name, symmetric)
            # A thousand levels, with a barrier of threads in each, are slow enough in one way.
            if not graph.arc_count or (name == "path_1000" and (ranks, symmetric) != (3, True)):
                continue
            single, whole = search(PlainContext(), graph)
            stored = stripes(graph, ranks)
            alone, told = search(PlainContext(), stored, paper=PAPER)
            context = RankGroupContext(ranks)
            together, measured = search(context, stored, paper=PAPER)
            for found in (alone, together):
                assert numpy.array_equal(found.distance, single.distance)
                assert numpy.array_equal(found.predecessor, single.predecessor)
            assert context.calls == ([ranks] * 3 if ranks > 1 else [])
            assert not rank.RESIDENT
            assert told.strategy == measured.strategy == "partition"
            assert any("took turns" in note for note in told.notes) == (ranks > 1)
            assert verify(PlainContext(), VerifyParameters(), graph=graph, traversal=alone).checks
            for one, mine, theirs in zip(whole.searches, told.searches, measured.searches, strict=True):
                for key in ("reached", "arcs", "edges", "depth"):
                    assert one[key] == mine[key] == theirs[key]
                for key in ("normal", "arcs", "duplicates", "masked", "sent", "vertex_bytes"):
                    assert mine["ranks"][key] == theirs["ranks"][key]
                assert sum(mine["ranks"]["arcs"]) == one["arcs"]
                assert len(mine["ranks"]["visit"]) == one["depth"] + 1


def test_what_becomes_of_arcs_is_told_where_they_are_culled() -> None:
    stored = stripes(graph_of("skewed_random"), 3)
    _, measured = search(PlainContext(), stored, paper=PAPER)
    for record in measured.searches:
        told = record["ranks"]
        assert sum(told["vertex_bytes"]) == 4 * sum(told["sent"]) > 0
        assert sum(told["duplicates"]) > 0
        assert sum(told["masked"]) > 0
        dropped = zip(told["duplicates"], told["masked"], told["sent"], strict=True)
        assert all(arcs >= sum(ends) for arcs, ends in zip(told["arcs"], dropped, strict=True))
    _, plain = search(PlainContext(), stored)
    assert all("masked" not in record["ranks"] for record in plain.searches)


@pytest.mark.parametrize("output", ["distance", "predecessor"])
def test_outputs_of_a_rank_group(output: str) -> None:
    stored = stripes(graph_of("skewed_random"), 2)
    both, _ = search(PlainContext(), stored, max_depth=2)
    found, _ = search(RankGroupContext(2), stored, output=output, max_depth=2)
    other = {"distance": "predecessor", "predecessor": "distance"}[output]
    assert getattr(found, other) is None
    assert numpy.array_equal(getattr(found, output), getattr(both, output))
    assert int(numpy.asarray(both.distance).max()) == 2


def test_labels_come_back_several_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_ranges, "LABEL_BYTES", 1)
    stored = stripes(graph_of("skewed_random"), 2)
    context = RankGroupContext(2)
    found, _ = search(context, stored)
    # One call to compile, one for each of the sources, one to let go.
    assert len(context.calls) == 7
    assert numpy.array_equal(found.distance, search(PlainContext(), stored)[0].distance)


def test_duplicates_loops_and_an_order() -> None:
    member = BY_NAME["duplicates_and_loops"]
    offsets, columns = member.csr(raw=True)
    facts = {"vertex_count": 6, "arc_count": len(columns), "symmetric": True, "deduplicated": False}
    plain = Graph(row_offsets=offsets, column_indices=columns, loop_count=4, **facts)
    expected, told = search(PlainContext(), plain)
    found, measured = search(PlainContext(), stripes(plain, 3))
    assert numpy.array_equal(found.distance, expected.distance)
    assert numpy.array_equal(found.predecessor, expected.predecessor)
    assert [one["edges"] for one in measured.searches] == [one["edges"] for one in told.searches]
    graph = graph_of("grid_13x17")
    new = numpy.random.default_rng(1).permutation(graph.vertex_count).astype(numpy.uint32)
    tails = new[numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(graph.row_offsets))]
    heads = new[graph.column_indices]
    order = numpy.lexsort((heads, tails))
    counts = numpy.bincount(tails, minlength=graph.vertex_count)
    renumbered = {
        "row_offsets": numpy.concatenate(([0], numpy.cumsum(counts))),
        "column_indices": heads[order],
        "permutation": new,
        "method": "random",
    }
    ordering = Ordering(**{**vars(graph), **renumbered})
    expected, _ = search(PlainContext(), ordering)
    for count in RANKS:
        found, _ = search(RankGroupContext(count), stripes(ordering, count))
        assert numpy.array_equal(found.distance, expected.distance)
        assert numpy.array_equal(found.predecessor, expected.predecessor)


def test_components_of_stripes() -> None:
    stored = stripes(graph_of("two_parts"), 3)
    parameters = TraverseParameters(algorithm="components")
    found, _ = TRAVERSE.run(PlainContext(), parameters, input=stored)
    assert numpy.asarray(found.component).tolist() == [0, 0, 0, 3, 4, 5, 5, 5, 8, 8]


def test_options_are_tuning_constants() -> None:
    stored = stripes(graph_of("skewed_random"), 4)
    plain, told = search(PlainContext(), stored, paper=PAPER)
    tuning = {"uniquify": False, "local_duplicates": False}
    asked, measured = search(RankGroupContext(4), stored, paper=PAPER, tuning=tuning)
    assert numpy.array_equal(asked.predecessor, plain.predecessor)
    for dropped, kept in zip(told.searches, measured.searches, strict=True):
        assert sum(kept["ranks"]["duplicates"]) == sum(kept["ranks"]["masked"]) == 0
        assert sum(kept["ranks"]["sent"]) > sum(dropped["ranks"]["sent"])


@pytest.mark.parametrize(
    ("tuning", "words"),
    [
        ({"bitmsk": "exact"}, "ranks has no constant 'bitmsk' .did you mean 'bitmask'"),
        ({"local_duplicates": 1}, "'local_duplicates' of a search over ranks is 1; it is true or false"),
        ({"bitmask": "best_effort"}, "set uniquify, too"),
        ({"bins": "sorted"}, "it can be 'atomic' or 'prefix_sum'"),
    ],
)
def test_wrong_options_are_said(tuning: dict[str, Any], words: str) -> None:
    with pytest.raises(StageError, match=words):
        search(PlainContext(), stripes(graph_of("skewed_random"), 2), tuning=tuning)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ValidationError, match="scheme striped has none"):
        PartitionParameters(scheme="striped", threshold=3)
    with pytest.raises(StageError, match="scheme striped is not compressed"):
        compress(PlainContext(), CompressParameters(), input=stripes(graph_of("path_33"), 2))
    with pytest.raises(
        ValidationError, match=r"has scheme striped .section 6.1., and delegates is asked for"
    ):
        PartitionParameters(paper=PAPER, scheme="delegates")
    with pytest.raises(ValidationError, match=r"has tuning.bins prefix_sum .* and atomic is asked for"):
        TraverseParameters(paper=PAPER, tuning={"bins": "atomic"})


@pytest.mark.parametrize("ranks", [1, 4])
def test_memory_stays_within_the_stated_need(ranks: int) -> None:
    random = numpy.random.default_rng(1)
    n, m = 50_000, 800_000
    offsets = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(random.integers(0, n, m), minlength=n))))
    columns = random.integers(0, n, m).astype(numpy.uint32)
    facts = {"vertex_count": n, "arc_count": m, "symmetric": False, "deduplicated": False}
    graph = Graph(row_offsets=offsets, column_indices=columns, **facts)
    parameters = PartitionParameters(ranks=ranks, scheme="striped")
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    need = STAGE.estimate(parameters, {"input": (Extent(kind="Graph", vertices=n, arcs=m),)}, machine)
    (extent,) = need.outputs
    assert extent.striped

    def peak(function: Any) -> tuple[Any, int]:
        function()
        tracemalloc.start()
        result = function()
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result, highest

    stored, most = peak(lambda: stripes(graph, ranks, PlainContext(machine)))
    assert most < need.host_bytes
    size = sum(array.nbytes for array in stored.arrays.values())
    assert 0.9 * extent.bytes < size <= extent.bytes
    asked = TraverseParameters(sources={"random": 2}, paper=PAPER)
    need = TRAVERSE.estimate(asked, {"input": (extent,)}, machine)
    assert need.workers == (ranks if ranks > 1 else 0)
    _, most = peak(lambda: TRAVERSE.run(PlainContext(machine), asked, input=stored))
    assert most < need.host_bytes
    # What Numba takes is not traced, and hides no array that was forgotten.
    assert most < need.host_bytes - (52 << 20)
