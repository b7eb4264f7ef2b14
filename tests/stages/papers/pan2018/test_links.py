"""The links stage: curves over threads as ranks, what it refuses, its sections, and links for the model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from gravel.kernels.partition.machines import CPU_WORKERS, H200_PEER
from gravel.stages.artifacts import Links
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.papers.pan2018.link_times import link_curves, machine_with
from gravel.stages.papers.pan2018.links import STAGE, LinksParameters, links
from gravel.stages.report import ReportParameters, report
from gravel.stages.stage import Machine

SMALL: dict[str, Any] = {"largest": 1024, "total": 1024, "repeats": 1}


@pytest.fixture(scope="module")
def found() -> Links:
    return links(PlainContext(), LinksParameters(ranks=3, **SMALL))


def test_curves_are_told(found: Links) -> None:
    assert [curve["pattern"] for curve in found.curves] == ["meet", "pair", "exchange", "cut", "reduce"]
    pair = found.curves[1]["points"]
    assert [point["bytes"] for point in pair] == [64, 256, 1024]
    assert all(point["seconds"] >= point["fastest"] > 0 for point in pair)
    assert (found.ranks, found.hosts, found.total) == (3, 1, 1024)
    assert any("threads of one process" in note for note in found.notes)
    assert any("peer was not measured: the run has no GPUs" in note for note in found.notes)
    json.dumps(found.curves)


def test_the_wire_takes_smaller_messages() -> None:
    asked: dict[str, Any] = {**SMALL, "wire_largest": 256}
    found = links(PlainContext(), LinksParameters(ranks=2, point_seconds=1e-9, **asked))
    sizes = {curve["pattern"]: [point["bytes"] for point in curve["points"]] for curve in found.curves}
    assert sizes["pair"] == sizes["reduce"] == [64, 256]
    (meeting,) = found.curves[0]["points"]
    assert (meeting["turns"], meeting["repeats"]) == (1, 1)
    assert {point["carried"] for point in found.curves[3]["points"]} == {256}
    assert "over the wire messages of up to 256 bytes were measured" in found.notes
    small = links(PlainContext(), LinksParameters(ranks=2, **{**asked, "wire_largest": 8}))
    assert [point["bytes"] for point in small.curves[1]["points"]] == [64]


def test_what_is_told_of_time() -> None:
    context = PlainContext()
    links(context, LinksParameters(**SMALL))
    assert any(line.startswith("wire: connected in 0.0 s, measured in") for line in context.messages)


def test_a_report_draws_them(found: Links) -> None:
    sections = report(PlainContext(), ReportParameters(labels=("links",)), inputs=(found,)).sections
    json.dumps(sections)
    made = {section["title"]: section for section in sections}
    assert set(made) == {
        "Messages between 3 ranks timed by size; searches were not measured.",
        "Links between ranks",
        "Rate of messages by their size",
        "Time of messages by their size",
    }
    (row,) = made["Links between ranks"]["rows"]
    told = dict(zip(made["Links between ranks"]["columns"], row, strict=True))
    assert told["meeting, us"] == pytest.approx(1e6 * found.curves[0]["points"][0]["seconds"])
    cut = min(found.curves[3]["points"], key=lambda point: point["seconds"])
    assert told["best size, bytes"] == cut["bytes"]
    rates = made["Rate of messages by their size"]["data"]["wire, 3 ranks"]
    point = found.curves[2]["points"][-1]
    assert rates["exchange"][-1] == pytest.approx(2 * 1024 / point["seconds"] / 1e9)


def test_the_model_takes_the_links_of_the_backend(found: Links) -> None:
    assert {curve.transport for curve in link_curves([("links", found)], "cpu")} == {"wire"}
    assert link_curves([("links", found)], "cuda") == []
    machine = machine_with([("links", found)], CPU_WORKERS, "cpu")
    assert machine.link_latency == found.curves[0]["points"][0]["seconds"]
    assert machine_with([("links", found)], H200_PEER, "cuda") == H200_PEER


def test_what_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StageError, match="transport peer is not available: the run has no GPUs"):
        links(PlainContext(), LinksParameters(transports=["peer"], **SMALL))
    with pytest.raises(ValidationError, match="lists a value twice"):
        LinksParameters(transports=["wire", "wire"])
    with pytest.raises(ValidationError, match="smallest is 4096 bytes, and largest 64"):
        LinksParameters(smallest=4096, largest=64)
    monkeypatch.setattr("gravel.kernels.papers.pan2018.links.wire.WireLink.arrived", lambda *_: False)
    with pytest.raises(VerificationFailed, match="did not bring what was sent"):
        links(PlainContext(), LinksParameters(**SMALL))


def test_the_need_grows_with_ranks_and_messages() -> None:
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 34)
    small = STAGE.estimate(LinksParameters(), {}, machine)
    large = STAGE.estimate(LinksParameters(ranks=4, largest="64MiB"), {}, machine)
    assert large.host_bytes > 12 * (64 << 20) > small.host_bytes > 0
    assert small.device_bytes == 0
    on_gpus = Machine(backend="cuda", threads=2, host_memory=1 << 34, device_memory=1 << 34)
    assert STAGE.estimate(LinksParameters(largest="64MiB"), {}, on_gpus).device_bytes >= 5 * (64 << 20)
    assert STAGE.ranks is not None
    assert STAGE.ranks(LinksParameters(ranks=4)) == 4
