"""docs/figures.md is made from reports; rows say what they wait for, and what changed since."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.figures import evidence
from tests.benchmarks.figures.__main__ import main
from tests.benchmarks.figures.evidence import MAX_DAYS, Evidence, changed, marked, read, rows, write
from tests.benchmarks.figures.machines import MODEL_C2050, modelled_share
from tests.benchmarks.figures.model import (
    MARK,
    Claim,
    Figure,
    Measured,
    Paper,
    Run,
    above,
    below,
    between,
    measure,
    near,
    order,
)
from tests.benchmarks.figures.papers import PAPERS
from tests.benchmarks.figures.reports import Missing, Report
from tests.benchmarks.figures.rows import command_of, row_of, told, with_parts
from tests.benchmarks.figures.running import earlier
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "figures.md"

FIGURES = [figure for paper in PAPERS for figure in paper.figures]

RUNS = [run for paper in PAPERS for run in paper.runs]


def test_the_page_is_made_from_the_reports() -> None:
    text = PAGE.read_text()
    made = with_parts(text, PAPERS, read())
    # What changed since is known when the page is made again, and may change with every kernel.
    made, text = (each.replace(MARK, "") for each in (made, text))
    assert made == text, "run: python -m tests.benchmarks.figures --page docs/figures.md"
    assert sorted(figure.number for figure in FIGURES) == list(range(1, len(FIGURES) + 1))


def test_every_row_has_a_verdict_or_names_what_it_waits_for_and_its_command() -> None:
    found = read()
    for paper in PAPERS:
        for row in rows(paper, found):
            assert row.verdict
            judged = any(word in row.verdict for word in ("agrees", "differs"))
            assert judged == any(each.ours is not None for each in row.measured)
            assert judged or row.verdict.startswith(("waits for ", "no number: "))
            assert f"`--runs {row.figure.run}`" in row_of(paper, row, found)


def test_reports_are_of_runs_that_there_are_and_small() -> None:
    names = {run.name for run in RUNS}
    for path in evidence.FOLDER.glob("*.json"):
        assert path.stem in names
        assert path.stat().st_size < 64 << 10, path
        one = Evidence(**json.loads(path.read_text()))
        assert (one.reports is None) != (one.numbers is None)
        assert one.size == "paper"


def test_numbers_of_runs_without_reports_are_of_claims_that_there_are() -> None:
    for one in read().values():
        for number, claims in (one.numbers or {}).items():
            (figure,) = [each for each in FIGURES if each.number == int(number)]
            assert claims.keys() <= {claim.what for claim in figure.claims}


def test_the_commands_are_printed_with_where_every_number_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--dry", "--size", "paper"]) == 0
    run, places = "", set()
    for line in capsys.readouterr().out.splitlines():
        run = run if line.startswith("#") else line
        places.add((run, line))
    commands = {run.name: command_of(run, "paper") for run in RUNS}
    for figure in FIGURES:
        for claim in figure.claims:
            place = f"# figure {figure.number}: {claim.where}"
            assert (commands[claim.run or figure.run], place) in places


def test_every_run_is_of_a_figure() -> None:
    used = {name for figure in FIGURES for name in (figure.run, *(claim.run for claim in figure.claims))}
    assert {run.name for run in RUNS} == used - {""}


def claim(rule: Any, ours: Any, **more: str) -> Claim:
    def found(reports: Any) -> float:
        if isinstance(ours, Exception):
            raise ours
        return ours

    return Claim("a", "b", "section 1", rule, "c", found, **more)


def paper(*claims: Claim, needs: str = "one GPU") -> Paper:
    run = Run("run", "quickstart", (), (), needs=needs, kernels=("gravel.kernels.strategy",))
    return Paper("p", "P", (run,), (Figure(1, "figure 1", "what", "run", claims),))


def ran(**more: Any) -> Evidence:
    one = Evidence("run", "gravel run", "paper", "NVIDIA H200", "2026-01-01", "c", {}, {"summary": []})
    return replace(one, **more)


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
    def verdict(*claims: Claim, found: Any = None) -> str:
        (row,) = rows(paper(*claims), {"run": ran()} if found is None else found)
        return row.verdict.removesuffix(MARK)

    assert verdict(claim(near(2), 2.1), claim(above(1), 3)) == "agrees"
    assert verdict(claim(near(2), 3)) == "differs"
    assert verdict(claim(near(2), 3), claim(above(1), 2)) == "agrees in 1 of 2"
    lacking = claim(above(1), Missing("no section 'x'"), waits="four GPUs")
    assert verdict(claim(above(1), 2), lacking) == "agrees in 1 of 1; waits for four GPUs"
    assert verdict(claim(above(1), 2), found={}) == "waits for one GPU"
    assert verdict(claim(above(1), Missing("no section 'x'"))) == "no number: no section 'x'"
    old = ran(code=None, reports=None, numbers={"1": {"a": 0.5}})
    (row,) = rows(paper(claim(above(1), 2)), {"run": old})
    assert row.verdict == f"differs{MARK}"


def test_a_number_near_its_bound_shows_on_which_side_it_is() -> None:
    assert told(Measured(claim(below(1.05), 0), 1.0505)) == "1.0505"
    assert told(Measured(claim(below(1.05), 0), 1.2)) == "1.2"
    assert told(Measured(claim(below(1.05), 0), None)) == "–"


def test_a_row_is_marked_if_its_kernels_or_its_workflow_changed_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = paper().runs[0]
    report = {"summary": Report({"T": {"title": "T", "rows": [], "chart": {}}}, "a GPU", {"T"})}
    path = ROOT / "tests" / "benchmarks" / "figures" / "model.py"
    monkeypatch.setattr(evidence, "day_of", lambda path: "2026-01-01")
    now = evidence.taken(run, "gravel run", "paper", report, path)
    assert now.reports == {"summary": [{"title": "T", "rows": []}]}
    assert changed(run, now) == ""
    assert now.code is not None
    (workflow,) = [name for name in now.code if name.endswith(".yaml")]
    assert changed(run, replace(now, code=now.code | {workflow: "0"})) == "workflow changed since"
    other = now.code | {"gravel.kernels.strategy": "0"}
    assert changed(run, replace(now, code=other)) == "kernels changed since"
    gone = now.code | {"gravel.kernels.gone": "0"}
    assert changed(run, replace(now, code=gone)) == "kernels changed since"


def test_a_row_that_is_marked_for_longer_than_thirty_days_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    today = datetime.now(UTC).date()
    for days, late in ((MAX_DAYS, 0), (MAX_DAYS + 1, 1)):
        day = (today - timedelta(days)).isoformat()
        assert len(marked(paper(), {"run": ran(date=day)}, MAX_DAYS)) == late
        write(replace(read()["culling"], date=day, code=None), tmp_path)
        assert main(["--reports", str(tmp_path)]) == late
    assert "culling: its code is not known, 31 days ago; run it again" in capsys.readouterr().err


def test_rates_compare_as_shares_of_peak_bandwidths() -> None:
    """3.3 G arcs/s of 4 (5/64 + 4) bytes are 37 % of a C2050's 144 GB/s."""
    assert MODEL_C2050["rmat.2Mv.128Me"] == pytest.approx(100 * 3.3e9 * 4 * (5 / 64 + 4) / 144e9)
    assert modelled_share(1.0, 0.0, "NVIDIA H200") == pytest.approx(100 * 16e9 / 4.8e12)
    with pytest.raises(Missing, match="peak of a CPU"):
        modelled_share(1.0, 0.0, "a CPU")


def found_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> dict[int, list[Any]]:
    """Run the benchmark small without a GPU and return our numbers by figure."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    folders = ("--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"))
    assert main([*words, *folders, "--keep", "--reports", str(tmp_path / "reports")]) == 0
    found = earlier(tmp_path / "out")
    return {
        figure.number: [each.ours for each in measure(paper, figure, found)]
        for paper in PAPERS
        for figure in paper.figures
    }


def test_a_small_run_keeps_what_its_numbers_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_by(tmp_path, monkeypatch, "--runs", "gather", "depths")
    for number in (1, 2, 4, 7, 28):
        assert None not in found[number]
    kept = {row.figure.number: row for row in rows(PAPERS[0], read(tmp_path / "reports"))}
    assert [each.ours for each in kept[1].measured] == found[1]
    assert kept[4].verdict == "waits for one GPU"  # a CPU's numbers are none of a GPU's
    assert found[28] == pytest.approx([1, 1, 1], abs=0.1)
    assert found[8] == [None] * 5


def test_a_run_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--runs", "flx"])
    assert stop.value.code == 2
    assert "no run flx; there are: depths, suite, outputs" in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_run_of_everything_on_a_cpu_finds_what_needs_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_by(tmp_path, monkeypatch)
    without = {number for number, each in found.items() if set(each) == {None}}
    assert without >= {8, 9, 10, 19, 20, 21, 24, 27, 29}
    assert not without & {1, 2, 4, 7, 14, 17, 28}
