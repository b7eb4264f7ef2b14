"""`time_limit` of an entry: how it is written, which limit equal runs have, and what it stops."""

from __future__ import annotations

import gc
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from gravel.pipeline.core.durations import format_duration, parse_duration
from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.workers.inline_cluster import TimeIsUp, run_within
from gravel.pipeline.workflow.loader import load_workflow
from tests.pipeline.run_case import states, until
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run


@pytest.mark.parametrize(
    ("written", "seconds", "told"),
    [
        ("10 min", 600, "10 min"),
        ("90s", 90, "1 min 30 s"),
        ("1.5 h", 5400, "1 h 30 min"),
        ("1 h 30 min", 5400, "1 h 30 min"),
        ("2 days", 172800, "2 d"),
        (45, 45, "45 s"),
        (0.5, 0.5, "0.5 s"),
    ],
)
def test_lengths_of_time_are_read_and_told(written: str | float, seconds: float, told: str) -> None:
    assert parse_duration(written) == seconds
    assert format_duration(seconds) == told
    assert parse_duration(told) == seconds


@pytest.mark.parametrize(
    "written", ["", "10", "ten minutes", "10 parsecs", "-5 s", "5 s later", 0, -1, True, [5], float("inf")]
)
def test_what_is_no_length_of_time_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"no length of time|no time at all|has no end"):
        parse_duration(written)


WORKFLOW = """\
workflow: limits
parameters: {patience: 10 min}
matrix: {order: [original, rcm]}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 5, edge_factor: 4}}, time_limit: "${patience}"}
  graph: {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: "${order}", time_limit: 90}
  again: {stage: reorder, input: graph, method: rcm, time_limit: 2 min}
"""


def test_a_workflow_limits_its_runs_and_equal_ones_have_the_longest(tmp_path: Path) -> None:
    file = tmp_path / "limits.yaml"
    file.write_text(WORKFLOW)
    runs = build_plan(load_workflow(file, {})).runs
    assert {key: run.time_limit for key, run in runs.items()} == {
        "edges": 600.0,
        "graph": None,
        "ordered[order=original]": 90.0,
        "ordered[order=rcm]": 120.0,
    }
    file.write_text(WORKFLOW.replace(", time_limit: 2 min", ""))
    assert build_plan(load_workflow(file, {})).runs["ordered[order=rcm]"].time_limit is None
    assert build_plan(load_workflow(file, {"patience": "5 s"})).runs["edges"].time_limit == 5.0
    file.write_text(WORKFLOW.replace("2 min", "2 moons"))
    with pytest.raises(WorkflowError, match="`time_limit`: '2 moons' is no length of time") as told:
        load_workflow(file, {})
    location = told.value.problems[0].location
    assert location is not None
    assert (location.line, location.snippet.strip().startswith("again")) == (8, True)


def test_an_alarm_of_somebody_else_still_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rang.append(number))
    other = signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(TimeIsUp):
            run_within(0.05, lambda: time.sleep(20))
        assert run_within(5.0, lambda: 7) == 7
        assert rang == []
        until(lambda: rang)
        assert len(rang) == 1
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *other)


@pytest.mark.parametrize("aside", [False, True])
def test_an_import_is_let_end_before_a_stage_is_stopped(tmp_path, monkeypatch, aside) -> None:
    name = f"takes_long_{aside}"
    (tmp_path / f"{name}.py").write_text("import time\nfor _ in range(40): time.sleep(0.01)\nWHOLE = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[str] = []

    def work() -> None:
        seen.append("whole" if __import__(name).WHOLE else "")
        for _ in range(1000):
            time.sleep(0.01)
        seen.append("went on")

    def limited() -> None:
        with pytest.raises(TimeIsUp):
            run_within(0.1, work)
        seen.append("stopped")

    if aside:
        thread = threading.Thread(target=limited)
        thread.start()
        thread.join(20)
    else:
        limited()
    assert seen == ["whole", "stopped"]


@pytest.mark.parametrize("aside", [False, True])
def test_what_garbage_collection_calls_is_let_end_before_a_stage_is_stopped(aside: bool) -> None:
    """Python drops what is raised there, with a message; Dask has such a function on its workers."""
    seen: list[str] = []

    def called(phase: str, info: dict[str, int]) -> None:
        for _ in range(20):
            time.sleep(0.01)
        seen.append(phase)

    def work() -> None:
        gc.collect()
        for _ in range(1000):
            time.sleep(0.01)

    def limited() -> None:
        gc.callbacks.append(called)
        try:
            with pytest.raises(TimeIsUp):
                run_within(0.1, work)
        finally:
            gc.callbacks.remove(called)
        seen.append("stopped")

    if aside:
        thread = threading.Thread(target=limited)
        thread.start()
        thread.join(20)
    else:
        limited()
    assert seen == ["start", "stop", "stopped"]


@pytest.mark.slow
def test_items_that_other_workers_run_for_a_stopped_stage_are_stopped_too(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    plan = plan_of(
        stage_run("a", MAKE, value=1),
        replace(stage_run("spread", ADD, "a", value=2, linger=60.0, marks=str(marks)), time_limit=1.0),
        replace(stage_run("group", ADD, "a", value=3, ranks=2), time_limit=50.0),
    )
    began = time.monotonic()
    outcome = execute(plan, RunOptions(cache_root=tmp_path / "cache", cluster="local", workers=2))
    assert time.monotonic() - began < 40
    assert states(outcome) == {"a": "computed", "spread": "failed", "group": "computed"}
    processes = {int(mark.name.rsplit("-", 1)[1]) for mark in marks.glob("item-*")}
    assert processes
    assert not any(psutil.pid_exists(process) for process in processes)


LONG = """\
workflow: long
stages:
  big: {stage: ingest, source: {rmat: {scale: 20, edge_factor: 16, seed: 1}}, time_limit: 0.2}
  graph: {stage: symmetrize, input: big}
  small: {stage: ingest, source: {rmat: {scale: 5, edge_factor: 4, seed: 1}}, time_limit: 2 min}
"""


def test_the_command_says_which_stage_was_stopped(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(LONG)
    options = ["--cluster", "inline", "--backend", "cpu", "--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(main, ["run", str(file), *options])
    code = result.return_value if isinstance(result.return_value, int) else result.exit_code
    assert code == 1, result.output
    assert "big: it was stopped at its time limit of 0.2 s" in result.stderr
    assert "raise its time_limit in the workflow" in result.stderr
    stages = {each["key"]: each["state"] for each in find_run(tmp_path / "cache", "last")[1]["stages"]}
    assert stages == {"big": "failed", "graph": "skipped", "small": "computed"}, result.stderr
    assert not list((tmp_path / "cache" / "scratch").glob("*"))
