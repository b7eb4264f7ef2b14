"""Reports in a real browser: every picture drew, on a phone by night, on a desk by day, and on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.plan.drawing import Box, draw_svg
from gravel.pipeline.report import server
from gravel.pipeline.report.page import SIZE_LIMIT
from gravel.pipeline.report.server import report_server
from gravel.pipeline.store.cache import Cache
from tests.pipeline.report.browser import DARK, LIGHT, browse, look, needs_browser, photograph, unfolded
from tests.pipeline.report.sample import record, running, stage_run, write_record, write_sample

pytestmark = needs_browser

PAPER = {DARK: (20, 24, 30), LIGHT: (255, 255, 255)}


@pytest.mark.parametrize(("width", "scheme"), [(390, DARK), (1280, LIGHT)])
def test_every_picture_drew(sample: tuple[Path, list[str]], profile: Path, width: int, scheme: int):
    page, titles = sample
    found = look(page, profile, width, scheme, unfold=True)
    assert found["window"] == width
    assert found["wide"] <= width  # nothing but tables and wide pictures is scrolled sideways
    assert found["broken"] == []
    assert found["paper"] == f"rgb{PAPER[scheme]}"
    assert [each["title"] for each in found["pictures"]] == ["Workflow"]
    assert sorted(each["title"] for each in found["charts"]) == sorted(titles)
    assert {"Strong scaling with ranks", "Weak scaling with workers", "Sparsity of the matrix"} <= set(titles)
    for chart in found["charts"]:
        assert chart["panels"] >= 1, chart
        assert chart["width"] >= 300, chart
        assert chart["right"] <= width, chart
    whole = page.with_name("unfolded.html")
    whole.write_text(unfolded(page.read_text()))
    pixels = photograph(whole, profile, width, min(int(found["height"]), 16_000), scheme)
    # The rest of a tall chart beside an answer is scrolled to.
    seen = [each for each in found["charts"] if 0 < each["height"] < len(pixels) - each["top"]]
    assert len(seen) >= 8
    for chart in seen:
        _has_colours(pixels, chart, PAPER[scheme])


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    return write_sample(tmp_path_factory.mktemp("static") / "20261120-100000-sample-0001", static=True)


@pytest.mark.parametrize(("width", "scheme"), [(390, DARK), (1280, LIGHT)])
def test_every_drawing_of_a_static_page_drew(static, profile: Path, width: int, scheme: int):
    page, titles = static
    found = look(page, profile, width, scheme, unfold=True)
    assert found["wide"] <= width
    assert found["charts"] == []
    assert sorted(each["title"] for each in found["pictures"]) == sorted([*titles, "Workflow"])
    for picture in found["pictures"]:
        assert picture["outside"] == [], picture
        assert picture["drawn"] >= 10, picture
        assert picture["smallest"] >= 9, picture  # px, of a line of letters
        assert picture["width"] >= 300, picture


def _has_colours(pixels: Any, picture: dict[str, Any], paper: tuple[int, int, int]) -> None:
    import numpy

    top, left = int(picture["top"]), int(picture["left"])
    part = pixels[top : top + int(picture["height"]), left : left + int(picture["width"])].astype(int)
    marked = numpy.abs(part - numpy.array(paper)).max(axis=2) > 40
    coloured = part.max(axis=2) - part.min(axis=2) > 60
    assert marked.mean() > 0.003, picture
    assert coloured.sum() > 20, picture


def test_on_paper_it_is_day_and_nothing_is_cut(sample: tuple[Path, list[str]], profile: Path):
    page, _ = sample
    target = page.with_suffix(".pdf")
    options = ("--no-pdf-header-footer", "--blink-settings=preferredColorScheme=0")
    browse(page.as_uri(), profile, f"--print-to-pdf={target}", *options)
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", target.read_bytes())) <= 40


def test_it_is_small_and_asks_for_nothing(sample: tuple[Path, list[str]]):
    page, _ = sample
    text = page.read_text()
    assert len(text.encode()) < SIZE_LIMIT
    plain = text.replace("http://www.w3.org/", "")
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*//""", plain)
    assert "@import" not in plain
    assert text.count("<script>") == 2  # sorts and filters tables, and draws charts


def test_the_drawing_of_a_workflow_drew(tmp_path: Path, profile: Path):
    states = ("cached", "will run", "waits", "cannot run", "not needed", "")
    boxes = [Box("edges", "ingest", (), "cached", "not kept")]
    boxes += [Box(f"bfs[order={place}]", "traverse", ("edges",), state) for place, state in enumerate(states)]
    page = tmp_path / "dag.html"
    page.write_text(
        f"<style>:root{{color-scheme:light dark}}</style><body><figure>{draw_svg(boxes, 'w')}</figure></body>"
    )
    (picture,) = look(page, profile, 600, LIGHT)["pictures"]
    assert picture["outside"] == []
    assert picture["drawn"] == 7 * 3 + 6  # boxes with two lines each, and arrows
    fills = []
    for scheme in (DARK, LIGHT):
        pixels = photograph(page, profile, 600, 500, scheme)
        top, left = int(picture["top"]), int(picture["left"])
        fills.append(tuple(int(each) for each in pixels[top + int(picture["height"]) // 2 - 10, left + 20]))
    assert max(fills[0]) < 100 < min(fills[1])


def test_a_served_page_follows_its_run(tmp_path: Path, profile: Path, monkeypatch: pytest.MonkeyPatch):
    cache = Cache(tmp_path)
    name = "20261120-100000-sample-0001"
    going = stage_run(
        "bfs", state="running", progress={"done": 30, "total": 60, "unit": "searches", "rate": 1}
    )
    write_record(tmp_path, record(name, [going], state="running"))
    asked = []
    version = server.Pages.version

    def ends(self: server.Pages, folder: Path) -> str:
        asked.append(folder.name)
        if len(asked) == 2:  # the page was made with the first
            write_record(tmp_path, record(name, [stage_run("bfs")], seconds=77.0))
        return version(self, folder)

    monkeypatch.setattr(server.Pages, "version", ends)
    with running(report_server(cache)) as address:
        text = browse(f"{address}/{name}/report.html", profile, "--dump-dom", "--virtual-time-budget=4000")
    assert "50 % of 60 searches" not in text
    assert '<span class="done">done</span>' in text
    assert "1 min 17 s" in text or "77" in text
    assert len(asked) >= 3
