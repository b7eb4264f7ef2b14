"""The probe stage: what it counts against the graph, what it refuses, and the figures that come of it."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.papers.merrill2012.probes import GATHERS, LOOKUPS
from gravel.kernels.papers.merrill2012.probes.cpu import CPUProbes
from gravel.kernels.papers.merrill2012.probes.timed import Timed
from gravel.stages.artifacts import Graph, Ordering, Probe
from gravel.stages.context import PlainContext
from gravel.stages.errors import VerificationFailed
from gravel.stages.papers.merrill2012.probe import STAGE, ProbeParameters, probe
from gravel.stages.report import ReportParameters, report
from gravel.stages.stage import Extent, Machine
from tests.stages.traverse_case import GRAPHS, as_graph, plain, renumbered
from tests.zoo import scipy_distances

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 30)


def run(graph: Graph, **parameters: Any) -> Probe:
    given = {"repeats": 1, "sources": {"random": 2}, **parameters}
    return probe(PlainContext(MACHINE), ProbeParameters(**given), input=graph)


def sections(**probes: Probe) -> dict[str, dict[str, Any]]:
    made = report(
        PlainContext(), ReportParameters(labels=tuple(probes)), inputs=tuple(probes.values())
    ).sections
    json.dumps(made)
    answer, *others = made
    assert answer["kind"] == "answer"
    measured = [len(one.parts) for one in probes.values()]
    told = f"{sum(measured)} part" if sum(measured) else "Frontiers of searches counted"
    if not any(one.searches for one in probes.values()):
        told = "No part of a search was measured, as no vertex has an edge"
    assert answer["title"].startswith(told)
    return {section["title"]: section for section in others}


@pytest.mark.parametrize("change", [lambda graph: graph, renumbered])
def test_levels_are_counted(change) -> None:
    graph = plain(GRAPHS["skewed_random"])
    found = run(change(graph), measure="levels", sources={"random": 3})
    assert found.parts == []
    for place, search in enumerate(found.searches):
        distance = scipy_distances(graph.row_offsets, graph.column_indices, search["source"])
        reached = distance >= 0
        assert search["depth"] == distance.max()
        assert search["vertices"] == reached.sum() == search["fresh"] + 1
        assert search["arcs"] == numpy.diff(graph.row_offsets)[reached].sum()
        if place == 0:
            tail = numpy.repeat(distance, numpy.diff(graph.row_offsets))
            for level, distinct in enumerate(found.levels["distinct"]):
                assert distinct == len(numpy.unique(graph.column_indices[tail == level]))
            assert found.levels["vertices"] == numpy.bincount(distance[reached]).tolist()
    figures = sections(levels=found)
    assert list(figures) == ["Logical frontiers of levels"]


def test_gathers_are_run_with_both_schedules_and_counted() -> None:
    found = run(plain(GRAPHS["grid_13x17"]), schedules=("oversubscribed", "stealing"))
    assert [part["method"] for part in found.parts] == [name for name in GATHERS for _ in range(2)]
    assert set(found.counted) == set(GATHERS)
    arcs = found.searches[0]["arcs"]
    assert all(counts["bytes"] >= 4 * arcs and counts["slots"] >= arcs for counts in found.counted.values())
    assert len(found.levels["milliseconds"]) == len(found.parts)
    made = sections(grid=found)
    assert list(made) == [
        "Parts of a search alone",
        "Rate of gathering neighbours",
        "Bytes that gathers ask for, per arc",
        "Lanes at work for each byte",
    ]
    assert len(made["Parts of a search alone"]["rows"]) == 8
    assert "not of a GPU" not in made["Parts of a search alone"]["about"]


def test_lookups_lose_nothing_and_cull_more_and_more() -> None:
    found = run(plain(GRAPHS["skewed_random"]), measure="lookup")
    assert [part["method"] for part in found.parts] == list(LOOKUPS)
    for search in found.searches:
        assert search["passed"] == sorted(search["passed"], reverse=True)
        assert search["passed"][-1] == search["fresh"]
    made = sections(skewed=found, grid=run(plain(GRAPHS["grid_13x17"]), measure="lookup"))
    shares = made["False negatives"]["data"]
    assert shares["atomic"] == [0, 0]
    assert shares["bitmask"][0] >= shares["history_culling"][0] >= 0
    assert made["False negatives by level of grid"]["data"]["arcs"]


def test_fused_and_apart_do_the_same() -> None:
    found = run(plain(GRAPHS["star_last_hub"]), measure="gather_and_lookup", methods=("label", "atomic"))
    assert [part["part"] for part in found.parts] == ["gather", "lookup", "lookup", "coupled", "coupled"]
    made = sections(star=found)
    fused = made["Gathering and look-up, fused or apart"]["data"]
    assert set(fused) == {"run", "apart: label", "fused: label", "apart: atomic", "fused: atomic"}
    assert "Look-up against gathering" in made
    assert made["Fused or apart by the size of a level"]["data"]["star, label"]["arcs_from"] == [1, 1024]


def test_a_directed_graph_and_one_without_arcs() -> None:
    assert run(plain(GRAPHS["skewed_random"], symmetric=False)).searches[0]["arcs"] > 0
    nothing = run(plain(GRAPHS["all_isolated"]))
    assert nothing.searches == []
    assert nothing.levels is None
    assert sections(nothing=nothing) == {}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"methods": ["wrap"]}, "gather has no method 'wrap'; it can be serial, warp"),
        ({"measure": "levels", "methods": ["warp"]}, "it runs nothing that has a name"),
        ({"methods": ["warp", "warp"]}, "lists a value twice"),
        ({"schedules": []}, "at least 1"),
        ({"strategy": "two_fase"}, "did you mean 'two_phase'"),
        ({"block": 100}, "multiple of 32"),
        ({"measure": "gather_and_lookup", "methods": ["bitmask"]}, "no method 'bitmask'"),
    ],
)
def test_what_does_not_fit_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ProbeParameters(**parameters)


def test_a_part_that_loses_something_fails(monkeypatch) -> None:
    def losing(self: CPUProbes, *arguments: Any, **options: Any) -> Timed:
        sums = self.distinct()[1]
        return Timed(numpy.zeros(len(sums)), numpy.zeros_like(sums))

    graph = plain(GRAPHS["path_33"])
    monkeypatch.setattr(CPUProbes, "couple", losing)
    with pytest.raises(VerificationFailed, match="coupled label oversubscribed has not found"):
        run(graph, measure="gather_and_lookup")
    monkeypatch.setattr(CPUProbes, "gather", losing)
    with pytest.raises(VerificationFailed, match="gather warp oversubscribed has not read every neighbour"):
        run(graph, methods=("warp",))


def test_the_estimate_grows_with_what_is_held() -> None:
    def need(backend: str, arcs: int, measure: str) -> tuple[int, int]:
        machine = Machine(backend=backend, threads=2, host_memory=1 << 40, device_memory=1 << 40)
        graph = Extent(kind="Graph", vertices=1 << 20, arcs=arcs, bytes=0)
        found = STAGE.estimate(ProbeParameters(measure=measure), {"input": (graph,)}, machine)
        return found.host_bytes, found.device_bytes

    small, large = need("cpu", 1 << 24, "gather"), need("cpu", 1 << 25, "gather")
    assert large[0] - small[0] == 4 << 24
    assert need("cpu", 1 << 24, "gather_and_lookup") == (small[0] + (4 << 24), 0)
    # Columns, edge frontiers, and the queue of a strategy that `auto` may choose.
    assert need("cuda", 1 << 25, "gather")[1] - need("cuda", 1 << 24, "gather")[1] == 3 * 4 << 24


@pytest.mark.gpu
@pytest.mark.parametrize("measure", ["levels", "gather", "lookup", "gather_and_lookup"])
def test_a_gpu_counts_the_same(measure: str) -> None:
    graph = renumbered(as_graph(*GRAPHS["skewed_random"].csr()))
    assert isinstance(graph, Ordering)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 30, device_memory=1 << 30)
    here, there = (
        probe(
            PlainContext(each),
            ProbeParameters(measure=measure, repeats=2, sources={"random": 3}, strategy=strategy),
            input=graph,
        )
        for each, strategy in ((MACHINE, "top_down"), (machine, "two_phase"))
    )
    assert there.backend == "cuda"
    assert there.counted == here.counted
    for one, other in zip(here.searches, there.searches, strict=True):
        for name in ("source", "depth", "vertices", "arcs", "distinct", "fresh"):
            assert one[name] == other[name]
    if measure != "levels":
        assert sections(here=here, there=there)
