"""Batches of centralities over several workers: the bits of one, in whatever order they end, and resumed."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.betweenness import on_threads
from gravel.kernels.betweenness.interface import TooManyPaths
from gravel.kernels.threads import set_threads, thread_count
from gravel.stages.artifacts import Graph, Ordering
from gravel.stages.centrality import STAGE, centrality
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.measuring import over_workers, searcher
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.measuring.spreading import MAX_WORKERS
from gravel.stages.rank_group import RankGroupBroken
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import VertexSources
from tests.stages.ranks.test_searches import RankGroupContext, graph_of
from tests.stages.traversal.test_workers import ordered

MEASURES: dict[str, dict[str, Any]] = {
    "closeness": {},
    "harmonic": {"vertices": {"random": 60}},
    "neighbourhood": {"hops": 2},
    "eccentricity": {"vertices": VertexSources(vertices=[5, 9, 2, 70])},
    "average_path_length": {"vertices": {"random": 70}},
    "betweenness": {"endpoints": True},
    "estimated closeness": {"measure": "closeness", "memory": 100_000, "sources": {"random": 150}},
    "edge_betweenness": {"memory": 400_000, "sources": {"random": 200}},
}


class Killed(BaseException):
    """Ends a stage as a kill would."""


class Saved:
    """A checkpoint in memory that is always due, and ends its stage after some."""

    def __init__(self) -> None:
        self.arrays: Mapping[str, Any] | None = None
        self.left = -1

    def load(self) -> Mapping[str, Any] | None:
        return self.arrays

    def save(self, arrays: Callable[[], Mapping[str, Any]]) -> None:
        self.arrays = {name: numpy.array(array) for name, array in arrays().items()}
        self.left -= 1
        if self.left == 0:
            raise Killed


class Reserved(RankGroupContext):
    """Workers that take turns in this process, and a checkpoint."""

    def __init__(self, reserved: int, saved: Saved | None = None) -> None:
        super().__init__(reserved)
        self.saved = saved or Saved()
        self.items: list[int] = []

    def checkpoint(self) -> Any:
        return self.saved

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], *, on_reserved: bool = False
    ) -> Iterator[Any]:
        assert on_reserved
        for item in items:
            self.items.append(len(item[1]))
            yield function(item)


@pytest.fixture(autouse=True)
def _little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searcher, "FOUND_BYTES", 1)
    monkeypatch.setattr(on_threads, "ROUNDS", 1)


def asked(measure: str, **more: Any) -> CentralityParameters:
    given = {"measure": measure, "memory": 60_000, **MEASURES[measure], **more}
    return CentralityParameters(**given)


def found(context: Any, parameters: CentralityParameters, graph: Graph) -> tuple[bytes, Any]:
    values, batches = centrality(context, parameters, input=graph)
    return numpy.asarray(values.value).tobytes(), batches


@pytest.mark.parametrize("stored", [graph_of("skewed_random"), ordered()])
@pytest.mark.parametrize("measure", MEASURES)
def test_several_workers_find_the_bits_of_one(measure: str, stored: Graph | Ordering) -> None:
    wanted, alone = found(PlainContext(), asked(measure), stored)
    for workers in (2, 3):
        context = Reserved(workers)
        values, batches = found(context, asked(measure, workers=workers), stored)
        assert values == wanted
        assert context.calls == [workers, workers]  # to make ready and to let go
        assert len(batches.workers) == workers
        assert [each["sources"] for each in batches.batches] == context.items
        assert sum(context.items) == sum(each["sources"] for each in alone.batches)
        assert not over_workers.RESIDENT
        assert not over_workers.READ
        assert any(f"{workers} workers hold the whole graph" in line for line in context.messages)
    assert alone.workers == []
    assert all(each["worker"] == 0 for each in alone.batches)


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("measure", ["closeness", "betweenness"])
def test_workers_turn_directed_graphs(measure: str, direction: str) -> None:
    stored = graph_of("skewed_random", symmetric=False)
    wanted, _ = found(PlainContext(), asked(measure, direction=direction), stored)
    values, _ = found(Reserved(2), asked(measure, direction=direction, workers=2), stored)
    assert values == wanted


@pytest.mark.parametrize("measure", ["closeness", "betweenness"])
@pytest.mark.parametrize("before", [0, 2, 3])
@pytest.mark.parametrize("after", [0, 2])
def test_other_workers_go_on_with_what_was_done(measure: str, before: int, after: int) -> None:
    graph = graph_of("skewed_random")
    wanted, _ = found(PlainContext(), asked(measure), graph)
    saved = Saved()
    saved.left = 2
    with pytest.raises(Killed):
        centrality(Reserved(before, saved), asked(measure, workers=before or 1), input=graph)
    saved.left = -1
    assert not over_workers.RESIDENT
    context = Reserved(after, saved)
    values, batches = found(context, asked(measure, workers=after or 1), graph)
    assert values == wanted
    resumed = [each for each in batches.batches if each["resumed"]]
    assert len(resumed) == 2
    assert len(batches.batches) > 3
    begun = [each["began"] for each in batches.batches]
    assert begun == sorted(begun)
    assert begun[2] >= max(each["began"] + each["milliseconds"] for each in resumed)
    assert any("goes on after" in line for line in context.messages)


def test_a_worker_gets_more_at_a_time_if_it_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searcher, "FOUND_BYTES", 64 << 20)
    context = Reserved(2)
    found(context, asked("betweenness", workers=2), graph_of("skewed_random"))
    assert max(context.items) > context.items[0]
    assert max(context.items) <= sum(context.items) / 4


def test_more_workers_than_there_are() -> None:
    graph = graph_of("skewed_random")
    with pytest.raises(StageError, match="2 workers are asked for, and this process is the only one"):
        centrality(PlainContext(), asked("closeness", workers=2), input=graph)
    extent = Extent(kind="Graph", vertices=1 << 10, arcs=1 << 15, bytes=136 << 10)
    for directed, noted in ((False, True), (True, False)):
        many = CentralityParameters(measure="eccentricity", workers=3)
        inputs = {"input": (replace(extent, directed=directed),)}
        need = STAGE.estimate(many, inputs, Machine("cpu", 2, 8 << 30))
        assert ("which have no use for 3 workers" in need.note) == noted
        assert not need.refusal
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        asked("closeness", workers=0)
    assert STAGE.ranks is not None
    assert [STAGE.ranks(asked("closeness", workers=each)) for each in ("auto", 1, 2)] == [0, 0, 2]


def test_failures_come_through_and_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of("skewed_random")
    error = pickle.loads(pickle.dumps(TooManyPaths(7)))
    assert str(error) == str(TooManyPaths(7))

    def too_many(self: Any, sources: Any) -> Any:
        raise error

    for memory, machine in ((100, None), (None, Machine("cpu", 2, 50_000))):
        context = Reserved(2)
        context.machine = machine or context.machine
        with pytest.raises(StageError, match="searches at once take"):
            centrality(context, asked("closeness", workers=2, memory=memory), input=graph)
    monkeypatch.setattr(searcher.Shares, "find", too_many)
    with pytest.raises(StageError, match="from vertex 7 to some vertex"):
        centrality(Reserved(2), asked("betweenness", workers=2), input=graph)
    assert not over_workers.RESIDENT
    with pytest.raises(RankGroupBroken, match="was replaced"):
        over_workers.find(("gone", numpy.arange(3)))


def test_a_worker_searches_with_the_threads_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its thread did before."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", "8")
    searches: Any = SimpleNamespace(find=lambda sources: {"threads": thread_count()})
    monkeypatch.setitem(over_workers.RESIDENT, "one", over_workers.Kept(1, 3, searches))

    def find() -> Any:
        set_threads(7)
        return over_workers.find(("one", numpy.arange(3)))

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(find).result()
    assert (done.worker, done.arrays) == (1, {"threads": 3})


def test_workers_that_round_differently_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = iter(["rows of 32", "rows of 64"])
    made = searcher.Distances.__init__

    def differing(self: Any, *arguments: Any) -> None:
        made(self, *arguments)
        self.rounding = next(forms)

    monkeypatch.setattr(searcher.Distances, "__init__", differing)
    with pytest.raises(RuntimeError, match=r"searches rows of \d+ and .*differ in their last bits"):
        centrality(Reserved(2), asked("closeness", workers=2), input=graph_of("skewed_random"))
    assert not over_workers.RESIDENT


def test_the_need_is_that_of_all_workers() -> None:
    extent = Extent(kind="Graph", vertices=1 << 20, arcs=1 << 25, bytes=(8 << 20) + (4 << 25))
    machine = Machine("cpu", 2, 64 << 30, 0)
    for measure in ("closeness", "betweenness"):
        parameters = [CentralityParameters(measure=measure, workers=each) for each in ("auto", 4)]
        one, four = (STAGE.estimate(each, {"input": (extent,)}, machine) for each in parameters)
        assert (one.workers, four.workers, four.least_workers) == (0, 4, 4)
        assert four.each_host_bytes >= one.host_bytes
        assert four.outputs == one.outputs
    # What workers of one host take together fits it.
    little = Machine("cpu", 2, 3 << 30, 0)
    four = STAGE.estimate(CentralityParameters(measure="closeness", workers=4), {"input": (extent,)}, little)
    assert four.host_bytes < (3 << 30) // 4 + (1 << 29)


def test_several_gpus_are_taken_where_they_pay() -> None:
    machine = Machine("cuda", 16, 128 << 30, 70 << 30)

    def planned(scale: int, **more: Any) -> tuple[int, int]:
        extent = Extent(kind="Graph", vertices=1 << scale, arcs=32 << scale, bytes=136 << scale)
        need = STAGE.estimate(CentralityParameters(**more), {"input": (extent,)}, machine)
        return need.workers, need.least_workers

    assert planned(24, measure="closeness") == (MAX_WORKERS, 2)
    assert planned(24, measure="betweenness", sources={"random": 1 << 17}) == (MAX_WORKERS, 2)
    assert planned(14, measure="closeness") == (0, 0)
    assert planned(24, measure="eccentricity") == (0, 0)
    assert planned(24, measure="closeness", workers=1) == (0, 0)
    assert planned(14, measure="closeness", workers=2) == (2, 2)
