"""docs/figures.md says what the benchmark of figures runs and reads; small runs find the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.figures.__main__ import main
from tests.benchmarks.figures.model import (
    Claim,
    Figure,
    Measured,
    Row,
    above,
    below,
    between,
    measure,
    near,
    order,
)
from tests.benchmarks.figures.papers import PAPERS
from tests.benchmarks.figures.reports import Missing, Report
from tests.benchmarks.figures.rows import cells_of, command_of, into_page, row_of, table_row
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "figures.md"

FIGURES = [figure for paper in PAPERS for figure in paper.figures]

RUNS = [run for paper in PAPERS for run in paper.runs]


def rows_of_page() -> dict[int, list[str]]:
    lines = [line.strip("|").split(" | ") for line in PAGE.read_text().splitlines()]
    return {int(cells[0]): cells for cells in lines if cells[0].strip().isdigit()}


def test_the_page_has_every_figure_with_what_is_compared() -> None:
    numbers = [figure.number for figure in FIGURES]
    assert numbers == list(range(1, 28))
    assert list(rows_of_page()) == numbers
    text = PAGE.read_text()
    for figure in FIGURES:
        assert table_row(*cells_of(figure)).removesuffix(" |") in text, figure


def test_the_commands_are_printed_with_where_every_number_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--dry", "--size", "paper", "--out", str(tmp_path)]) == 0
    run, places = "", set()
    for line in capsys.readouterr().out.splitlines():
        run = run if line.startswith("#") else line
        places.add((run, line))
    commands = {run.name: command_of(run, "paper") for run in RUNS}
    for figure in FIGURES:
        for claim in figure.claims:
            place = f"# figure {figure.number}: {claim.where}"
            assert (commands[claim.run or figure.run], place) in places


def test_every_row_of_the_page_has_a_number_or_says_that_it_was_not_run() -> None:
    for number, cells in rows_of_page().items():
        ours, verdict = cells[5].split("<br>"), cells[6].strip()
        claims = next(figure for figure in FIGURES if figure.number == number).claims
        assert ours == ["not run"] or len(ours) == len(claims), number
        assert all(each == "not run" or float(each.split(" ")[0].replace(",", "")) < 1e9 for each in ours)
        assert verdict
        judged = any(word in verdict for word in ("agrees", "differs", "needs several GPUs"))
        assert (set(ours) == {"not run"}) != judged


def test_every_run_is_of_a_figure_and_the_limits_fit_in_twelve_minutes() -> None:
    used = {name for figure in FIGURES for name in (figure.run, *(claim.run for claim in figure.claims))}
    assert {run.name for run in RUNS} == used - {""}
    assert sum(run.seconds for run in RUNS) <= 720


def claim(rule: Any, ours: Any, **more: str) -> Claim:
    def found(reports: Any) -> float:
        if isinstance(ours, Exception):
            raise ours
        return ours

    return Claim("a", "b", rule, "c", found, **more)


def figure(*claims: Claim) -> Figure:
    return Figure(1, "figure 1", "what", "run", "values", claims)


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (near(4.2), 4.6, 4.7),
        (order(19), 57, 58),
        (order(19), 6.4, 6.3),
        (above(1), 1.01, 1),
        (below(-5), -5.1, -4),
        (between(0.25, 0.4), 0.4, 0.41),
    ],
)
def test_rules(rule: Any, inside: float, outside: float) -> None:
    assert rule.holds(inside)
    assert not rule.holds(outside)


def test_verdicts() -> None:
    reports = {"run": {"summary": Report({})}}

    def verdict(*claims: Claim) -> str:
        return measure(figure(*claims), reports, {}).verdict

    assert verdict(claim(near(2), 2.1), claim(above(1), 3)) == "agrees"
    assert verdict(claim(near(2), 3)) == "differs"
    some = verdict(claim(near(2), 3, why="another machine"), claim(above(1), 2))
    assert some == "agrees in 1 of 2; another machine"
    assert verdict(claim(above(1), 2), claim(above(1), 2, needs="4 GPUs")) == (
        "agrees in 1 of 1; needs 4 GPUs"
    )
    assert verdict(claim(above(1), Missing("no section 'x'"))) == "no number: no section 'x'"
    failed = measure(figure(claim(above(1), 2)), {}, {"run": "the command ended with exit code 1"})
    assert failed.verdict == "not run: the command ended with exit code 1"


def test_rows_go_into_a_page_by_their_numbers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n| 1 | old | row |\n| 2 | stays | here |\n")
    row = row_of(Row(figure(claim(above(1), 2)), (Measured(claim(above(1), 2), 2.0),)))
    into_page({"1": {"row": row}}, page)
    assert page.read_text() == f"# Title\n\n{row}\n| 2 | stays | here |\n"


def found_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> dict[str, Any]:
    """Run the benchmark small without a GPU and return what it wrote, by number."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert main([*words, "--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]) == 0
    return json.loads((tmp_path / "out" / "figures.json").read_text())


def test_a_small_run_reads_numbers_and_says_what_needs_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = found_by(tmp_path, monkeypatch, "--runs", "gather", "flex")
    assert set(found) == {"3", "4", "7", "12", "13"}
    for number in ("3", "4", "7"):
        assert all(claim["ours"] is not None for claim in found[number]["claims"])
    for number in ("12", "13"):
        assert found[number]["verdict"] == "not run: needs a GPU"
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 12 |")]


def test_a_run_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--runs", "flx", "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert "no run flx; there are: suite, outputs" in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_run_of_everything_has_a_row_for_each_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_by(tmp_path, monkeypatch)
    assert set(found) == {str(figure.number) for figure in FIGURES}
    without = {number for number, each in found.items() if each["verdict"] == "not run: needs a GPU"}
    assert without == {"5", "8", "9", "12", "13", "26", "27"}
