"""Pages run no script but gravel's own and uPlot's, whatever the artifacts hold that they are made from."""

from __future__ import annotations

import base64
import hashlib
import re
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.report.links import find_page
from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.report.policy import HERE, TABLES, chart_script
from gravel.pipeline.report.server import report_server
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Report
from tests.pipeline.report.browser import console, needs_browser
from tests.pipeline.report.chart_gallery import write_gallery
from tests.pipeline.report.sample import record, running, stage_run, write_record
from tests.pipeline.samples import publish

MARK = "document.documentElement.id='taken'"
RUN = "20261120-100000-sample-0001"
HOSTILE = [
    f"<svg><script>{MARK}</script></svg>",
    f'<svg onload="{MARK}"><g/></svg>',
    f"<svg><image xlink:href='x' onerror=\"{MARK}\"/></svg>",
    f"<svg><foreignObject><img src='x' onerror=\"{MARK}\"/></foreignObject></svg>",
    f'<svg><a xlink:href="javascript:{MARK}"><text>press</text></a></svg>',
    f"<svg><set attributeName='onmouseover' to=\"{MARK}\"/></svg>",
    "<svg><use href='https://example.org/x.svg#a'/><image href='https://example.org/x.png'/></svg>",
    "<svg><image href='data:image/svg+xml;base64,PHN2Zy8+'/></svg>",
    "<svg><style>main{display:none} @import 'https://example.org/x.css'</style></svg>",
    "<svg style='position:fixed;fill:url(https://example.org/x)'><g fill='url(//example.org/x)'/></svg>",
    f"<svg><title>&lt;/title&gt;&lt;img src=x onerror={MARK}&gt;</title></svg>",
    f"<svg><title><img src='x' onerror=\"{MARK}\"/></title></svg>",
    f"<svg><text>&lt;script&gt;{MARK}&lt;/script&gt;</text></svg>",
    f"<svg><desc><style>&lt;img src=x onerror={MARK}&gt;</style></desc></svg>",
    f"</figure><script>{MARK}</script>",
    f'<img src=x onerror="{MARK}">',
    "<!DOCTYPE svg [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><svg><text>&b;</text></svg>",
    f"<html><body><script>{MARK}</script></body></html>",
    "<svg>" + "<g>" * 5000 + "</g>" * 5000 + "</svg>",
]
RUNS = "script foreignobject iframe object embed img set animate base form".split()  # noqa: SIM905


class Seen(HTMLParser):
    """What of a page could run or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.feed(text.replace(f"<script>{TABLES}</script>", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in RUNS:
            self.bad.append(tag)
        for name, value in attrs:
            text = (value or "").lower()
            away = "//" in text.replace("http://www.w3.org/", "")
            if name.startswith("on") or "javascript:" in text or away:
                self.bad.append(f"{tag} {name}={value}")


def hostile_page(root: Path, figures: list[str]) -> Path:
    """Write the page of a run whose report came with these figures."""
    sections: list[dict[str, Any]] = [
        {"kind": "figure", "title": f"F{place}", "about": f"<script>{MARK}</script>", "svg": svg}
        for place, svg in enumerate(figures)
    ]
    made = publish(Cache(root), Report(title=f"<img src=x onerror={MARK}>", sections=sections))
    run = record(RUN, [stage_run("report") | {"stage": "report", "outputs": [made.id], "state": "cached"}])
    return write_run_report(write_record(root, run), run, Cache(root))


@pytest.mark.parametrize("svg", HOSTILE, ids=range(len(HOSTILE)))
def test_figures_are_cleaned(tmp_path: Path, svg: str):
    text = hostile_page(tmp_path, [svg]).read_text()
    assert Seen(text).bad == []
    assert "example.org" not in text
    assert "position:fixed" not in text
    assert "F0" in text


def test_a_figure_that_is_none_is_left_out_with_a_word(tmp_path: Path):
    text = hostile_page(tmp_path, ["<img src=x>", "<svg><g></svg>"]).read_text()
    assert text.count("Left out: its figure cannot be shown: it is not well-formed") == 2


@pytest.mark.parametrize(
    "sections",
    [
        "no list",
        [None],
        [{}],
        [{"kind": "table", "title": 1}],
        [{"kind": "table", "title": "t", "columns": ["a"], "rows": [[1, 2]]}],
        [{"kind": "table", "title": "t", "columns": ["a"], "rows": [[{"vertex": "x"}]]}],
        [{"kind": "figure", "title": "t"}],
    ],
)
def test_what_is_no_section_is_left_out_with_a_word(tmp_path: Path, sections: Any):
    made = publish(Cache(tmp_path), Report(title="t", sections=sections))
    run = record(RUN, [stage_run("report") | {"stage": "report", "outputs": [made.id], "state": "cached"}])
    assert "Left out: it" in write_run_report(write_record(tmp_path, run), run, Cache(tmp_path)).read_text()


def test_the_state_of_a_foreign_record_stays_text(tmp_path: Path):
    run = record(RUN, [stage_run("bfs") | {"state": f'"><script>{MARK}</script>'}])
    text = write_run_report(write_record(tmp_path, run), run, Cache(tmp_path)).read_text()
    assert Seen(text).bad == []


def test_a_page_of_an_earlier_version_is_made_again(tmp_path: Path):
    page = hostile_page(tmp_path, [])
    assert find_page(page.parent) == page
    page.write_text("<!doctype html><script>alert(1)</script>")
    assert find_page(page.parent) is None


def test_the_policy_allows_gravels_script_and_nothing_else(tmp_path: Path):
    write_record(tmp_path, record(RUN, [stage_run("bfs")]))
    with (
        running(report_server(Cache(tmp_path))) as address,
        urllib.request.urlopen(f"{address}/{RUN}/report.html") as answer,
    ):
        text, sent = answer.read().decode(), dict(answer.headers)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert len(digests) == 3  # of tables, of charts that may come, and to follow the run
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    parts = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"].split() == [f"'sha256-{digests[place]}'" for place in (2, 0, 1)]
    assert (parts["img-src"], parts["base-uri"], parts["form-action"]) == ("data:", "'none'", "'none'")
    assert sent["Content-Security-Policy"] == f"{policy}; frame-ancestors 'none'"
    assert sent["X-Content-Type-Options"] == "nosniff"
    assert sent["Referrer-Policy"] == "no-referrer"


@needs_browser
def test_a_browser_has_nothing_to_say_about_a_page(sample: tuple[Path, list[str]], profile: Path):
    page, titles = sample
    elements, told = console(page.as_uri(), profile)
    assert titles[0] in elements
    assert told == []


@needs_browser
def test_a_browser_runs_nothing_of_a_figure(tmp_path: Path, profile: Path):
    page = hostile_page(tmp_path, HOSTILE)
    elements, told = console(page.as_uri(), profile)
    assert f"F{len(HOSTILE) - 1}" in elements
    assert 'id="taken"' not in elements
    assert told == []
    # Were one overlooked, the policy would still stop it.
    page.write_text(page.read_text().replace("</main>", f"<script>{MARK}</script></main>"))
    elements, told = console(page.as_uri(), profile)
    assert 'id="taken"' not in elements
    assert len(told) == 1
    assert "Content Security Policy" in told[0]


@needs_browser
def test_a_browser_runs_the_script_of_a_served_page(tmp_path: Path, profile: Path):
    write_record(tmp_path, record(RUN, [stage_run("bfs")]))
    with running(report_server(Cache(tmp_path))) as address:
        elements, told = console(f"{address}/{RUN}/report.html", profile)
    assert "bfs" in elements
    assert [line for line in told if "favicon" not in line] == []


DIGESTS = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""SHA-256 of the files of release 1.6.32."""


@pytest.mark.parametrize("name", DIGESTS)
def test_the_files_are_those_that_were_released(name: str):
    assert hashlib.sha256((HERE / "uplot" / name).read_bytes()).hexdigest() == DIGESTS[name]
    assert f"| `{name}` | `{DIGESTS[name]}` |" in (HERE / "uplot" / "README.md").read_text()


def test_a_page_holds_it_with_its_licence(tmp_path: Path):
    text = write_gallery(tmp_path).read_text()
    (script,) = re.findall(r"<script>(/\*!.*?)</script>", text, re.DOTALL)
    assert script == chart_script()
    assert "Copyright (c) 2022 Leon Sorokin" in script
    assert "Permission is hereby granted" in script
    assert "uPlot (v1.6.32)" in script
    assert "</script" not in chart_script().lower()
    assert len(script.encode()) < 100_000


def test_a_page_without_charts_has_no_script_for_them(tmp_path: Path):
    text = write_gallery(tmp_path, []).read_text()
    assert "uPlot" not in text
    assert len(text.encode()) < 30_000
