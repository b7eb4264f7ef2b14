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
from tests.pipeline.report_sample import record, stage_run
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
            "No answer: bfs failed, and 1 of 2 stage runs are done.",
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
    assert said(text).endswith(", verified.")
    assert "Passed: 1 verify run of this workflow." in text
    for state in ("failed", "skipped"):
        text = page(tmp_path / state, [bfs, {**check, "state": state}, summary])
        assert said(text).endswith(", not verified.")
