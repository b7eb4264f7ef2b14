"""Reading a report in a real browser: the answer on the first screen, keys, contrast, and every width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.report.page import SIZE_LIMIT
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Verification
from tests.pipeline.report.browser import DARK, LIGHT, ask, needs_browser
from tests.pipeline.report.sample import write_report
from tests.stages.measured import searched

pytestmark = needs_browser

FIRST_SCREEN = 800
"""Pixels of height that a small desktop window shows of a page."""

READABLE = 4.5
"""Contrast that WCAG 2 asks for at level AA."""

PASSED = Verification(
    algorithm="bfs", checks=[{"check": "tree", "passed": True, "searches": 2, "detail": ""}]
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of 27 experiments on three graphs."""
    inputs: dict[str, Artifact] = {}
    for graph in ("one", "two", "three"):
        for place, order in enumerate(("original", "rcm", "degree")):
            for layout in ("csr", "varint", "blocks"):
                at = f"[graph={graph},order={order},layout={layout}]"
                inputs[f"bfs{at}"] = searched("serial", 3.0 - place, graph=graph)
                inputs[f"check{at}"] = PASSED
    return write_report(tmp_path_factory.mktemp("runs") / "20261120-100000-study-0001", {"study": inputs})


PLACES = """
addEventListener("load", () => {
  const bottom = selector => Math.max(...[...document.querySelectorAll(selector)].map(
    each => each.getBoundingClientRect().bottom + scrollY));
  parent.postMessage(JSON.stringify({
    says: bottom(".says"), facts: bottom(".answer dl"), chart: bottom(".answer figure"),
    text: document.querySelector(".answer").innerText,
    order: [...document.querySelectorAll(".answer, #results, #stage-runs, #details")].map(
      each => each.id || "answer"),
    height: document.documentElement.scrollHeight,
    titles: [...document.querySelectorAll("main h3")].map(each => each.textContent),
    open: document.querySelectorAll("details[open]").length}), "*");
});
"""


def test_the_answer_stands_on_the_first_screen(study: Path, profile: Path):
    found = ask(study, profile, PLACES, 1280, LIGHT)
    assert found["order"] == ["answer", "results", "stage-runs", "details"]
    assert max(found["says"], found["facts"], found["chart"]) < FIRST_SCREEN
    for word in (
        "BFS over 3 graphs of 31 vertices, 27 measurements",
        "GTEPS",
        "verified",
        "a test",
        "Passed:",
    ):
        assert word in found["text"], word
    assert found["open"] == 0
    assert found["height"] < 3_500
    assert len(found["titles"]) == len(set(found["titles"]))
    assert study.stat().st_size < 500_000


WIDTHS = """
addEventListener("load", () => parent.postMessage(JSON.stringify({
  wide: document.documentElement.scrollWidth, window: innerWidth}), "*"));
"""


@pytest.mark.parametrize("width", [320, 768, 2560])
def test_no_page_is_scrolled_sideways(sample: tuple[Path, list[str]], profile: Path, width: int):
    found = ask(sample[0], profile, WIDTHS, width, LIGHT, unfold=True)
    assert found == {"wide": width, "window": width}


CONTRAST = """
const numbers = color => color.match(/[\\d.]+/g).map(Number);
const light = color => {
  const [r, g, b] = numbers(color).slice(0, 3).map(each => each / 255).map(
    each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = each => {
  for (let at = each; at; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if ((numbers(color)[3] ?? 1) > 0.99) return color;
  }
  return "rgb(255, 255, 255)";
};
addEventListener("load", () => {
  const poor = [];
  let seen = 0;
  for (const each of document.querySelectorAll("main *:not(svg, svg *)")) {
    const own = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !each.getClientRects().length) continue;
    seen += 1;
    const pair = [light(getComputedStyle(each).color), light(behind(each))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < LEAST) poor.push([each.textContent.trim().slice(0, 40), ratio]);
  }
  parent.postMessage(JSON.stringify({poor, seen}), "*");
});
"""


@pytest.mark.parametrize("scheme", [DARK, LIGHT])
def test_words_stand_out_from_their_ground(sample: tuple[Path, list[str]], profile: Path, scheme: int):
    script = CONTRAST.replace("LEAST", str(READABLE))
    found = ask(sample[0], profile, script, 1280, scheme, unfold=True)
    assert found["seen"] > 200
    assert found["poor"] == []


KEYS = """
addEventListener("load", () => {
  const table = document.querySelector(".table table"), holder = table.closest(".table");
  const column = place => [...table.tBodies[0].rows].map(row => row.cells[place].textContent);
  const headings = [...table.tHead.rows[0].cells].map(each => each.textContent);
  const place = headings.indexOf("median ms");
  const button = table.tHead.rows[0].cells[place].querySelector("button");
  button.focus();
  const outline = getComputedStyle(document.activeElement).outlineStyle;
  button.click();
  const up = column(place), said = button.closest("th").ariaSort;
  button.click();
  const down = column(place);
  const field = holder.querySelector("input");
  field.value = "rcm VARINT";
  field.dispatchEvent(new Event("input", {bubbles: true}));
  const shown = [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[1].textContent);
  const scrollers = [...document.querySelectorAll("main *")].filter(each =>
    each.scrollWidth > each.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(each).overflowX));
  parent.postMessage(JSON.stringify({outline, up, down, said, shown,
    output: holder.querySelector("output").textContent,
    focused: document.activeElement === button,
    stuck: scrollers.filter(each => each.tabIndex < 0).map(each => each.className)}), "*");
});
"""


def test_tables_are_sorted_and_filtered_by_keys(study: Path, profile: Path):
    found: dict[str, Any] = ask(study, profile, KEYS, 700, LIGHT)
    assert found["focused"]
    assert found["outline"] != "none"
    assert found["up"] == ["1.00"] * 9 + ["2.00"] * 9 + ["3.00"] * 9
    assert found["down"] == found["up"][::-1]
    assert found["said"] == "ascending"
    assert found["shown"] == ["rcm"] * 3
    assert found["output"] == "3 of 27 rows"
    assert found["stuck"] == []


def test_a_thousand_experiments_stay_a_page(tmp_path: Path, profile: Path):
    inputs: dict[str, Artifact] = {
        f"bfs[one=a{a},two=b{b}]": searched("serial", 1.0 + a + b / 50, graph=f"g{a}")
        for a in range(20)
        for b in range(50)
    }
    page = write_report(tmp_path / "runs" / "20261120-100000-many-0001", {"many": inputs})
    assert page.stat().st_size < SIZE_LIMIT
    found = ask(page, profile, PLACES, 1280, LIGHT)
    assert "BFS over 20 graphs of 31 vertices, 1,000 measurements" in found["text"]
    assert found["facts"] < FIRST_SCREEN
    assert found["height"] < 5_000
