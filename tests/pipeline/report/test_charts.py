"""Charts in a real browser: drawn, read by pointer and by keys, zoomed, printed, their numbers beneath."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.report.policy import SCRIPT
from tests.pipeline.report.browser import DARK, LIGHT, ask, console, needs_browser
from tests.pipeline.report.chart_gallery import LONG, gallery, write_gallery

PANELS = sum(len(section["chart"]["panels"]) for section in gallery())

START = """
const mouse = (target, kind, x, y) => target.dispatchEvent(new MouseEvent(kind, {bubbles: true,
  cancelable: true, clientX: x, clientY: y, movementX: 5, movementY: 5, button: 0, view: window}));
const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true,
  cancelable: true}));
const wait = ms => new Promise(done => setTimeout(done, ms));
const figure = title => [...document.querySelectorAll("figure.chart")].find(
  each => each.dataset.title === title);
const at = (title, across, down, place = 0) => {
  const over = figure(title).querySelectorAll(".u-over")[place], box = over.getBoundingClientRect();
  return [over, box.left + across * box.width, box.top + down * box.height];
};
const shown = title => [...figure(title).querySelectorAll(".values")].filter(each => !each.hidden)
  .map(each => each.textContent).join(" | ");
const inked = canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let found = 0;
  for (let place = 3; place < data.length; place += 4) found += data[place] > 40;
  return found / (data.length / 4);
};
const tell = async work => {
  try { parent.postMessage(JSON.stringify(await work()), "*"); }
  catch (error) { parent.postMessage(JSON.stringify({error: `${error.message} ${error.stack}`}), "*"); }
};
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gallery(tmp_path_factory.mktemp("gallery"))


def asked(page: Path, profile: Path, work: str, width: int = 1280, scheme: int = LIGHT) -> Any:
    script = f"{START} addEventListener('load', () => tell(async () => {{ {work} }}));"
    found = ask(page, profile, script, width, scheme)
    assert "error" not in found, found["error"]
    return found


DRAWN = """
  await wait(100);
  const plots = [...document.querySelectorAll(".plot")].map(plot => ({
    title: plot.closest("figure").dataset.title, inked: inked(plot.querySelector("canvas")),
    width: plot.getBoundingClientRect().width, label: plot.ariaLabel, role: plot.getAttribute("role"),
    tab: plot.tabIndex, right: plot.querySelector("canvas").getBoundingClientRect().right}));
  return {plots, wide: document.documentElement.scrollWidth, window: innerWidth,
    loaded: performance.getEntriesByType("resource").map(each => each.name)};
"""


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, LIGHT), (1280, DARK), (360, DARK)])
def test_every_panel_is_drawn_at_every_width_by_day_and_by_night(page, profile, width, scheme):
    found = asked(page, profile, DRAWN, width, scheme)
    assert len(found["plots"]) == PANELS
    for plot in found["plots"]:
        assert plot["inked"] > 0.005, plot
        assert plot["right"] <= width, plot
        assert plot["tab"] == 0
        assert plot["label"].startswith(plot["title"])
        assert "Arrow keys read values" in plot["label"]
    assert found["wide"] <= width
    assert found["loaded"] == []


@needs_browser
def test_the_policy_of_a_page_lets_its_charts_be_drawn(page: Path, profile: Path):
    elements, told = console(page.as_uri(), profile)
    assert told == []
    assert sum(map(int, re.findall(r'data-drawn="(\d+)"', elements))) == PANELS


HOVERED = """
  const titles = [["Frontier", 0.46, 0.3], ["Degrees", 0.3, 0.5], ["Stacked", 0.46, 0.5], ["Times", 0.5, 0.2],
    ["Bars", 0.5, 0.5], ["Maps", 0.7, 0.2], ["Matrix", 0.504, 0.504], ["Messages", 0.5, 0.5]];
  const found = {};
  for (const [title, across, down] of titles) {
    figure(title).scrollIntoView();
    mouse(at(title, across, down)[0], "mouseenter", ...at(title, across, down).slice(1));
    mouse(...[at(title, across, down)[0], "mousemove", ...at(title, across, down).slice(1)]);
    await wait(60);
    found[title] = shown(title);
  }
  return found;
"""


@needs_browser
def test_the_pointer_reads_values(page: Path, profile: Path):
    found = asked(page, profile, HOVERED)
    assert found["Frontier"] == "level 5vertex frontier90,000edge frontier810,000logical540,000"
    assert found["Degrees"] == "degree 4 to 7vertices500"
    assert found["Stacked"] == "level 5local computation2delegate reduction1exchange0.667"
    assert found["Times"] == "serialmedian30 (28 to 35)"
    assert found["Bars"].startswith("kron1 ranks1")
    assert found["Maps"] == "a, varintms20"
    assert found["Matrix"] == "rows 500,000 to 510,415columns500,000 to 510,415shade15 of 15"
    assert found["Messages"].startswith("bytes of a message 16 KiBpeer3.28")


KEYED = """
  const plot = title => figure(title).querySelector(".plot");
  const read = async (title, ...names) => {
    for (const name of names) { key(plot(title), name); await wait(20); }
    return figure(title).querySelector(".voice").textContent;
  };
  const zoomed = title => !figure(title).querySelector(".reset").hidden;
  plot("Frontier").focus();
  const outline = getComputedStyle(plot("Frontier")).outlineStyle;
  const found = {outline, first: await read("Frontier", "ArrowRight"),
    next: await read("Frontier", "ArrowRight"), end: await read("Frontier", "End"),
    before: await read("Frontier", "ArrowLeft")};
  found.rows = await read("Times", "ArrowDown", "ArrowDown", "ArrowDown");
  found.cells = await read("Maps", "ArrowRight", "ArrowDown", "ArrowRight");
  found.plain = zoomed("Frontier");
  await read("Frontier", "+", "+");
  found.zoomed = zoomed("Frontier");
  await read("Frontier", "-");
  found.less = zoomed("Frontier");
  await read("Frontier", "0");
  found.all = zoomed("Frontier");
  await read("Frontier", "-", "-");
  found.beyond = zoomed("Frontier");
  plot("Frontier").dispatchEvent(new FocusEvent("blur"));
  found.left = shown("Frontier");
  return found;
"""


@needs_browser
def test_keys_read_values_and_zoom(page: Path, profile: Path):
    found = asked(page, profile, KEYED)
    assert found["outline"] != "none"
    assert found["first"] == "level 0: vertex frontier 1, edge frontier 9, logical 6"
    assert found["next"].startswith("level 1: vertex frontier 8")
    assert found["end"].startswith("level 11: vertex frontier 0")
    assert found["before"].startswith("level 10: vertex frontier 3")
    assert found["rows"] == f"{LONG}: median 0.9 (0.8 to 1)"
    assert found["cells"].startswith("b, varint")
    zooms = [found[name] for name in ("plain", "zoomed", "less", "all", "beyond")]
    assert zooms == [False, True, True, False, False]
    assert found["left"] == ""


DRAGGED = """
  const drag = async (title, from, to) => {
    figure(title).scrollIntoView();
    const [over, x, y] = at(title, ...from), [, across, down] = at(title, ...to);
    mouse(over, "mousemove", x, y);
    mouse(over, "mousedown", x, y);
    mouse(over, "mousemove", across, down);
    mouse(document, "mouseup", across, down);
    await wait(60);
    return !figure(title).querySelector(".reset").hidden;
  };
  const found = {};
  for (const title of ["Frontier", "Times", "Matrix"]) {
    found[title] = [await drag(title, [0.3, 0.3], [0.6, 0.9])];
    figure(title).querySelector(".reset").click();
    await wait(60);
    found[title].push(!figure(title).querySelector(".reset").hidden);
  }
  found.again = await drag("Frontier", [0.3, 0.3], [0.6, 0.32]);
  const [over, x, y] = at("Frontier", 0.5, 0.5);
  mouse(over, "dblclick", x, y);
  await wait(60);
  found.double = !figure("Frontier").querySelector(".reset").hidden;
  const button = [...figure("Frontier").querySelectorAll(".legend button")].find(
    each => each.textContent === "edge frontier");
  button.focus();
  button.click();
  const press = [...figure("Frontier").querySelectorAll(".legend button")].map(each => each.ariaPressed);
  await wait(60);
  key(figure("Frontier").querySelector(".plot"), "ArrowRight");
  found.hidden = [press, document.activeElement.textContent, shown("Frontier")];
  return found;
"""


@needs_browser
def test_a_drag_zooms_a_button_shows_all_and_the_legend_hides(page: Path, profile: Path):
    found = asked(page, profile, DRAGGED)
    for title in ("Frontier", "Times", "Matrix"):
        assert found[title] == [True, False], title
    assert found["again"]
    assert not found["double"]
    press, focused, values = found["hidden"]
    assert press == ["true", "false", "true"]
    assert focused == "edge frontier"
    assert values == "level 0vertex frontier1logical6"


PRINTED = """
  await wait(50);
  const colors = () => getComputedStyle(document.body).backgroundColor;
  const sizes = () => [...document.querySelectorAll(".uplot")].map(
    each => each.getBoundingClientRect().width);
  const before = [colors(), Math.max(...sizes())];
  dispatchEvent(new Event("beforeprint"));
  await wait(50);
  const paper = [colors(), Math.max(...sizes()), document.querySelectorAll(".drawn.paper").length,
    Math.min(...[...document.querySelectorAll(".plot canvas")].map(inked))];
  dispatchEvent(new Event("afterprint"));
  await wait(50);
  return {before, paper, after: [colors(), Math.max(...sizes())]};
"""


@needs_browser
def test_paper_gets_charts_of_its_own_in_daylight(page: Path, profile: Path):
    found = asked(page, profile, PRINTED, 1280, DARK)
    assert found["before"][0] == "rgb(20, 24, 30)"
    assert found["paper"][0] == "rgb(255, 255, 255)"
    assert found["paper"][1] <= 640
    assert found["paper"][2] == len(gallery())
    assert found["paper"][3] > 0.005
    assert found["after"] == found["before"]


REPLACED = """
  await wait(50);
  const main = document.querySelector("main");
  const page = new DOMParser().parseFromString(document.documentElement.outerHTML, "text/html");
  page.querySelectorAll(".drawn").forEach(each => each.remove());
  main.replaceWith(page.querySelector("main"));
  const before = document.querySelectorAll("canvas").length;
  document.dispatchEvent(new Event("gravel:replaced"));
  await wait(50);
  return {before, inked: [...document.querySelectorAll(".plot canvas")].map(inked)};
"""


@needs_browser
def test_a_page_that_follows_its_run_draws_what_is_new(page: Path, profile: Path):
    found = asked(page, profile, REPLACED)
    assert found["before"] == 0
    assert len(found["inked"]) == PANELS
    assert min(found["inked"]) > 0.005
    assert "gravel:replaced" in SCRIPT


def test_the_numbers_are_there_without_a_script(page: Path):
    text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert text.count('<details class="numbers">') == len(gallery())
    heading = '<th scope="col" class="number">vertex frontier</th>'
    for word in ("810,000", heading, LONG, "median quartile, low"):
        assert word in text, word
    assert text.count("Charts need JavaScript; the numbers are in the table.") == len(gallery())


def test_data_cannot_leave_its_place(tmp_path: Path):
    hostile = "</script><script>document.documentElement.id='taken'</script><!--"
    section = next(each for each in gallery() if each["title"] == "Times")
    chart = json.loads(json.dumps(section["chart"]).replace("two_phase", hostile))
    text = write_gallery(tmp_path, [{**section, "title": hostile, "chart": chart}]).read_text()
    assert "<script>document" not in text
    assert "<!--" not in text
    data = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data[0])["panels"][0]["names"][1] == hostile


@pytest.mark.parametrize(
    "change",
    [
        {"panels": []},
        {"panels": [{"kind": "pie"}]},
        {"panels": [{"kind": "curves", "lines": [{"name": "a", "x": [1, 2], "y": [1]}]}]},
        {"panels": [{"kind": "curves", "lines": [{"name": "a", "x": [float("inf")], "y": [1]}]}]},
        {"panels": [{"kind": "curves", "lines": [{"name": "a", "x": [1], "y": [1], "color": 8}]}]},
        {"panels": [{"kind": "rows", "names": ["a"], "series": [{"name": "b", "values": [1, 2]}]}]},
        {"panels": [{"kind": "cells", "shades": ["0g"]}]},
        {"panels": [{"kind": "cells", "shades": ["00", "0"]}]},
        {"script": "x"},
    ],
    ids=range(9),
)
def test_a_chart_that_is_none_is_left_out_with_a_word(tmp_path: Path, change: dict[str, Any]):
    section = gallery()[0]
    text = write_gallery(tmp_path, [{**section, "chart": {**section["chart"], **change}}]).read_text()
    assert "Left out: its chart cannot be shown: " in text
    assert "application/json" not in text
