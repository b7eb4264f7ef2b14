"""Sections declare where they stand: a new file is on the page, and parts follow from what a report has."""

from __future__ import annotations

import sys
from typing import Any

from gravel.stages import sections
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from gravel.stages.sections.page import Findings, all_sections, arranged
from gravel.stages.sections.section import table
from tests.stages.measured import searched

OWN = """
from gravel.stages.sections.section import Section, table


def own_sections(measured):
    return [table("Names", "", ["run"], [[label] for label, _ in measured], result=95)]


SECTIONS = (Section(rank=1, make=own_sections, needs=("measured",)),)
"""


def test_one_new_file_is_a_section(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    all_sections.cache_clear()
    try:
        made = report(PlainContext(), ReportParameters(labels=("a",)), inputs=(searched("serial", 1.0),))
    finally:
        all_sections.cache_clear()
        sys.modules.pop("gravel.stages.sections.own", None)
    results = [each["title"] for each in made.sections if each["part"] == "results"]
    assert results == ["Names", "Traversal times and rates"]
    assert [each["rows"] for each in made.sections if each["title"] == "Names"] == [[["a"]]]


def test_every_section_needs_what_there_is():
    found = all_sections()
    assert len(found) > 30
    for section in found:
        assert section.kinds or section.needs, section
        assert all(hasattr(Findings([]), name) for name in section.needs), section
    assert [section.rank for section in found] == sorted(section.rank for section in found)


def parts(*made: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["title"], each["part"]) for each in arranged(made)]


def test_results_stand_by_their_rank_and_details_by_that_of_their_section():
    first, second = table("b", "", ["x"], [], result=2), table("a", "", ["x"], [], result=1)
    assert parts(table("c", "", ["x"], []), first, table("d", "", ["x"], []), second) == [
        ("a", "results"),
        ("b", "results"),
        ("c", "details"),
        ("d", "details"),
    ]


def test_what_another_says_is_data_and_what_it_sums_up_a_detail():
    whole = table("whole", "", ["x"], [], result=1, name="whole")
    same = table("same", "", ["x"], [], result=2, covered_by=("whole",))
    more = table("more", "", ["x"], [], result=3, summed_up_by=("whole",))
    assert parts(same, more) == [("same", "results"), ("more", "results")]
    assert parts(same, more, whole) == [("whole", "results"), ("more", "details"), ("same", "data")]


def test_what_failed_is_no_detail():
    assert parts(table("a", "", ["x"], [["FAILED"]]), table("b", "", ["x"], [["passed"]], result=9)) == [
        ("b", "results"),
        ("a", "results"),
    ]


def test_the_first_figure_that_answers_stands_beside_the_answer():
    made = [
        {"kind": "figure", "title": name, "place": {"answer": rank}} for name, rank in (("a", 5), ("b", 4))
    ]
    assert parts(*made, {"kind": "answer", "title": "so it is"}) == [
        ("so it is", "answer"),
        ("b", "answer"),
        ("a", "details"),
    ]
