"""Records of runs: written as they go, read back, found by part of their name."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.past_runs import (
    find_run,
    last_report,
    list_runs,
    read_run,
    reading_notes,
    stage_log,
)
from gravel.pipeline.records.record import RunRecord, log_name, new_run_id
from gravel.pipeline.scheduler.execution import outline_of
from gravel.pipeline.store.cache import Cache
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run


def record_of(root: Path) -> RunRecord:
    plan = plan_of(stage_run("a", MAKE), stage_run("b[x=1]", ADD, "a"), stage_run("b[x=2]", ADD, "a"))
    record = RunRecord(root, outline_of(plan), {"host": "here"}, {})
    record.write()
    return record


def test_a_record_lists_what_gc_must_keep(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.stages["a"].recipe, record.stages["a"].outputs = "r1", ["id1", "id2"]
    record.stages["b[x=1]"].recipe, record.stages["b[x=1]"].outputs = "r2", ["recipe:r2:0"]
    record.end("done")
    record.write()
    found = json.loads((record.folder / "run.json").read_text())
    assert found["recipes"] == ["r1", "r2"]
    assert found["artifacts"] == ["id1", "id2"]
    assert found["state"] == "done"
    assert found["stages"][1]["upstream"] == ["a"]
    assert [path.name for path in record.folder.iterdir()] == ["run.json"]


def test_a_running_record_of_a_dead_process_was_interrupted(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.stages["a"].state = "running"
    record.write()
    alive = read_run(record.folder)
    assert alive is not None
    assert alive["state"] == "running"
    dead = subprocess.Popen(["true"])
    dead.wait()
    path = record.folder / "run.json"
    path.write_text(json.dumps({**alive, "pid": dead.pid}))
    found = read_run(record.folder)
    assert found is not None
    assert found["state"] == "interrupted"
    assert found["stages"][0]["state"] == "interrupted"


def test_runs_are_found_by_part_of_their_id(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no run is on record"):
        find_run(tmp_path, "last")
    first = record_of(tmp_path)
    time.sleep(0.01)
    second = record_of(tmp_path)
    assert [record["run"] for record in list_runs(tmp_path)] == [second.run, first.run]
    assert find_run(tmp_path, None)[1]["run"] == second.run
    assert find_run(tmp_path, "last")[1]["run"] == second.run
    assert find_run(tmp_path, first.run[-4:])[1]["run"] == first.run
    with pytest.raises(RequestError, match="2 runs fit 'tiny'"):
        find_run(tmp_path, "tiny")
    with pytest.raises(RequestError, match="there is no run 'nothing'"):
        find_run(tmp_path, "nothing")
    (first.folder / "run.json").write_text('{"run": ')
    assert read_run(first.folder) is None
    assert [record["run"] for record in list_runs(tmp_path)] == [second.run]


def test_logs_are_found_by_key_or_entry(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    found = record.to_json()
    assert stage_log(record.folder, found, "b[x=2]") == record.log_path("b[x=2]")
    assert stage_log(record.folder, found, "a") == record.log_path("a")
    with pytest.raises(RequestError, match="b ran 2 times"):
        stage_log(record.folder, found, "b")
    with pytest.raises(RequestError, match="has no stage run 'b\\[x=3\\]'"):
        stage_log(record.folder, found, "b[x=3]")


def test_keys_make_distinct_file_names() -> None:
    keys = ["a", "a[x=1]", "a[x=1/2]", "a[x=1_2]", "a[x=ü]", "../evil", "x" * 300, "x" * 299]
    names = [log_name(key) for key in keys]
    assert len(set(names)) == len(keys)
    assert all("/" not in name and len(name) < 200 for name in names)
    assert new_run_id("../a b").split("-", 2)[2].startswith("a-b-")


def test_the_last_report_is_that_of_the_same_workflow_and_recipes(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.stages["a"].recipe = "r1"
    record.write()
    assert last_report(tmp_path, "tiny.yaml", ["r1"]) is None
    (record.folder / "report.html").write_text("page")
    record_of(tmp_path)
    assert last_report(tmp_path, "tiny.yaml", ["r1"]) == str(record.folder / "report.html")
    assert last_report(tmp_path, "tiny.yaml", ["r1", "r2"]) is None
    assert last_report(tmp_path, "other.yaml", ["r1"]) is None


def test_files_that_were_read_alike_are_one_note(tmp_path: Path) -> None:
    remarks = [f"read g{place}.txt as: blanks, no header" for place in range(60)] + ["read x.csv as: comma"]
    stages = [{"stage": "ingest", "remarks": [remark], "outputs": []} for remark in remarks]
    notes = reading_notes({"stages": stages}, Cache(tmp_path))
    assert notes == ["read 60 files as: blanks, no header", "read x.csv as: comma"]
