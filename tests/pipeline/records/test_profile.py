"""`gravel run --profile`: what the time went into, as a table and as a trace."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.cli.run import profile_text
from gravel.pipeline.progress.events import Display, Event
from gravel.pipeline.records.profile import WHAT, chrome_trace, profiles, whole_run
from gravel.pipeline.scheduler import placement
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.workers.protocol import StageOutcome
from gravel.pipeline.workers.stage_run import run_stage
from tests.drills.gravel import PROGRAM, call_inside
from tests.pipeline.memory_stages import FILL, LOOK
from tests.pipeline.tiny_stages import plan_of, stage_run

MIB = 1 << 17


@pytest.mark.parametrize("cluster", ["inline", "local"])
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_profile_accounts_for_a_stage(tmp_path, monkeypatch, cluster, in_memory) -> None:
    monkeypatch.setattr(placement, "MIN_BYTES", 1)
    plan = plan_of(stage_run("a", FILL, count=MIB, sleep=0.2), stage_run("b", LOOK, "a", sleep=0.1))
    memory = None if in_memory else "0"
    options = RunOptions(tmp_path, cluster=cluster, workers=1, profile=True, resident_memory=memory)
    record = execute(plan, options).record
    first, second = profiles(record)
    assert (first.key, second.key) == ("a", "b")
    assert 0.2 <= first.by_what["compute"] <= first.seconds
    assert 0.1 <= second.by_what["compute"] <= second.seconds
    assert first.by_what["write"] > 0
    assert (first.by_what["digest"] > 0) == in_memory
    assert first.bytes == 8 * MIB
    assert first.on_disk > 0
    assert first.write_rate is not None
    within = sum(seconds for what, seconds in first.by_what.items() if what != "write")
    assert within <= first.seconds + 0.01
    trace = chrome_trace(record)
    assert {event["cat"] for event in trace["traceEvents"]} <= {"stage", "run", *WHAT}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in trace["traceEvents"])
    assert profile_text(record).splitlines()[0].split()[:3] == ["stage", "s", "waited"]
    whole = whole_run(record)
    assert whole is not None
    assert list(whole.before) == ["plan", "look up", "memory", "cluster", "other"]
    assert list(whole.after) == ["publish", "close", "page", "other"]
    assert set(whole.beside) == ({"load"} if cluster == "inline" else {"load", "load Dask"})
    assert whole.stages >= 0.3
    parts = sum(whole.before.values()) + whole.stages + sum(whole.after.values())
    assert parts == pytest.approx(whole.seconds, abs=0.01)
    if cluster == "local":
        assert whole.before["cluster"] > 0.3
    saved = json.loads((tmp_path / "runs" / record["run"] / "run.json").read_text())
    assert saved["spans"] == record["spans"]


def test_a_run_without_it_measures_nothing(tmp_path: Path) -> None:
    record = execute(plan_of(stage_run("a", FILL)), RunOptions(tmp_path, cluster="inline")).record
    assert record["stages"][0]["spans"] == []
    assert record["spans"] == []
    assert whole_run(record) is None


def span(what: str, began: float, seconds: float) -> dict[str, Any]:
    return {"what": what, "began": began, "seconds": seconds, "bytes": 0}


def test_a_whole_run_is_accounted_for() -> None:
    """The first stage begins 2 s after the process, 0.5 s of which nobody measured; the last ends at 15."""
    times = {"a": (12.0, 1.0), "b": (13.5, 1.5)}
    done = {"state": "computed"}
    stages = [done | {"key": key, "started": at, "seconds": seconds} for key, (at, seconds) in times.items()]
    stages.append({"key": "c", "state": "cached", "started": None, "seconds": 9.0})
    spans = [
        *(span("load", 10.7, 1.4), span("plan", 10.2, 0.5), span("start", 10.0, 0.2)),
        *(span("cluster", 10.7, 0.8), span("publish", 15.0, 0.25), span("page", 15.5, 0.25)),
    ]
    whole = whole_run({"stages": stages, "spans": spans})
    assert whole is not None
    assert whole.before == pytest.approx({"start": 0.2, "plan": 0.5, "cluster": 0.8, "other": 0.5})
    assert list(whole.before) == ["start", "plan", "cluster", "other"]
    assert whole.after == pytest.approx({"publish": 0.25, "page": 0.25, "other": 0.25})
    assert (whole.stages, whole.seconds, whole.beside) == (3.0, 5.75, {"load": 1.4})
    assert whole_run({"stages": stages[2:], "spans": spans}) is None


@pytest.mark.parametrize("is_here", [True, False])
def test_the_way_to_a_worker_is_no_part_of_a_stage(tmp_path, monkeypatch, is_here) -> None:
    """When a stage began its worker knows; the clock of another host may say anything."""
    began = 1e9

    def late(*given: Any) -> StageOutcome:
        outcome = run_stage(*given)
        return replace(outcome, started=began, host=outcome.host if is_here else "elsewhere")

    monkeypatch.setattr("gravel.pipeline.workers.inline_cluster.run_stage", late)
    [stage] = execute(plan_of(stage_run("a", FILL)), RunOptions(tmp_path, cluster="inline")).record["stages"]
    assert (stage["started"] == began) == is_here


def test_what_a_stage_compiled_is_in_its_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compiling(*given: Any) -> StageOutcome:
        outcome = run_stage(*given)
        assert outcome.compile_seconds < outcome.seconds
        return replace(outcome, compile_seconds=1.23456)

    class Kept(Display):
        def handle(self, event: Event) -> None:
            events.append(event)

    events: list[Event] = []
    monkeypatch.setattr("gravel.pipeline.workers.inline_cluster.run_stage", compiling)
    execute(plan_of(stage_run("a", FILL)), RunOptions(tmp_path, cluster="inline", display=Kept()))
    [ended] = [event for event in events if event.kind == "stage_finished"]
    assert ended.data["compile_seconds"] == 1.235


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(
        "workflow: small\nstages:\n  edges: {stage: ingest, source: {path: {vertices: 9}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    words = [*PROGRAM, "run", str(file), "--cluster", "inline", "--profile", "--cache", str(tmp_path / "c")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("stage "))
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["edges", "graph"]
    [summary] = [line for line in lines if " s in all: " in line]
    assert re.search(r"first stage \(start .*, plan .*, look up .*\), .* after it \(publish .*", summary)
    trace = json.loads(next((tmp_path / "c" / "runs").glob("*/profile.json")).read_text())
    names = {event["name"] for event in trace["traceEvents"]}
    assert names >= {"start", "plan", "page", "edges", "graph: compute"}
    again = call_inside(words)
    assert again.returncode == 0
    assert "nothing was computed: there is nothing to profile" in again.stderr
