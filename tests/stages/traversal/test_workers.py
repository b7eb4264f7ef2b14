"""traverse with sources dealt over workers: the artifact of one worker, and who searched what."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Graph, Ordering
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.reorder import ReorderParameters, reorder
from gravel.stages.sections.scaling import worker_sections
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal import workers
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traversal.worker_count import plan_spreading
from gravel.stages.traverse import STAGE, traverse
from tests.stages.ranks.test_searches import RankGroupContext, graph_of, split

TIMES = {"milliseconds", "map_back_milliseconds", "worker"}


def untimed(searches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if name not in TIMES} for one in searches]


def asked(**more: Any) -> TraverseParameters:
    return TraverseParameters(sources={"random": 7, "seed": 2}, **more)


def ordered() -> Ordering:
    graph = graph_of("skewed_random")
    return reorder(PlainContext(), ReorderParameters(method="random"), input=graph)


@pytest.mark.parametrize("stored", [graph_of("skewed_random"), graph_of("grid_13x17"), ordered()])
@pytest.mark.parametrize("output", ["both", "predecessor"])
def test_workers_find_what_one_does(stored: Graph, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Labels of few searches fit, so that workers are called several times.
    monkeypatch.setattr(workers, "LABEL_BYTES", 3 * 12 * stored.vertex_count)
    wanted, alone = traverse(PlainContext(), asked(output=output), input=stored)
    context = RankGroupContext(3)
    found, measured = traverse(context, asked(output=output, sources_over="workers"), input=stored)
    for name in ("sources", "distance", "predecessor"):
        mine, theirs = getattr(found, name), getattr(wanted, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or (numpy.array_equal(mine, theirs) and mine.dtype == theirs.dtype)
    assert untimed(measured.searches) == untimed(alone.searches)
    assert [one["worker"] for one in measured.searches] == [0, 1, 2, 0, 1, 2, 0]
    assert context.calls == [3] * 5  # to begin, three times to search, to let go
    assert not workers.RESIDENT
    for name in ("strategy", "reason", "backend", "graph"):
        assert getattr(measured, name) == getattr(alone, name)
    assert measured.asked == {**alone.asked, "sources_over": "workers", "workers": 3}
    assert any("dealt to 3 workers" in note and "worker 2 is" in note for note in measured.notes)
    assert all("worker" not in one for one in alone.searches)


def test_the_rate_of_all_is_told_apart() -> None:
    graph = graph_of("skewed_random")
    _, alone = traverse(PlainContext(), asked(), input=graph)
    _, spread_out = traverse(RankGroupContext(2), asked(sources_over="workers"), input=graph)
    assert worker_sections([("one", alone)]) == []
    (table,) = worker_sections([("one", alone), ("two", spread_out)])
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [row["workers"] for row in rows] == [1, 2]
    for row, one in zip(rows, (alone, spread_out), strict=True):
        shares = [sum(s["milliseconds"] for s in one.searches if s.get("worker", 0) == w) for w in (0, 1)]
        assert row["ms of the slowest worker"] == pytest.approx(max(shares))
        edges = sum(search["edges"] for search in one.searches)
        assert row["GTEPS (distinct edges) of all"] == pytest.approx(edges / max(shares) / 1e6)
        assert row["GTEPS (distinct edges) of a search, harmonic mean"] > 0
    assert rows[0]["evenness"] == 1.0


def test_more_workers_than_sources_and_no_others() -> None:
    graph = graph_of("path_33")
    two = TraverseParameters(sources={"vertices": [5, 9]}, sources_over="workers", max_depth=3)
    found, measured = traverse(RankGroupContext(4), two, input=graph)
    assert [one["worker"] for one in measured.searches] == [0, 1]
    assert found.distance.max() == 3
    assert any("were not followed" in note for note in measured.notes)
    _, measured = traverse(RankGroupContext(0), two, input=graph)
    assert any("no other workers to deal sources to" in note for note in measured.notes)
    context = RankGroupContext(4)
    _, measured = traverse(context, asked(), input=graph)
    assert context.calls == []
    assert any("share their processors" in message for message in context.messages)


def test_what_does_not_go_together_is_said() -> None:
    with pytest.raises(ValueError, match="components take no sources_over"):
        TraverseParameters(algorithm="components", sources_over="one")
    with pytest.raises(ValueError, match="statistics are for one worker"):
        asked(sources_over="workers", statistics=True)
    with pytest.raises(ValueError, match="multi_source is for one worker"):
        asked(sources_over="workers", strategy="multi_source")
    with pytest.raises(StageError, match="and this one is partitioned"):
        traverse(RankGroupContext(2), asked(sources_over="workers"), input=split("path_33", 2))
    wrong = TraverseParameters(sources={"vertices": [1, 40]}, sources_over="workers")
    with pytest.raises(StageError, match="no such source: 40"):
        traverse(RankGroupContext(2), wrong, input=graph_of("path_33"))
    with pytest.raises(StageError, match="has no constant 'alhpa'"):
        traverse(
            RankGroupContext(2), asked(sources_over="workers", tuning={"alhpa": 1}), input=graph_of("path_33")
        )


GPU = Machine(backend="cuda", threads=4, host_memory=1 << 38, device_memory=1 << 37)


def test_auto_weighs_searches_against_loading_and_labels() -> None:
    def planned(sources: int, arcs: int, **choices: Any) -> Any:
        graph = Extent(kind="Graph", vertices=1 << 20, arcs=arcs, bytes=4 * arcs + (8 << 20), directed=True)
        facts = {"backend": "cuda", "label_bytes": 4 << 20, "whole": True, **choices}
        return plan_spreading(asked(), graph, sources=sources, **facts)

    few, many = planned(16, 1 << 30), planned(4096, 1 << 30)
    assert (few.most, many.most) == (1, 16)
    assert 2 <= many.least < 16
    assert "4096 searches predicted to take" in many.reason
    # What is saved by searching at once is lost by sending labels.
    assert planned(4096, 1 << 30, label_bytes=8 << 30).most == 1
    assert planned(4096, 1 << 30, whole=False).most == 1
    assert planned(4096, 1 << 30, backend="cpu").most == 1


def test_the_need_is_that_of_all_workers() -> None:
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 34)
    extent = Extent(kind="Graph", vertices=1000, arcs=100_000, bytes=408_000)
    one = STAGE.estimate(asked(), {"input": (extent,)}, machine)
    assert (one.workers, one.least_workers, one.each_host_bytes) == (0, 0, 0)
    several = STAGE.estimate(asked(sources_over="workers"), {"input": (extent,)}, machine)
    assert (several.workers, several.least_workers) == (7, 2)
    assert several.host_bytes >= several.each_host_bytes >= one.host_bytes
    assert several.outputs == one.outputs
    many = TraverseParameters(sources={"random": 100_000, "seed": 1}, output="distance")
    large = dataclasses.replace(extent, arcs=1 << 28, bytes=1 << 30, directed=True)
    assert STAGE.estimate(many, {"input": (large,)}, GPU).workers == 16
