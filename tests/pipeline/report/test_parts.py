"""The chart of a profiled run in its page, drawn by a real browser in light and dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.report.parts import MAX_DATA_SETS, MAX_STAGES, joined_reports, profile_report
from tests.pipeline.cli.test_run import gravel
from tests.pipeline.report.browser import DARK, LIGHT, ask, needs_browser

WORKFLOW = """\
workflow: roads
stages:
  edges: {stage: ingest, source: {rmat: {scale: 6, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, sources: {random: 1}}
"""

READ = """
addEventListener("load", () => {
  const charts = [...document.querySelectorAll("figure.chart")];
  const figure = charts.find(each => each.dataset.title === "Where the time went");
  const canvas = figure.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let painted = 0;
  for (let at = 3; at < pixels.length; at += 4) painted += pixels[at] > 0;
  parent.postMessage(JSON.stringify({
    legend: [...figure.querySelectorAll(".legend li")].map(each => each.textContent),
    heads: [...figure.querySelectorAll("th")].map(each => each.textContent),
    rows: [...figure.querySelectorAll("tbody tr")].map(each => each.cells[0].textContent),
    painted, right: canvas.getBoundingClientRect().right, width: innerWidth,
  }), "*");
});
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.yaml").write_text(WORKFLOW)
    return tmp_path


def page(folder: Path, *options: str) -> Path:
    gravel("run", "roads.yaml", "--cache", "cache", "--cluster", "inline", "-q", *options)
    return max((folder / "cache" / "runs").glob("*/report.html"), key=lambda each: each.stat().st_mtime)


def stage(number: int, seconds: float) -> dict[str, Any]:
    spans = [
        {"what": "read", "began": 10.0, "seconds": 0.1 * seconds},
        {"what": "compute", "began": 10.0 + 0.1 * seconds, "seconds": 0.6 * seconds},
        {"what": "compile", "began": 10.0 + 0.1 * seconds, "seconds": 0.2 * seconds},
        {"what": "write", "began": 10.0 + 2 * seconds, "seconds": seconds},
    ]
    head = {"key": f"s{number}", "state": "computed", "started": 10.0, "seconds": seconds, "upstream": []}
    return {**head, "bytes": 1 << 20, "bytes_on_disk": 1 << 19, "spans": spans}


def test_the_parts_add_up_to_the_seconds_of_a_stage() -> None:
    [report] = profile_report({"stages": [stage(1, 1.0)]})
    chart, table = report["sections"]
    assert chart["data"] == [
        {"stage": "s1", "waited": 0.0, "read": 0.1, "compiled": 0.2, "computed": 0.4, "copied": 0.0}
        | {"digested": 0.0, "wrote": 1.0, "other": 0.3}
    ]
    [panel] = chart["chart"]["panels"]
    assert panel["stacked"] is True
    assert [each["name"] for each in panel["series"]] == ["read", "compiled", "computed", "wrote", "other"]
    assert table["rows"] == [["s1", 1.0, 1.0, 0.5, 0.5]]


def test_the_whole_run_has_a_chart_of_its_own() -> None:
    spans = [
        {"what": "plan", "began": 9.0, "seconds": 0.25},
        {"what": "load", "began": 9.5, "seconds": 2.0},
        {"what": "publish", "began": 11.0, "seconds": 0.5},
    ]
    [report] = profile_report({"stages": [stage(1, 1.0)], "spans": spans})
    _, chart, _ = report["sections"]
    assert {each["part"]: each["seconds"] for each in chart["data"]} == {
        "plan": 0.25,
        "other, before the first stage": 0.75,
        "all stages": 1.0,
        "publish": 0.5,
        "other, after the last stage": 0.0,
        "load, on another thread": 2.0,
    }
    [panel] = chart["chart"]["panels"]
    assert panel["names"] == [each["part"] for each in chart["data"]]


def test_of_many_stage_runs_the_longest_are_drawn() -> None:
    stages = [stage(number, 0.01 * (number + 1)) for number in range(100)]
    [report] = profile_report({"stages": stages})
    chart = report["sections"][0]
    assert len(chart["data"]) == MAX_STAGES
    assert chart["data"][0]["stage"] == "s60"
    assert f"The {MAX_STAGES} longest of 100 are shown." in chart["about"]


def test_only_a_profiled_run_has_the_chart(folder: Path) -> None:
    assert "Where the time went" not in page(folder).read_text()
    text = page(folder, "--profile", "--force", "graph").read_text()
    assert text.count('data-title="Where the time went"') == 1
    assert "No report was asked for; 3 of 3 stage runs are done." in text, "the profile is no answer"


@needs_browser
@pytest.mark.parametrize(("scheme", "width"), [(LIGHT, 1000), (DARK, 390)])
def test_a_browser_draws_it_with_its_table(folder: Path, tmp_path: Path, scheme: int, width: int) -> None:
    made = page(folder, "--profile")
    report = json.loads(made.with_suffix(".json").read_text())["reports"][-1]
    assert report["key"] == "profile"
    found = ask(made, tmp_path / "profile", READ, width, scheme, unfold=True)
    assert {"computed", "wrote"} <= set(found["legend"])
    assert found["heads"][0] == "stage run"
    assert set(found["legend"]) == set(found["heads"][1:])
    assert found["rows"] == ["edges", "graph", "bfs"]
    assert found["painted"] > 2_000
    assert found["right"] <= found["width"]


def _report(name: str, verdict: str = "passed") -> dict[str, Any]:
    facts = [["machine", "a test"], ["time", f"{name} ms"]]
    title = f"BFS from {name}, searches verified."
    answer = {
        "kind": "answer",
        "title": title,
        "part": "answer",
        "about": "",
        "verdict": verdict,
        "facts": facts,
    }
    rows = {"kind": "table", "title": "Graphs", "part": "details", "about": "", "columns": ["run"]}
    chart = {"kind": "figure", "title": f"Frontier of {name}", "part": "details", "chart": None}
    sections = [answer, {**rows, "rows": [[name]]}, chart]
    return {"key": f"summary[dataset={name}]", "title": f"BFS: dataset={name}", "sections": sections}


def test_reports_of_many_data_sets_are_rows_of_their_tables() -> None:
    names = [f"g{place}" for place in range(MAX_DATA_SETS + 1)]
    alone = {"key": "other", "title": "Other", "sections": []}
    joined, other = joined_reports([*map(_report, names), alone])
    assert other is alone
    assert (joined["key"], joined["title"]) == ("summary", "BFS")
    answer, answers, graphs = joined["sections"]
    assert (answer["title"], answer["verdict"]) == ("9 data sets, all verified.", "passed")
    assert answer["facts"] == [["machine", "a test"]]
    assert answers["columns"] == ["data set", "answer", "time"]
    assert answers["rows"][1] == ["g1", "BFS from g1, searches verified.", "g1 ms"]
    assert graphs["rows"] == [[name] for name in names]
    failed = joined_reports([*map(_report, names), _report("bad", "FAILED")])[0]["sections"][0]
    assert (failed["title"], failed["verdict"]) == ("10 data sets, verification FAILED.", "FAILED")


def test_reports_of_few_data_sets_stay_apart() -> None:
    few = [_report(f"g{place}") for place in range(MAX_DATA_SETS)]
    assert joined_reports(few) == few
