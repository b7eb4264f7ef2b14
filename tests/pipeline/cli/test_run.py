"""The verbs run, runs, status, logs and doctor, from a workflow file to exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.cli.runs import fitting
from gravel.pipeline.core.errors import RequestError
from tests.pipeline.tiny_stages import ADD, MAKE, MEASURE, count

WORKFLOW = """\
workflow: sums
parameters: {value: 1, fail: ""}
matrix: {by: [2, 3]}
stages:
  edges: {stage: make, value: "${value}", marks: MARKS}
  sum:   {stage: add, inputs: [edges], value: "${by}", fail: "${fail}", marks: MARKS}
  all:   {stage: add, over: matrix, inputs: [sum], value: 9, marks: MARKS}
"""


VERIFIED = """\
workflow: roads
stages:
  edges: {stage: ingest, source: {rmat: {scale: 5, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, sources: {random: 1}}
  check: {stage: verify, graph: graph, traversal: bfs}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    known = {stage.name: stage for stage in (MAKE, ADD, MEASURE)}
    monkeypatch.setattr("gravel.pipeline.workflow.loader.known_stages", lambda: known)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sums.yaml"
    path.write_text(WORKFLOW.replace("MARKS", str(tmp_path / "marks")))
    return path


def gravel(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments), standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(file: Path, *arguments: str) -> Result:
    cache = ("--cache", str(file.parent / "cache"))
    return gravel("run", str(file), *cache, "--cluster", "inline", "--backend", "cpu", *arguments)


def look(file: Path, *arguments: str) -> str:
    return gravel(*arguments, "--cache", str(file.parent / "cache")).output


def test_a_workflow_runs_and_is_cached_the_second_time(file: Path) -> None:
    first = run(file)
    assert first.return_value == 0
    assert "sum[by=2]: done in" in first.stderr
    assert "done in" in first.stderr.splitlines()[-2]
    assert "report.html" in first.stderr
    second = run(file)
    assert second.return_value == 0
    assert "sum[by=3]: cached" in second.stderr
    assert "4 cached" in second.stderr
    assert first.stderr.splitlines()[-1].split()[-1] == second.stderr.splitlines()[-1].split()[-1]
    assert len(list((file.parent / "cache" / "runs").glob("*/report.html"))) == 1


def named_report(result: Result) -> str:
    return next(line for line in result.stderr.splitlines() if "report.html" in line).split("report: ")[1]


def test_a_cached_run_names_the_report_of_its_own_parameters(file: Path) -> None:
    one, two = named_report(run(file)), named_report(run(file, "--set", "value=5"))
    assert one != two
    assert named_report(run(file)) == one
    assert named_report(run(file, "--set", "value=5")) == two


def test_one_choice_of_the_matrix_and_one_forced_stage(file: Path) -> None:
    marks = file.parent / "marks"
    assert run(file, "--where", "by=2", "--only", "sum").return_value == 0
    assert [count(marks, value) for value in (1, 2, 3, 9)] == [1, 1, 0, 0]
    assert run(file, "--where", "by=2", "--only", "sum", "--force", "edges").return_value == 0
    assert [count(marks, value) for value in (1, 2)] == [2, 1]


def test_a_result_that_is_not_kept_is_stored_where_an_option_asks_for_it(file: Path) -> None:
    marks = file.parent / "marks"
    file.write_text(file.read_text().replace("{stage: make,", "{stage: make, keep: false,"))
    assert run(file).return_value == 0
    assert run(file).return_value == 0
    assert count(marks, 1) == 1, "what reads it is cached"
    assert "edges: done in" in run(file, "--keep", "edges").stderr
    assert "edges: cached" in run(file, "--keep", "edges").stderr
    with pytest.raises(RequestError, match="nothing"):
        run(file, "--keep", "nothing")


def test_json_events_come_one_per_line(file: Path) -> None:
    result = run(file, "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert events[0]["event"] == "run_started"
    assert events[-1]["event"] == "run_finished"
    assert events[-1]["computed"] == 4
    finished = {event["stage"] for event in events if event["event"] == "stage_finished"}
    assert finished == {"edges", "sum[by=2]", "sum[by=3]", "all"}
    assert run(file, "--quiet").output == ""


def test_a_failed_stage_makes_exit_code_1_and_says_why(file: Path) -> None:
    result = run(file, "--set", "fail=stage", "--quiet")
    assert result.return_value == 1
    assert "sum[by=2]: it was told to fail" in result.stderr
    assert "tell it not to" in result.stderr
    assert "Traceback" not in result.output
    status = look(file, "status")
    assert "failed" in status
    assert "skipped" in status


def test_a_wrong_request_makes_exit_code_2(file: Path) -> None:
    for arguments in (("--cluster", "cloud"), ("--host-memory", "much"), ("--host-memory", "1kB")):
        with pytest.raises(RequestError) as caught:
            run(file, *arguments)
        assert caught.value.exit_code == 2
    assert count(file.parent / "marks", 1) == 0


def test_runs_have_a_row_with_what_matters(file: Path) -> None:
    run(file)
    run(file, "--set", "fail=stage", "--force", "sum")
    run(file)
    rows = [line.split("  ") for line in look(file, "runs").splitlines()]
    cells = [[cell.strip() for cell in row if cell] for row in rows]
    assert cells[0] == ["RUN", "WORKFLOW", "STATE", "TOOK", "COMPUTED", "VERIFIED", "PAGE"]
    workflow, computed = ([row[place] for row in cells[1:]] for place in (1, 4))
    assert workflow == [str(file)] * 3
    assert computed == ["nothing", "nothing; failed: sum", "all 4"]
    assert cells[3][-1].endswith("report.html")


def test_runs_say_whether_results_were_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "roads.yaml"
    path.write_text(VERIFIED)
    run(path)
    run(path, "--only", "bfs")
    [later, first] = json.loads(look(path, "runs", "--json"))
    assert (later["verified"], first["verified"]) == (None, True)
    assert "  all 4     yes       " in look(path, "runs")


def test_runs_status_and_logs_tell_of_a_run(file: Path) -> None:
    assert "no run is on record" in look(file, "runs")
    run(file, "--quiet")
    [row] = json.loads(look(file, "runs", "--json"))
    assert (row["state"], row["computed"], row["failed"]) == ("done", 4, 0)
    assert row["run"] in look(file, "runs")
    status = look(file, "status", "last")
    assert "sum[by=3]  computed" in status
    assert "peak" in status
    assert json.loads(look(file, "status", "--json"))["run"] == row["run"]
    assert "made 1" in look(file, "logs", "last", "edges")
    assert "nothing was logged" in look(file, "logs", row["run"], "sum[by=2]")
    with pytest.raises(RequestError, match="sum ran 2 times"):
        look(file, "logs", "last", "sum")


def test_the_doctor_finds_what_matters(file: Path) -> None:
    found = json.loads(look(file, "doctor", "--json"))
    subjects = {finding["subject"] for finding in found}
    assert {"python", "packages", "processor", "memory", "cache", "cache speed"} <= subjects
    assert all(finding["state"] != "bad" for finding in found)
    assert "ok python" in look(file, "doctor")
    assert not (file.parent / "cache").exists()


def test_the_doctor_names_the_cure(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.requires", lambda package: ["numpy", "no-such-package"])
    result = gravel("doctor", "--cache", str(file.parent / "cache"))
    assert result.return_value == 1
    assert "missing: no-such-package" in result.output
    assert "cure: pip install" in result.output


def test_what_failed_is_run_again_with_what_rests_on_it(file: Path) -> None:
    marks = file.parent / "marks"
    with pytest.raises(RequestError, match="no run of"):
        run(file, "--failed")
    axis = "by: {two: {value: 2}, three: {value: 3, fail: stage}}"
    text = file.read_text().replace("by: [2, 3]", axis)
    text = text.replace('value: "${by}", fail: "${fail}"', 'with: "${by}"')
    file.write_text(text)
    assert run(file, "--quiet").return_value == 1
    file.write_text(text.replace("fail: stage", "fail: ''"))
    again = run(file, "--failed", "--set", "value=1")
    assert again.return_value == 0
    assert "sum[by=three]: done" in again.stderr
    assert [count(marks, value) for value in (1, 2, 3, 9)] == [1, 1, 2, 1]
    quiet = run(file, "--failed")
    assert quiet.return_value == 0
    assert "nothing failed in the last run" in quiet.stderr
    assert len(list((file.parent / "cache" / "runs").iterdir())) == 2


def test_a_measurement_is_repeated_without_what_it_rests_on(file: Path) -> None:
    marks = file.parent / "marks"
    file.write_text(
        "stages:\n"
        f"  edges: {{stage: make, value: 1, marks: {marks}}}\n"
        f"  time: {{stage: measure, inputs: [edges], value: 5, marks: {marks}}}\n"
        f"  sum: {{stage: add, inputs: [edges], value: 7, marks: {marks}}}\n"
    )
    assert run(file, "--quiet").return_value == 0
    assert run(file, "--quiet", "--repeat", "3").return_value == 0
    assert [count(marks, value) for value in (1, 5, 7)] == [1, 3, 1]
    assert run(file, "--quiet", "--repeat", "3", "--from", "time").return_value == 0
    assert [count(marks, value) for value in (1, 5, 7)] == [1, 6, 1]


def test_runs_fit_a_narrow_terminal() -> None:
    rows = [
        ["RUN", "WORKFLOW", "STATE", "TOOK", "COMPUTED", "VERIFIED", "PAGE"],
        [
            "20261129-065527-many-d0ca",
            "many.yaml",
            "failed",
            "12.6 s",
            "3 of 390: " + "x" * 60,
            "FAILED",
            "p",
        ],
    ]
    assert len(fitting(rows, 0)[1]) > 120
    head, line = fitting(rows, 80)
    assert max(len(head), len(line)) == 80
    assert line.endswith("…  FAILED")
