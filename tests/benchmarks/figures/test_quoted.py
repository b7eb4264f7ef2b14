"""Every number that is quoted of a paper stands beside its section in one list, and nowhere without."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from gravel.stages.papers.merrill2012.culling import BOUND, PAPER
from gravel.stages.papers.pan2018.formulas import SOURCES
from gravel.stages.papers.pan2018.thousand import PAPER_RATES, RANK_SCALE, STRONG_SCALE, paper_slope
from gravel.stages.papers.published.model import read_published
from gravel.stages.presets import all_presets
from tests.benchmarks.figures.papers import PAPERS

ROOT = Path(__file__).resolve().parents[3]

LIST = yaml.safe_load(Path(__file__).with_name("quoted.yaml").read_text())
"""What was read in each section of each paper's text."""


def _as_number(text: str) -> str:
    """Write a number in one way, and leave a word."""
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _listed() -> Counter[tuple[str, str, str]]:
    return Counter(
        (paper, section, _as_number(str(value)))
        for paper, sections in LIST.items()
        for section, values in sections.items()
        for value in values
    )


def _published() -> Counter[tuple[str, str, str]]:
    published = read_published(ROOT / "workflows" / "papers" / "published.yaml")
    printed = [
        (table.paper, table.section.partition(",")[0], row.value)
        for table in published.tables
        for row in table.rows
        if row.value is not None
    ]
    claims = [(claim.paper, claim.section.partition(",")[0], claim.value) for claim in published.claims]
    return Counter((paper, section, _as_number(str(value))) for paper, section, value in printed + claims)


def _figures() -> list[tuple[str, str, str]]:
    return [
        (paper.key, claim.section, claim.theirs)
        for paper in PAPERS
        for figure in paper.figures
        for claim in figure.claims
    ]


def test_printed_values_and_claims_are_those_of_the_list() -> None:
    listed, published = _listed(), _published()
    assert {each for each in published if each not in listed} == set()


@pytest.mark.parametrize(("paper", "section", "theirs"), sorted(set(_figures())))
def test_what_a_figure_quotes_is_in_the_list_with_its_section(paper: str, section: str, theirs: str) -> None:
    assert _as_number(theirs) in {_as_number(str(each)) for each in LIST[paper][section]}


def test_nothing_is_listed_that_is_not_quoted() -> None:
    factors = (BOUND, *(value for _, value in PAPER.values()))
    constants = [
        *(("merrill2012", "section 4.2", value) for value in factors),
        *(("pan2018", "section VI-C", value) for value in (*PAPER_RATES.values(), RANK_SCALE, STRONG_SCALE)),
        ("pan2018", "section VI-A3", SOURCES),
    ]
    quoted = {(paper, section, _as_number(str(value))) for paper, section, value in constants + _figures()}
    assert set(_listed()) - quoted - set(_published()) == set()
    assert quoted - set(_listed()) == set()


def test_every_setting_of_a_preset_names_its_section() -> None:
    for preset in all_presets():
        for setting in preset.settings:
            assert not setting.values or setting.where, (preset.name, setting.name)


def test_slopes_of_table_ii() -> None:
    assert paper_slope(1) == pytest.approx(0.50, abs=0.005)
    assert paper_slope(8) == pytest.approx(0.58, abs=0.005)
