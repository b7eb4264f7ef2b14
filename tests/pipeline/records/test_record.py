"""Records of runs and of schedules whose values are of other types: told, never a defect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.drills.gravel import PROGRAM, Gravel, call_inside
from tests.drills.outcomes import fault

EDITS = [
    *(("ended", {}), ("seconds", "<script>"), ("seconds", {}), ("started", 5), ("workflow", [])),
    *(("stages", [None]), ("state", None), ("report", 1)),
]


def gravel(*words: str, cache: Path):
    return call_inside([*PROGRAM, *words, "--cache", str(cache)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a run."""
    made = Gravel(tmp_path_factory.mktemp("whole"), arguments=("--set", "scale=4"), inside=True)
    made.run("--quiet", "--only", "edges")
    return next(made.cache.glob("runs/*/run.json"))


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize(("name", "value"), EDITS)
def test_a_record_of_a_run(whole: Path, tmp_path: Path, name: str, value: object, missing: bool) -> None:
    record = json.loads(whole.read_text()) | {name: value}
    if missing:
        del record[name]
    path = tmp_path / "runs" / whole.parent.name / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
    for words in (("runs",), ("status",), ("diff", "last", "last"), ("cache", "gc"), ("logs", "last")):
        assert fault(gravel(*words, cache=tmp_path)) is None, words
    done = gravel("status", cache=tmp_path)
    assert done.returncode == 2
    assert "cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("zone", [None]), ("hooks", 0), ("name", 2**63), ("created", "é"), ("cron", "never")],
)
def test_a_job(tmp_path: Path, name: str, value: object) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("workflow: one\nstages:\n  edges: {stage: ingest, source: {path: {vertices: 3}}}\n")
    cache = tmp_path / "cache"
    added = gravel("schedule", "add", str(file), "--name", "one", "--cron", "@yearly", cache=cache)
    assert added.returncode == 0, added.stderr
    path = cache / "schedules/one/job.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    for words in (("schedule", "list"), ("schedule", "list", "one")):
        done = gravel(*words, cache=cache)
        assert fault(done) is None, words
        assert str(path) in done.stdout + done.stderr
