"""Charts by Matplotlib, for papers: small SVG in a page of its own, files, the same every time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.report.static.drawing import inline_svg, write_figures
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Report
from gravel.stages.charts import Axis, Chart, Curves, Line
from tests.pipeline.report.chart_gallery import gallery
from tests.pipeline.report.sample import record, stage_run, write_record
from tests.pipeline.samples import publish

RUN = "20261120-100000-sample-0001"
CHARTS = {section["title"]: Chart.model_validate(section["chart"]) for section in gallery()}


def curve(*values: float, title: str = "") -> Curves:
    x = tuple(range(1, len(values) + 1))
    return Curves(title=title, y=Axis(scale="log10"), lines=(Line(name="curve", x=x, y=values),))


@pytest.mark.parametrize(
    ("values", "marks"),
    [((1, 10, 100, 1000), 4), ((0.5, 30, 2000), 4), ((200, 300, 560), 4), ((90, 110), 2)],
    ids=["powers", "between", "within one decade", "one power"],
)
def test_a_logarithmic_axis_shows_powers_where_there_are_two(values: tuple[float, ...], marks: int) -> None:
    picture = inline_svg(Chart(about="a curve", panels=(curve(*values),)))
    assert picture.count('id="ytick_') == marks


def test_letters_of_all_marks_are_of_one_size() -> None:
    panels = (curve(200, 300, 560, title="low"), curve(1, 1000, title="wide"))
    picture = inline_svg(Chart(about="two curves", panels=panels))
    assert "font-size: 7px" in picture
    assert "font-size: 9px" not in picture


@pytest.mark.parametrize("title", CHARTS)
def test_pictures_have_no_ground_and_never_change(title: str) -> None:
    chart = CHARTS[title].model_copy(update={"about": 'what "it" <shows'})
    pictures = {inline_svg(chart) for _ in range(2)}
    assert len(pictures) == 1
    (picture,) = pictures
    assert picture.startswith('<svg role="img" aria-label="what \'it\' shows" ')
    assert picture.endswith("</svg>")
    assert "currentColor" in picture
    assert "#ffffff" not in picture
    assert "<metadata" not in picture


@pytest.mark.parametrize("form", ["svg", "png"])
def test_files_are_opaque_and_the_same_every_time(tmp_path: Path, form: str) -> None:
    sections = [*gallery()[:2], gallery()[-1]]
    reports = [
        {"key": "one", "sections": sections},
        {"key": "two", "sections": [*sections[:1], *sections[:1]]},
    ]
    found = [write_figures(tmp_path / name, reports, form) for name in ("a", "b")]
    names = [path.name for path in found[0]]
    assert len(set(names)) == len(sections) + 2
    assert names[-2:] == [f"two-frontier.{form}", f"two-frontier-2.{form}"]
    for one, two in zip(*found, strict=True):
        assert one.read_bytes() == two.read_bytes()
    if form == "png":
        import numpy
        from PIL import Image

        with Image.open(found[0][0]) as image:
            pixels = numpy.asarray(image.convert("RGBA"))
        assert (pixels[..., 3] == 255).all()
        assert tuple(pixels[0, 0][:3]) == (255, 255, 255)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with a run that has one report of two charts and one that is a table alone."""
    root = tmp_path / "cache"
    made = publish(Cache(root), Report(title="Charts", sections=gallery()[:2]))
    run = record(RUN, [stage_run("report") | {"stage": "report", "outputs": [made.id], "state": "cached"}])
    write_record(root, run)
    return root


def report(cache: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["report", RUN, "--cache", str(cache), *words])


def test_a_static_page_stands_beside_the_other(cache: Path) -> None:
    page = Path(report(cache).stdout.strip())
    static = Path(report(cache, "--static").stdout.strip())
    assert (page.name, static.name) == ("report.html", "report-static.html")
    text = static.read_text()
    assert text.count("<svg role=") == 2
    assert "uPlot" not in text
    assert "application/json" not in text
    assert text.count('<details class="numbers">') == 2
    assert "application/json" in page.read_text()


def test_charts_become_files(cache: Path, tmp_path: Path) -> None:
    for form in ("svg", "png"):
        done = report(cache, "--format", form, "--to", str(tmp_path / "paper" / form))
        assert done.exit_code == 0, done.output
        names = [f"frontier.{form}", f"spread.{form}"]
        assert sorted(path.name for path in (tmp_path / "paper" / form).iterdir()) == names
        assert [Path(line).name for line in done.stdout.split()] == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "x"), "--to is the folder of --format svg or png"),
        (("--format", "svg", "--static"), "--static makes a page"),
        (("--format", "svg", "--watch"), "--watch serves the page"),
        (("--static", "--watch"), "--watch serves a page with charts"),
        (("--format", "png", "--to", "/proc/none"), "could not write to '/proc/none'"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_cannot_be_is_said(cache: Path, words: tuple[str, ...], said: str) -> None:
    done = report(cache, *words)
    assert done.exit_code == 2, done.output
    assert said in done.output + done.stderr


def test_a_run_without_charts_says_so(tmp_path: Path) -> None:
    write_record(tmp_path, record(RUN, [stage_run("bfs")]))
    done = report(tmp_path, "--format", "svg", "--to", str(tmp_path / "x"))
    assert done.exit_code == 2
    assert "no report of this run has a chart" in done.stderr
    assert not (tmp_path / "x").exists()


CODE = """
import json, sys
from click.testing import CliRunner
from gravel.pipeline.cli import main
done = CliRunner().invoke(main, json.loads(sys.argv[1]))
assert done.exit_code == 0, done.output
print("matplotlib" in sys.modules)
"""


@pytest.mark.parametrize(("words", "drawn"), [(["--rebuild"], False), (["--static"], True)])
def test_matplotlib_is_imported_for_papers_alone(cache: Path, words: list[str], drawn: bool) -> None:
    command: list[Any] = ["report", RUN, "--cache", str(cache), *words]
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(command)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(drawn)


def test_without_matplotlib_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RequestError, match="drawn by Matplotlib, which is not installed") as found:
        inline_svg(next(iter(CHARTS.values())))
    assert "gravel[plots]" in (found.value.problems[0].hint or "")
