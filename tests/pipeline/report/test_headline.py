"""The top of a page: what it says where no report answers, and that it knows of verifications outside one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.store.cache import Cache
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from tests.pipeline.report.sample import record, stage_run
from tests.stages.measured import searched

RUN = "20261120-100000-sample-0001"


def page(root: Path, runs: list[dict[str, Any]], **values: Any) -> str:
    made = report(PlainContext(), ReportParameters(labels=("bfs",)), inputs=(searched("serial", 2.0),))
    cache = SimpleNamespace(
        describe=lambda name: SimpleNamespace(
            kind="Report", attributes={"title": "Findings", "sections": made.sections}
        ),
        look_up=lambda recipe: None,
    )
    folder = root / "runs" / RUN
    folder.mkdir(parents=True)
    return write_run_report(folder, record(RUN, runs, **values), cast("Cache", cache)).read_text()


def said(text: str) -> str:
    return text.partition('<p class="says">')[2].partition("</p>")[0].replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("runs", "values", "told"),
    [
        (
            [stage_run("bfs"), stage_run("check", stage="verify", upstream=["graph", "bfs"], error="wrong")],
            {},
            "Verification FAILED: what bfs found is wrong.",
        ),
        (
            [stage_run("graph"), stage_run("bfs", state="failed", error="no memory")],
            {},
            "bfs FAILED; 1 of 2 stage runs are done.",
        ),
        (
            [stage_run("graph"), stage_run("bfs", state="running")],
            {"state": "running"},
            "No answer yet: 1 of 2 stage runs are done.",
        ),
        ([stage_run("graph")], {}, "No report was asked for; 1 of 1 stage runs are done."),
    ],
)
def test_a_run_without_a_report_says_how_it_stands(
    tmp_path: Path, runs: list[dict[str, Any]], values: dict[str, Any], told: str
):
    assert said(page(tmp_path, runs, **values)) == told


def test_verify_runs_that_the_report_was_not_given_count(tmp_path: Path):
    summary = stage_run("summary", stage="report", upstream=["bfs"], outputs=["r"])
    bfs = stage_run("bfs", stage="traverse", outputs=["labels", "times"])
    check = stage_run("check", stage="verify", upstream=["graph", "bfs"])
    text = page(tmp_path / "one", [bfs, check, summary])
    assert said(text).endswith(", searches verified.")
    assert "Passed: 1 verify run of this workflow." in text
    for state in ("failed", "skipped"):
        text = page(tmp_path / state, [bfs, {**check, "state": state}, summary])
        assert said(text).endswith(", searches not verified.")


def test_a_failed_run_begins_with_what_failed_and_is_not_green(tmp_path: Path):
    """One of 60 data sets fails: its page began with another one's answer, verified, in green."""
    names = [f"g{number:02}" for number in range(60)]
    bad = {"state": "failed", "error": "g50.txt:2: no number", "hint": "write `1 2`"}
    runs = [stage_run(f"edges[dataset={name}]", **(bad if name == "g50" else {})) for name in names]
    bfs = stage_run("bfs", stage="traverse", outputs=["labels", "times"])
    check = stage_run("check", stage="verify", upstream=["graph", "bfs"])
    summary = stage_run("summary", stage="report", upstream=["bfs"], outputs=["r"])
    rows = [
        {
            **dict.fromkeys(("change", "vertices", "edges", "error"), None),
            "name": name,
            "state": "failed" if name == "g50" else "done",
            "stages": {"computed": 1} | ({"failed": 1} if name == "g50" else {}),
            "seconds": 1.0,
            "location": f"{name}.txt",
        }
        for name in names
    ]
    text = page(tmp_path, [*runs, bfs, check, summary], state="failed", datasets=rows)
    assert "<title>FAILED: sample" in text
    assert said(text) == "1 of 60 data sets FAILED: g50; 62 of 63 stage runs are done."
    body = text.partition("<body")[2]
    order = [
        body.index(part) for part in ("data sets FAILED", "no number", "searches verified.", "Data sets")
    ]
    assert order == sorted(order)
    assert '<section class="answer passed' not in body
    table = body.partition('aria-label="Data sets"')[2].partition("</table>")[0]
    assert table.partition("<tbody>")[2].partition("</tr>")[0].count("g50") == 2
    assert '<td class="failed">failed</td>' in table.partition("</tr>\n<tr")[0]
    stages = body.partition('aria-label="Stage runs"')[2].partition("<tbody>")[2]
    assert stages.strip().startswith('<tr id="run-edges[dataset=g50]">')


def test_many_failures_are_counted(tmp_path: Path):
    runs = [stage_run(f"edges[dataset=g{number}]", state="failed", error="lost") for number in range(60)]
    text = page(tmp_path, runs, state="failed")
    assert said(text) == "edges[dataset=g0] and 59 more FAILED; 0 of 60 stage runs are done."
    assert text.count('<section id="failure-') == 10
    assert "And 50 more, which stand first" in text


def test_a_run_that_failed_as_a_whole_says_so(tmp_path: Path):
    text = page(tmp_path, [stage_run("graph")], state="failed", problem="the disk is full")
    assert said(text) == "The run FAILED (the disk is full): 1 of 1 stage runs are done."
    assert '<div class="answer FAILED">' in text
