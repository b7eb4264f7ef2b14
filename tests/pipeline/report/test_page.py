"""The page of a run: complete, self-contained, safe against what a workflow may be called, small."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest

import gravel.pipeline.report.page
from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.report.tables import cell_text
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.scalars import to_text
from gravel.stages.artifacts import VertexIds
from tests.pipeline.run_records import whole


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append(data.strip())


def stage(key: str, **values: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "key": key,
        "stage": key,
        "upstream": [],
        "state": "computed",
        "seconds": 1.25,
        "outputs": [],
        "bytes": 2048,
        "peak_host_bytes": None,
        "why": [],
        "error": None,
    }
    return plain | values


def record(*stages: dict[str, Any]) -> dict[str, Any]:
    workflow = {"name": "<b>sly</b>", "about": "a & b", "path": "w.yaml", "parameters": {"scale": 4}}
    return {
        "run": "r1",
        "workflow": workflow,
        "started": "2026-11-20T10:00:00",
        "seconds": 3.5,
        "machine": {"cpu": "a test"},
        "stages": list(stages),
    }


def cache(sections: list[dict[str, Any]]) -> Cache:
    kinds = {"ids": "VertexIds", "report": "Report"}
    attributes = {"title": "Findings", "sections": sections}
    ids = VertexIds(ids=numpy.array([10, 99]), vertex_count=2)
    return cast(
        "Cache",
        SimpleNamespace(
            describe=lambda name: SimpleNamespace(kind=kinds[name], attributes=attributes),
            open=lambda name: ids,
        ),
    )


def make(tmp_path: Path, sections: list[dict[str, Any]]) -> tuple[Page, dict[str, Any]]:
    run = record(
        stage("ingest", outputs=["ids"]),
        stage("bfs", upstream=["ingest"]),
        stage("check", state="failed", error="vertex 7 has the wrong level", why=["input changed"]),
        stage("report", upstream=["bfs"], outputs=["report"], state="cached"),
    )
    path = write_run_report(tmp_path, run, cache(sections))
    page = Page()
    page.feed(path.read_text())
    return page, json.loads((tmp_path / "report.json").read_text())


TABLE = {
    "kind": "table",
    "title": "Searches",
    "about": "told",
    "columns": ["run", "source", "ms", "result"],
    "rows": [["bfs", {"vertex": 1}, 1234.5678, "passed"], ["bfs", {"vertex": 0}, None, "FAILED"]],
}
FIGURE = {
    "kind": "figure",
    "title": "Picture",
    "about": "",
    "svg": "<svg role='img'></svg>",
    "data": {"x": [1]},
}


def test_everything_is_on_the_page_and_vertices_have_the_inputs_names(tmp_path: Path):
    page, data = make(tmp_path, [TABLE, FIGURE])
    for word in (
        "<b>sly</b>: run r1",
        "<b>sly</b>",
        "a & b",
        "scale: 4",
        "Findings",
        "Searches",
        "told",
        "1,235",
        "99",
        "10",
    ):
        assert any(word == text or word in text for text in page.words), word
    assert "vertex 7 has the wrong level" in page.words
    assert "input changed" in page.words
    assert "svg" in page.tags
    assert page.links
    assert all(link.startswith("#") for link in page.links)  # nothing comes from elsewhere
    rows = data["reports"][0]["sections"][0]["rows"]
    assert [row[1] for row in rows] == [99, 10]


def test_a_page_that_grows_too_large_drops_pictures_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gravel.pipeline.report.page, "SIZE_LIMIT", 70_000)
    large = FIGURE | {"svg": f"<svg><desc>{'x' * 50_000}</desc></svg>"}
    make(tmp_path, [TABLE, large, large])
    text = (tmp_path / "report.html").read_text()
    assert len(text) < 70_000
    assert "Left out to keep this page small" in text
    assert text.count("<desc>") == 1


def test_cells():
    assert cell_text(1234567) == "1,234,567"
    assert cell_text(1234567, "source") == "1234567"
    for column in ("vertex with the largest", "close: vertex", "edges: source", "edges: target"):
        assert cell_text(1684, column) == "1684", column
    assert cell_text(0.000123456) == "0.000123"
    assert [cell_text(each) for each in (1.5, 100.0, 99.96, 999.7, 0.0)] == [
        "1.50",
        "100",
        "100",
        "1,000",
        "0",
    ]
    assert cell_text(None) == ""
    assert cell_text(True) == "yes"


def test_parameters_are_written_as_in_a_workflow_file():
    assert to_text({"rmat": {"scale": 4, "on": True}, "files": {}, "none": None}) == (
        "{rmat: {scale: 4, on: true}, files: {}, none: null}"
    )
    assert to_text([1, "two", {"a": 0.5}]) == "[1, two, {a: 0.5}]"


def test_columns_that_say_the_same_in_every_row_are_said_once(tmp_path: Path):
    table = {
        "kind": "table",
        "title": "Many",
        "about": "",
        "columns": ["run", "backend", "nothing", "ms", "result"],
        "rows": [[f"r{row}", "cpu", None, float(row), "passed"] for row in range(5)],
    }
    page, data = make(tmp_path, [table])
    assert "In every row: backend cpu." in page.words
    assert "backend" not in page.words
    assert "nothing" not in page.words
    assert page.words.count("passed") == 5
    assert data["reports"][0]["sections"][0]["columns"] == table["columns"]


def test_what_was_reused_leads_to_the_run_that_made_it(tmp_path: Path):
    for name in ("20261120-100000-sly-0001", "20261120-110000-sly-0002"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.html").write_text("")
    old = record(stage("bfs")) | {"run": "20261120-100000-sly-0001"}
    old["workflow"] = old["workflow"] | {"parameters": {"scale": 9}}
    (tmp_path / old["run"] / "run.json").write_text(json.dumps(whole(old)))
    new = record(stage("bfs", state="cached", recipe="r")) | {"run": "20261120-110000-sly-0002"}
    made = SimpleNamespace(look_up=lambda recipe: SimpleNamespace(provenance={"run": old["run"]}))
    text = write_run_report(tmp_path / str(new["run"]), new, cast("Cache", made)).read_text()
    assert f'made by <a href="../{old["run"]}/report.html">' in text
    assert "scale: 9" in text  # what the other run was asked differently


def test_an_answer_names_vertices_by_the_ids_of_the_input(tmp_path: Path):
    answer = {
        "kind": "answer",
        "title": "Closeness of 2 vertices.",
        "verdict": "",
        "facts": [["closeness", ["largest at ", {"vertex": 1}, " (0.5)."]], ["machine", "a test"]],
    }
    page, data = make(tmp_path, [answer])
    assert "largest at 99 (0.5)." in page.words
    facts = data["reports"][0]["sections"][0]["facts"]
    assert facts == [["closeness", "largest at 99 (0.5)."], ["machine", "a test"]]


def test_code_of_an_about_is_shown_as_code(tmp_path: Path):
    run = record(stage("bfs"))
    run["workflow"] = run["workflow"] | {"about": "Try `--set scale=<9>` & more."}
    page = write_run_report(tmp_path, run, cache([])).read_text()
    assert "Try <code><span>--set</span> <span>scale=&lt;9&gt;</span></code> &amp; more." in page
    run["workflow"] = run["workflow"] | {"about": "one ` alone"}
    assert "one ` alone" in write_run_report(tmp_path, run, cache([])).read_text()


def test_reasons_after_a_colon_follow_it(tmp_path: Path):
    run = record(stage("bfs", why=["not computed before; the most similar bfs differs in:", "scale: 4 -> 5"]))
    page = write_run_report(tmp_path, run, cache([])).read_text()
    assert "the most similar bfs differs in: scale: 4 -&gt; 5" in page


def test_reports_of_one_title_are_told_apart_by_their_place_in_the_matrix(tmp_path: Path):
    keys = ("report[dataset=a]", "report[dataset=b]")
    run = record(*(stage(key, stage="report", outputs=["report"]) for key in keys))
    write_run_report(tmp_path, run, cache([TABLE | {"rows": []}]))
    reports = json.loads((tmp_path / "report.json").read_text())["reports"]
    assert [each["title"] for each in reports] == ["Findings: dataset=a", "Findings: dataset=b"]
