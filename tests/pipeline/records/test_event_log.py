"""The log of a run that goes on: read back, torn, damaged, written by a newer gravel."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from gravel.pipeline.gc.collection import past_runs
from gravel.pipeline.records.past_runs import read_head, read_run
from gravel.pipeline.records.record import RunRecord
from gravel.pipeline.scheduler.execution import outline_of
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import EVENT_LOG
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    """A run that goes on in this process, with a stage run that was computed and one that is running."""
    plan = plan_of(stage_run("count", MAKE), stage_run("again", ADD, "count"))
    made = RunRecord(tmp_path, outline_of(plan), {"host": "here"}, {})
    made.write()
    first = made.change("count")
    first.state, first.recipe, first.outputs, first.seconds = "computed", "0" * 64, ["1" * 64], 1.5
    made.cluster = "inline, in this process"
    made.log()
    second = made.change("again")
    second.state, second.place = "running", "here"
    made.log()
    return made


def states(found: dict[str, Any]) -> list[str]:
    return [stage["state"] for stage in found["stages"]]


def read(record: RunRecord) -> dict[str, Any]:
    found = read_run(record.folder)
    assert found is not None
    return found


def test_a_reader_sees_what_the_log_says(record: RunRecord) -> None:
    assert states(json.loads((record.folder / "run.json").read_text())) == ["waiting", "waiting"]
    found = read(record)
    assert states(found) == ["computed", "running"]
    assert found["cluster"] == "inline, in this process"
    assert found["recipes"] == ["0" * 64]
    assert found["artifacts"] == ["1" * 64]
    assert found["stages"][0]["seconds"] == 1.5
    assert "unread" not in found
    assert read_head(record.folder) is None


def test_an_ended_run_is_in_its_record(record: RunRecord) -> None:
    record.change("again").state = "computed"
    record.end("done")
    record.write()
    (record.folder / EVENT_LOG).write_text("garbage\n")
    assert states(read(record)) == ["computed", "computed"]
    head = read_head(record.folder)
    assert head is not None
    assert head["recipes"] == ["0" * 64]
    assert head["stages"] == []


@pytest.mark.parametrize("size", [1, 5, 40])
def test_a_torn_end_is_ignored(record: RunRecord, size: int) -> None:
    log = record.folder / EVENT_LOG
    log.write_bytes(log.read_bytes()[:-size])
    found = read(record)
    assert states(found) == ["computed", "waiting"]
    assert "unread" not in found


GARBAGE = [
    b"\x00\xff\xfe garbage\n",
    b"[]\n",
    b"null\n",
    b'{"stage": "no such"}\n',
    b'{"stage": "again", "at": "soon"}\n',
    b'{"stage": "again", "at": 1.0, "outputs": "none"}\n',
    b'{"run": {"workflow": 3}, "at": 1.0}\n',
    b"[" * 100_000 + b"\n",
]


@pytest.mark.parametrize("line", GARBAGE)
def test_garbage_costs_itself_and_is_named(record: RunRecord, line: bytes, tmp_path: Path) -> None:
    log = record.folder / EVENT_LOG
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], line, *lines[2:]]))
    found = read(record)
    assert states(found) == ["computed", "running"]
    assert found["unread"] == 1
    shown = CliRunner().invoke(main, ["status", "--cache", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "lines that cannot be read and are left out: 1" in shown.output
    assert list(past_runs(Cache(tmp_path), None).unreadable) == [record.run]


def test_a_record_of_a_newer_gravel_is_named_and_kept(record: RunRecord, tmp_path: Path) -> None:
    path = record.folder / "run.json"
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "format": 99}))
    assert read_run(record.folder) is None
    shown = CliRunner().invoke(main, ["status", "--cache", str(tmp_path)])
    assert shown.exit_code == 2
    assert "is of format 99, which a newer gravel wrote" in shown.output
    listed = CliRunner().invoke(main, ["runs", "--cache", str(tmp_path)])
    assert listed.exit_code == 0
    assert "1 runs of a newer gravel are not listed" in listed.output
    assert "format 99" in past_runs(Cache(tmp_path), None).unreadable[record.run]


@pytest.mark.parametrize("stated", ["two", None, [], 1.5, True])
def test_a_format_that_is_no_number_is_not_newer(record: RunRecord, tmp_path: Path, stated: object) -> None:
    path = record.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": stated}))
    assert read_run(record.folder) is not None
    assert past_runs(Cache(tmp_path), None).unreadable == {}


def test_gc_keeps_what_a_run_that_was_killed_has_logged(record: RunRecord, tmp_path: Path) -> None:
    path = record.folder / "run.json"
    path.write_text(path.read_text().replace('"pid": ', '"pid": 99999'))
    found = past_runs(Cache(tmp_path), None)
    assert found.artifacts == {"1" * 64}
    assert found.recipes == {"0" * 64}


def test_what_could_not_be_logged_is_logged_later(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    record.change("again").state = "failed"
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            record.log()
    assert states(read(record)) == ["computed", "running"]
    record.log()
    assert states(read(record)) == ["computed", "failed"]


def test_the_last_line_of_a_stage_run_counts_and_names_no_secret(record: RunRecord) -> None:
    stage = record.change("count")
    stage.state, stage.outputs, stage.seconds, stage.error = "failed", [], None, "it failed"
    stage.why = ["https://user:secret@example.org/a?token=hidden changed"]
    record.log()
    first = read(record)["stages"][0]
    assert (first["state"], first["outputs"], first["seconds"]) == ("failed", [], None)
    assert first["error"] == "it failed"
    text = (record.folder / EVENT_LOG).read_text()
    assert "secret" not in text
    assert "hidden" not in text
