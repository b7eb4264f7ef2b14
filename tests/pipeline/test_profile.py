"""`gravel run --profile`: what the time went into, as a table and as a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gravel.pipeline.cli.profile_text import profile_text
from gravel.pipeline.records.profile import WHAT, brought, chrome_trace, profiles
from gravel.pipeline.scheduler import residency
from gravel.pipeline.scheduler.executing import execute
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.workers.hand_over import DISK, HOST, IPC
from tests.drills.gravel import PROGRAM, call_inside
from tests.pipeline.memory_stages import FILL, LOOK, sized
from tests.pipeline.tiny_stages import plan_of

MIB = 1 << 17


@pytest.mark.parametrize("cluster", ["inline", "local"])
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_profile_accounts_for_a_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, in_memory: bool
) -> None:
    monkeypatch.setattr(residency, "MIN_BYTES", 1)
    plan = plan_of(sized("a", FILL, count=MIB, sleep=0.2), sized("b", LOOK, "a", sleep=0.1))
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
    assert {event["cat"] for event in trace["traceEvents"]} <= {"stage", *WHAT}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in trace["traceEvents"])
    text = profile_text(record, 1e9)
    assert text.splitlines()[0].split()[:3] == ["stage", "s", "waited"]


def test_a_profile_says_how_inputs_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "MIN_BYTES", 1)
    looks = (sized(f"l{place}", LOOK, "a", value=place, sleep=0.3) for place in range(2))
    plan = plan_of(sized("a", FILL, count=MIB), *looks)
    record = execute(plan, RunOptions(tmp_path, cluster="local", workers=2, profile=True)).record
    assert brought(record) == {HOST: 1 << 20, IPC: 0}
    assert "\nInputs that a worker did not have: 1 MiB from the host's memory." in profile_text(record, None)
    other = next(one for one in profiles(record) if one.by_what["read"] > 0.0005 and one.key != "a")
    assert other.by_what["compute"] >= 0.3
    apart = execute(plan, RunOptions(tmp_path / "disk", cluster="inline", profile=True, resident_memory="0"))
    assert brought(apart.record) == {DISK: 2 << 20}


def test_what_was_brought_while_a_stage_ran_is_not_counted_twice() -> None:
    span = {"began": 5.0, "bytes": 0}
    stage = {
        **{"key": "a", "state": "computed", "started": 5.0, "seconds": 3.0, "upstream": []},
        **{"bytes": 1, "bytes_on_disk": 1},
        "spans": [
            {**span, "what": "read", "seconds": 0.5},
            {**span, "what": "compute", "seconds": 2.0},
            {**span, "what": "read", "seconds": 1.5, "within": "compute", "brought": {DISK: 7}},
        ],
    }
    [one] = profiles({"stages": [stage]})
    assert (one.by_what["read"], one.by_what["compute"], one.other) == (2.0, 0.5, 0.5)


def test_a_run_without_it_measures_nothing(tmp_path: Path) -> None:
    record = execute(plan_of(sized("a", FILL)), RunOptions(tmp_path, cluster="inline")).record
    assert record["stages"][0]["spans"] == []


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(
        "workflow: small\nstages:\n  edges: {stage: ingest, source: {path: {vertices: 9}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    words = [*PROGRAM, "run", str(file), "--cluster", "inline", "--profile", "--cache", str(tmp_path / "c")]
    done = call_inside(words)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("stage "))
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["edges", "graph"]
    trace = json.loads(next((tmp_path / "c" / "runs").glob("*/profile.json")).read_text())
    assert {event["name"] for event in trace["traceEvents"]} >= {"edges", "graph: compute"}
    again = call_inside(words)
    assert again.returncode == 0
    assert "nothing was computed: there is nothing to profile" in again.stderr
