"""The page of a run: complete, self-contained, safe against what a workflow may be called, small."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest
from click.testing import CliRunner

import gravel.pipeline.report.page
from gravel.pipeline.cli import main
from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.report.tables import cell_text
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.artifacts import VertexIds
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from tests.pipeline.report.sample import record, stage_run
from tests.pipeline.run_records import whole
from tests.stages.measured import searched


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


def sly(*stages: dict[str, Any]) -> dict[str, Any]:
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
    run = sly(
        stage_run("ingest", outputs=["ids"]),
        stage_run("bfs", upstream=["ingest"]),
        stage_run("check", state="failed", error="vertex 7 has the wrong level", why=["input changed"]),
        stage_run("report", upstream=["bfs"], outputs=["report"], state="cached"),
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
    **{"kind": "figure", "title": "Picture", "about": "", "data": {"x": [1]}},
    "svg": "<svg role='img'></svg>",
}


def test_everything_is_on_the_page_and_vertices_have_the_inputs_names(tmp_path: Path):
    page, data = make(tmp_path, [TABLE, FIGURE])
    words = ("<b>sly</b>: run r1", "a & b", "scale: 4", "Findings", "Searches", "told", "1,235", "99", "10")
    for word in words:
        assert any(word in text for text in page.words), word
    assert "vertex 7 has the wrong level" in page.words
    assert "input changed" in page.words
    assert "svg" in page.tags
    assert page.links
    assert all(link.startswith("#") for link in page.links)  # nothing comes from elsewhere
    rows = data["reports"][0]["sections"][0]["rows"]
    assert [row[1] for row in rows] == [99, 10]


def test_a_page_that_grows_too_large_drops_pictures_and_says_so(tmp_path, monkeypatch):
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
    told = [cell_text(each) for each in (1.5, 100.0, 99.96, 999.7, 0.0)]
    assert told == ["1.50", "100", "100", "1,000", "0"]
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
    old = sly(stage_run("bfs")) | {"run": "20261120-100000-sly-0001"}
    old["workflow"] = old["workflow"] | {"parameters": {"scale": 9}}
    (tmp_path / old["run"] / "run.json").write_text(json.dumps(whole(old)))
    new = sly(stage_run("bfs", state="cached", recipe="r")) | {"run": "20261120-110000-sly-0002"}
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
    run = sly(stage_run("bfs"))
    run["workflow"] = run["workflow"] | {"about": "Try `--set scale=<9>` & more."}
    page = write_run_report(tmp_path, run, cache([])).read_text()
    assert "Try <code><span>--set</span> <span>scale=&lt;9&gt;</span></code> &amp; more." in page
    run["workflow"] = run["workflow"] | {"about": "one ` alone"}
    assert "one ` alone" in write_run_report(tmp_path, run, cache([])).read_text()


def test_reasons_after_a_colon_follow_it(tmp_path: Path):
    run = sly(
        stage_run("bfs", why=["not computed before; the most similar bfs differs in:", "scale: 4 -> 5"])
    )
    page = write_run_report(tmp_path, run, cache([])).read_text()
    assert "the most similar bfs differs in: scale: 4 -&gt; 5" in page


def test_reports_of_one_title_are_told_apart_by_their_place_in_the_matrix(tmp_path: Path):
    keys = ("report[dataset=a]", "report[dataset=b]")
    run = sly(*(stage_run(key, stage="report", outputs=["report"]) for key in keys))
    write_run_report(tmp_path, run, cache([TABLE | {"rows": []}]))
    reports = json.loads((tmp_path / "report.json").read_text())["reports"]
    assert [each["title"] for each in reports] == ["Findings: dataset=a", "Findings: dataset=b"]


RUN = "20261120-100000-sample-0001"


def page(root: Path, runs: list[dict[str, Any]], **values: Any) -> str:
    made = report(PlainContext(), ReportParameters(labels=("bfs",)), inputs=(searched("serial", 2.0),))
    found = SimpleNamespace(kind="Report", attributes={"title": "Findings", "sections": made.sections})
    cache = SimpleNamespace(describe=lambda name: found, look_up=lambda recipe: None)
    folder = root / "runs" / RUN
    folder.mkdir(parents=True)
    return write_run_report(folder, record(RUN, runs, **values), cast("Cache", cache)).read_text()


def said(text: str) -> str:
    return text.partition('<p class="says">')[2].partition("</p>")[0].replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("runs", "values", "told"),
    [
        ([stage_run("bfs"), stage_run("check", stage="verify", upstream=["graph", "bfs"], error="wrong")], {},
         "Verification FAILED: what bfs found is wrong."),
        ([stage_run("graph"), stage_run("bfs", state="failed", error="no memory")], {},
         "bfs FAILED; 1 of 2 stage runs are done."),
        ([stage_run("graph"), stage_run("bfs", state="running")], {"state": "running"},
         "No answer yet: 1 of 2 stage runs are done."),
        ([stage_run("graph")], {}, "No report was asked for; 1 of 1 stage runs are done."),
    ],
)  # fmt: skip
def test_a_run_without_a_report_says_how_it_stands(tmp_path, runs, values, told):
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
    row = {**dict.fromkeys(("change", "vertices", "edges", "error")), "seconds": 1.0}
    good = row | {"state": "done", "stages": {"computed": 1}}
    broken = row | {"state": "failed", "stages": {"computed": 1, "failed": 1}}
    rows = [(broken if name == "g50" else good) | {"name": name, "location": f"{name}.txt"} for name in names]
    text = page(tmp_path, [*runs, bfs, check, summary], state="failed", datasets=rows)
    assert "<title>FAILED: sample" in text
    assert said(text) == "1 of 60 data sets FAILED: g50; 62 of 63 stage runs are done."
    body = text.partition("<body")[2]
    parts = ("data sets FAILED", "no number", "searches verified.", "Data sets")
    order = [body.index(part) for part in parts]
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


# Two cycles of three, and one of six: every vertex of both has two neighbours.
TRIANGLES = "0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n"
HEXAGON = "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n"

WORKFLOW = """\
workflow: twins
stages:
  edges1: {stage: ingest, file: triangles.txt}
  graph1: {stage: symmetrize, input: edges1}
  edges2: {stage: ingest, file: hexagon.txt}
  graph2: {stage: symmetrize, input: edges2}
  order1: {stage: reorder, input: graph1, method: random}
  one:    {stage: traverse, input: graph1, sources: [0]}
  again:  {stage: traverse, input: order1, sources: [0]}
  two:    {stage: traverse, input: graph2, sources: [0]}
  page:   {stage: report, inputs: [graph1, graph2, order1, one, again, two]}
"""


def sections(folder: Path) -> list[dict[str, Any]]:
    (folder / "triangles.txt").write_text(TRIANGLES)
    (folder / "hexagon.txt").write_text(HEXAGON)
    (folder / "twins.yaml").write_text(WORKFLOW)
    words = ["run", str(folder / "twins.yaml"), "--cluster", "inline", "--backend", "cpu"]
    done = CliRunner().invoke(main, [*words, "--cache", str(folder / "cache")])
    assert done.exit_code == 0, done.output + done.stderr
    (report,) = (folder / "cache" / "runs").glob("*/report.json")
    (made,) = json.loads(report.read_text())["reports"]
    return made["sections"]


def test_graphs_of_equal_degrees_are_two_and_an_order_is_none_of_its_own(tmp_path: Path) -> None:
    found = sections(tmp_path)
    degrees = [each["title"] for each in found if each["title"].startswith("Degrees of")]
    assert degrees == ["Degrees of graph1", "Degrees of graph2"]
    (searched,) = (each["rows"] for each in found if each["title"] == "Graphs searched")
    assert len(searched) == 2, searched


def test_vertices_of_a_subgraph_have_their_ids_where_its_graph_is_reported_too(tmp_path: Path) -> None:
    (tmp_path / "star.txt").write_text("".join(f"{leaf} 900\n" for leaf in range(10, 30)) + "500 10\n")
    file = tmp_path / "star.yaml"
    file.write_text(
        "workflow: star\n"
        "stages:\n"
        "  edges: {stage: ingest, file: star.txt}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  part: {stage: subgraph, input: graph, vertices: [12, 13, 500, 900]}\n"
        "  rank: {stage: centrality, input: part, measure: pagerank}\n"
        "  summary: {stage: report, inputs: [graph, part, rank]}\n"
    )
    done = CliRunner().invoke(main, ["run", str(file), "--cache", str(tmp_path / "cache"), "--quiet"])
    assert done.exit_code == 0, done.output
    [page] = (tmp_path / "cache").glob("runs/*/report.html")
    shown = page.read_text()
    assert "Largest PageRank of 4 vertices: 900 (" in shown
    assert "largest at 900 (" in shown
    assert "vertex 3" not in shown
