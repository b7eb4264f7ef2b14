"""The driver, with stages that run in this process."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.leases import RecipeLocks
from gravel.stages.stage import FileInput
from tests.pipeline.run_case import Kept, states, total
from tests.pipeline.tiny_stages import ADD, MAKE, MEASURE, count, make, plan_of, stage_run


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def run(plan: Plan, root: Path, **options: Any) -> RunOutcome:
    return execute(plan, RunOptions(cache_root=root, cluster="inline", backend="cpu", **options))


def chain(marks: Path, first: dict[str, Any] | None = None, **last: Any) -> Plan:
    return plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks), **(first or {})),
        stage_run("b", ADD, "a", value=2, marks=str(marks)),
        stage_run("c", ADD, "a", "b", marks=str(marks), **{"value": 3} | last),
    )


def test_a_second_run_computes_nothing_and_starts_nothing(root: Path, marks: Path) -> None:
    first = run(chain(marks), root)
    assert states(first) == {"a": "computed", "b": "computed", "c": "computed"}
    assert total(root, first, "c") == 3 + 6 + (2 + 6)
    kept = Kept()
    second = run(chain(marks), root, display=kept)
    assert states(second) == {"a": "cached", "b": "cached", "c": "cached"}
    assert second.record["cluster"] is None
    assert "cluster_started" not in kept.kinds
    cached = [event.data for event in kept.events if event.kind == "stage_cached"]
    assert [data["stage"] for data in cached] == ["a", "b", "c"]
    assert all(data["bytes"] for data in cached)
    assert second.record["artifacts"] == first.record["artifacts"]
    assert [count(marks, value) for value in (1, 2, 3)] == [1, 1, 1]


def test_only_what_changed_runs_again_and_an_equal_result_cuts_off(root: Path, marks: Path) -> None:
    run(chain(marks), root)
    outcome = run(chain(marks, {"sleep": 0.001}, value=4), root)  # another recipe of a, the same edges
    assert states(outcome) == {"a": "computed", "b": "cached", "c": "computed"}
    why = outcome.record["stages"][0]["why"]
    assert any("sleep" in reason and "0.001" in reason for reason in why)


def test_force_computes_again(root: Path, marks: Path) -> None:
    run(chain(marks), root)
    assert states(run(chain(marks, {"forced": True}), root)) == {
        "a": "computed",
        "b": "cached",
        "c": "cached",
    }
    assert count(marks, 1) == 2


def failing(marks: Path) -> Plan:
    return plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("bad", ADD, "a", value=2, fail="stage", marks=str(marks)),
        stage_run("after", ADD, "bad", value=3, marks=str(marks)),
        stage_run("other", ADD, "a", value=4, marks=str(marks)),
    )


def test_a_failure_stops_only_what_depends_on_it(root: Path, marks: Path) -> None:
    outcome = run(failing(marks), root)
    assert states(outcome) == {"a": "computed", "bad": "failed", "after": "skipped", "other": "computed"}
    assert outcome.exit_code == 1
    bad = outcome.record["stages"][1]
    assert "it was told to fail" in bad["error"]
    assert "ids in the input: 11" in bad["error"]  # vertex 1 of ids that begin at 10
    assert bad["hint"] == "tell it not to"
    assert outcome.record["stages"][2]["why"] == ["bad failed"]


def test_fail_fast_stops_the_rest(root: Path, marks: Path) -> None:
    outcome = run(failing(marks), root, fail_fast=True)
    assert states(outcome) == {"a": "computed", "bad": "failed", "after": "skipped", "other": "skipped"}
    assert count(marks, 4) == 0


def test_a_defect_is_told_without_its_traceback(root, marks, capfd) -> None:
    outcome = run(plan_of(stage_run("a", MAKE, value=1, fail="bug")), root)
    assert "ZeroDivisionError: a defect" in outcome.record["stages"][0]["error"]
    assert "Traceback" not in "".join(capfd.readouterr())
    assert "Traceback" in (outcome.folder / "logs" / "a.log").read_text()


def data_file(root: Path, artifact_id: str) -> Path:
    record = Cache(root).describe(artifact_id)
    files = [record.path / file.path for file in record.files if "/c/" in file.path]
    return max(files, key=lambda file: file.stat().st_size)


def test_a_flipped_byte_is_found_when_it_is_read_and_made_again(root: Path, marks: Path) -> None:
    first = run(chain(marks), root)
    file = data_file(root, first.outputs("a")[0])
    content = bytearray(file.read_bytes())
    content[2] ^= 0xFF
    file.write_bytes(content)
    kept = Kept()
    second = run(chain(marks, value=30), root, display=kept)
    assert states(second) == {"a": "computed", "b": "cached", "c": "computed"}
    assert total(root, second, "c") == 30 + 6 + 8
    assert kept.kinds.count("damaged") == 1
    assert count(marks, 1) == 2


def test_what_is_not_kept_is_made_only_when_somebody_needs_it(root: Path, marks: Path) -> None:
    def plan(last: int) -> Plan:
        return plan_of(
            stage_run("a", MAKE, value=1, keep=False, marks=str(marks)),
            stage_run("b", ADD, "a", value=2, keep=False, marks=str(marks)),
            stage_run("c", ADD, "b", value=last, marks=str(marks)),
        )

    first = run(plan(3), root)
    assert states(first) == {"a": "computed", "b": "computed", "c": "computed"}
    assert first.outputs("a")[0].startswith("recipe:")
    assert [name for name in first.record["artifacts"] if ":" in name] == []
    second = run(plan(3), root)
    assert states(second) == {"a": "not needed", "b": "not needed", "c": "cached"}
    third = run(plan(4), root)
    assert states(third) == {"a": "computed", "b": "computed", "c": "computed"}
    assert total(root, third, "c") == 4 + 2 + 6
    from gravel.pipeline.workers.results_in_memory import RESIDENT

    assert RESIDENT == {}


def test_what_cannot_fit_is_refused_before_anything_runs(root: Path, marks: Path) -> None:
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("big", ADD, "a", value=2, need=3 << 30, marks=str(marks)),
    )
    with pytest.raises(RequestError, match=r"big needs 3 GiB.*there is 1 GiB.*--host-memory") as caught:
        run(plan, root, host_memory="1GiB")
    assert "at least 3 GiB" in str(caught.value.problems[0].hint)
    assert count(marks, 1) == 0
    assert run(plan, root, host_memory="4GiB").state == "done"


def test_memory_that_runs_out_is_tried_again_and_then_told(root: Path, marks: Path) -> None:
    kept = Kept()
    plan = plan_of(stage_run("a", MAKE, value=1, once="memory", marks=str(marks)))
    assert run(plan, root, display=kept).state == "done"
    assert "stage_retried" in kept.kinds
    plan = plan_of(stage_run("a", MAKE, value=2, once="memory", marks=str(marks)))
    outcome = run(plan, root, retries=0)
    assert "memory ran out" in outcome.record["stages"][0]["error"]


def test_no_gpu_is_said_before_anything_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: ())
    plan = plan_of(stage_run("a", MAKE, value=1))
    with pytest.raises(RequestError, match="no GPU with an NVIDIA driver was found") as caught:
        execute(plan, RunOptions(cache_root=root, backend="cuda"))
    assert caught.value.exit_code == 2
    with pytest.raises(RequestError, match="--cluster cuda"):
        execute(plan, RunOptions(cache_root=root, cluster="cuda"))
    with pytest.raises(RequestError, match="not a cluster"):
        execute(plan, RunOptions(cache_root=root, cluster="cloud"))
    assert not root.exists()


def test_the_record_says_who_made_what(root: Path, marks: Path) -> None:
    outcome = run(chain(marks), root)
    record = json.loads((outcome.folder / "run.json").read_text())
    assert record["state"] == "done"
    assert len(record["recipes"]) == 3
    assert len(record["artifacts"]) == 4
    stage = record["stages"][1]
    assert stage["need"]["host"] == 1 << 20
    assert stage["peak_host_bytes"] >= 0
    remembered = Cache(root).look_up(stage["recipe"])
    assert remembered is not None
    made = remembered.provenance
    assert made["key"] == "b"
    assert made["run"] == outcome.run
    assert made["versions"]["python"]
    assert "cores" in made["hardware"]


def test_a_measuring_stage_knows_the_hardware(root: Path, marks: Path) -> None:
    plan = plan_of(stage_run("a", MAKE, value=1), stage_run("m", MEASURE, "a", value=1))
    outcome = run(plan, root)
    records = [Cache(root).look_up(stage["recipe"]) for stage in outcome.record["stages"]]
    assert [record.parts["hardware"] is None for record in records if record] == [True, False]


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(root: Path, marks: Path) -> None:
    def interrupt() -> None:
        while count(marks, 3) == 0:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    outcome = run(chain(marks, sleep=30.0), root)
    thread.join()
    assert outcome.exit_code == 130
    assert states(outcome) == {"a": "computed", "b": "computed", "c": "interrupted"}
    again = run(chain(marks), root)
    assert states(again) == {"a": "cached", "b": "cached", "c": "computed"}
    assert not list((root / "data").glob("*.lock"))


FIND = replace(
    ADD,
    source_ids=lambda parameters: (parameters.value,),
    with_vertices=lambda parameters, vertices: parameters.model_copy(update={"value": vertices[0]}),
)
"""Adds the index of the vertex that `value` is the id of."""


def test_sources_are_resolved_in_ids_that_are_not_kept(root: Path, marks: Path) -> None:
    def plan(source: int) -> Plan:
        return plan_of(
            stage_run("a", MAKE, value=1, keep=False, marks=str(marks)),
            stage_run("b", ADD, "a", value=2, keep=False),
            stage_run("c", FIND, "b", value=source),
        )

    outcome = run(plan(12), root)  # ids begin at 10
    assert total(root, outcome, "c") == 2 + (2 + 6)
    assert count(marks, 1) == 1
    assert states(run(plan(12), root))["c"] == "cached"
    outcome = run(plan(999), root)
    assert states(outcome)["c"] == "failed"
    assert "999" in outcome.record["stages"][2]["error"]


def test_sources_are_resolved_in_the_ids_of_what_is_read_itself_and_not_kept(root: Path) -> None:
    plan = plan_of(stage_run("a", MAKE, value=1, keep=False), stage_run("b", FIND, "a", value=12))
    outcome = run(plan, root)
    assert total(root, outcome, "b") == 2 + 6


def test_a_recipe_that_cannot_be_locked_fails_its_run_with_the_cause(
    root: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(locks: RecipeLocks, path: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(RecipeLocks, "_link", refuse)
    outcome = run(chain(marks), root)
    assert states(outcome) == {"a": "failed", "b": "skipped", "c": "skipped"}
    error = outcome.record["stages"][0]["error"]
    assert "its recipe cannot be locked" in error
    assert "input/output error" in error


def test_a_killed_run_leaves_its_report_to_the_next(root: Path, marks: Path) -> None:
    first = run(chain(marks), root)
    assert first.report is not None
    Path(first.report).unlink()
    second = run(chain(marks), root)
    assert second.report == str(second.folder / "report.html")
    assert run(chain(marks), root).report == second.report


def test_two_runs_at_once_share_the_work(root: Path, marks: Path) -> None:
    def plan() -> Plan:
        return plan_of(
            stage_run("a", MAKE, value=1, sleep=0.4, marks=str(marks)),
            stage_run("b", ADD, "a", value=2, sleep=0.4, marks=str(marks)),
        )

    outcomes: list[RunOutcome] = []
    kept = Kept()
    threads = [
        threading.Thread(target=lambda: outcomes.append(run(plan(), root, display=kept))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.state for outcome in outcomes] == ["done", "done"]
    assert [count(marks, 1), count(marks, 2)] == [1, 1]
    assert "waiting" in kept.kinds


def reads(path: Path, *, edit: bool) -> Plan:
    def run(context: Any, parameters: Any) -> Any:
        text = path.read_text()
        if edit:
            path.write_text(text + "2 3\n")
        return make(context, parameters)

    stage = replace(MAKE, files=lambda parameters: [FileInput(str(path))], run=run)
    return plan_of(stage_run("a", stage, value=1))


def test_what_was_read_from_a_changing_file_is_not_kept(tmp_path: Path):
    path, root = tmp_path / "edges.txt", tmp_path / "cache"
    path.write_text("0 1\n")
    [failed] = run(reads(path, edit=True), root).record["stages"]
    assert failed["state"] == "failed"
    assert f"{path} changed while it was read" in failed["error"]
    assert not list(root.glob("recipes/*"))
    assert run(reads(path, edit=False), root).record["stages"][0]["state"] == "computed"
    assert run(reads(path, edit=False), root).record["stages"][0]["state"] == "cached"


def environment() -> dict[str, str]:
    # Importing Dask sets its own mark.
    return {name: value for name, value in os.environ.items() if not name.startswith("__DASK")}


def test_a_cluster_leaves_the_environment_as_it_was(tmp_path: Path) -> None:
    before = environment()
    for value in (1, 2):
        options = RunOptions(cache_root=tmp_path / "cache", cluster="local", backend="cpu", workers=1)
        outcome = execute(plan_of(stage_run("a", MAKE, value=value)), options)
        assert outcome.state == "done"
        assert (outcome.folder / "logs" / "dask.log").is_file()
        assert environment() == before
