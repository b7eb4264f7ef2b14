"""Who is called best: not one of two rows of the same code, and nobody by less than the spread of repeats."""

from __future__ import annotations

from dataclasses import replace

from gravel.stages.artifacts import Measurement
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from gravel.stages.sections.page import Findings, make_sections
from gravel.stages.sections.studies import Member, standings
from tests.stages.measured import searched


def entrant(name: str, milliseconds: float, *times: float, code: str = "", shares=(1.0, 1.1, 0.9)) -> Member:
    one = searched(name, milliseconds, times=shares)
    ran = {"function": code or name, "backend": "cpu", "options": {"alpha": 15}}
    return Member(name, replace(one, ran=ran), times)


def words(*entrants: Member) -> list[str]:
    return [standing.text for standing in standings(entrants)]


def test_the_fastest_by_more_than_the_spread_is_best() -> None:
    assert words(entrant("a", 2.0), entrant("b", 1.0), entrant("c", 3.0)) == ["", "best", ""]


def test_repetitions_that_overlap_are_a_tie() -> None:
    tied = standings([entrant("a", 2.0, 1.8, 2.0, 2.2), entrant("b", 2.1, 2.1, 2.15, 2.3), entrant("c", 9.0)])
    assert [each.word for each in tied] == ["tied for best", "tied for best", ""]
    assert [each.tied_with for each in tied] == [("b",), ("a",), ()]
    assert words(entrant("a", 2.0, 1.8, 2.0), entrant("b", 2.1, 2.05, 2.1)) == ["best", ""]


def test_searches_from_the_same_sources_tell_where_nothing_was_repeated() -> None:
    mixed = entrant("b", 1.0, shares=(1.05, 0.9, 1.0))  # slower from one source, faster from another
    assert words(entrant("a", 1.0, shares=(1.0, 1.0, 0.98)), mixed) == ["tied for best", "tied for best"]


def test_what_was_measured_once_is_not_ranked() -> None:
    assert words(entrant("a", 1.0, shares=(1.0,)), entrant("b", 2.0, shares=(1.0,))) == ["measured once"] * 2


def test_the_same_code_is_one_and_says_so() -> None:
    found = words(entrant("a", 2.0, code="f"), entrant("b", 1.0, code="f"), entrant("c", 3.0))
    assert found == ["best; same code as b", "best; same code as a", ""]
    assert words(entrant("a", 2.0, code="f"), entrant("b", 1.0, code="f")) == [
        "same code as b",
        "same code as a",
    ]


def test_other_constants_or_another_order_are_other_code() -> None:
    first, second = entrant("a", 2.0, code="f"), entrant("b", 1.0, code="f")
    other = replace(second.one, ran={**second.one.ran, "options": {"alpha": 3}})
    assert words(first, Member("b", other)) == ["", "best"]
    order = replace(second.one, graph={**second.one.graph, "order": {"method": "rcm"}})
    assert words(first, Member("b", order)) == ["", "best"]


def test_searches_of_partitions_by_other_thresholds_are_no_repetitions_of_one() -> None:
    first, second = (
        replace(each.one, graph={**each.one.graph, "partition": {"ranks": 2, "threshold": threshold}})
        for each, threshold in ((entrant("a", 2.0, code="f"), 8), (entrant("b", 1.0, code="f"), 64))
    )
    assert words(Member("8", first), Member("64", second)) == ["", "best"]
    again = replace(first, graph=second.graph)
    assert words(Member("a", again), Member("64", second)) == ["same code as 64", "same code as a"]


def repeated(strategy: str, *milliseconds: float) -> dict[str, Measurement]:
    label = f"bfs[strategy={strategy}"
    return {
        f"{label}]" if place == 0 else f"{label},repeat={place + 1}]": searched(strategy, time)
        for place, time in enumerate(milliseconds)
    }


def test_a_report_shows_a_tie_of_repeated_runs_as_one() -> None:
    runs = {**repeated("serial", 2.0, 2.2, 2.1), **repeated("top_down", 2.15, 2.0, 2.3)}
    sections = {each["title"]: each for each in make_sections(Findings(list(runs.items())))}
    table = sections["Every strategy on every graph"]["rows"]
    assert [row[1:3] for row in table] == [["serial", "tied for best"], ["top_down", "tied for best"]]


def test_runs_that_are_not_run_stand_in_a_table_of_their_own() -> None:
    parameters = ReportParameters(labels=("bfs",), not_run={"bfs[strategy=hybrid]": "needs a GPU"})
    made = report(PlainContext(), parameters, inputs=(searched("serial", 1.0),))
    rows = {each["title"]: each.get("rows") for each in made.sections}
    assert rows["Not run on this machine"] == [["bfs[strategy=hybrid]", "needs a GPU"]]
    assert dict(made.sections[0]["facts"])["not run"] == "1 stage run: needs a GPU."
