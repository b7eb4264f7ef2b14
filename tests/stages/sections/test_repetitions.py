"""Repeated measurements in a report."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.stages.sections.page import Findings, make_sections
from gravel.stages.sections.repetitions import first_label
from tests.stages.test_report import searched

MEMBERS = [
    (f"bfs[search={strategy}{f',repeat={number}' if number > 1 else ''}]", searched(strategy, time))
    for strategy, times in (("serial", (8.0, 9.0, 20.0)), ("two_phase", (2.0,)))
    for number, time in enumerate(times, 1)
]


def sections(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {section["title"]: section for section in make_sections(Findings(members))}


@pytest.mark.parametrize(
    ("label", "first", "number"),
    [
        ("bfs", "bfs", 1),
        ("bfs[repeat=3]", "bfs", 3),
        ("bfs[order=rcm,repeat=12]", "bfs[order=rcm]", 12),
        ("bfs[order=rcm]", "bfs[order=rcm]", 1),
    ],
)
def test_labels_tell_which_repetition_it_is(label: str, first: str, number: int) -> None:
    assert first_label(label) == (first, number)


def test_every_repetition_is_shown_with_median_and_spread() -> None:
    found = sections(MEMBERS)
    every = [row[:3] for row in found["Every repetition"]["rows"]]
    times = [row[2] for row in every]
    assert [row[:2] for row in every] == [["bfs[search=serial]", number] for number in (1, 2, 3)]
    assert times[0] < times[1] < times[2]
    (row,) = found["Repeated measurements"]["rows"]
    assert row[:5] == ["bfs[search=serial]", 3, times[1], times[0], times[2]]
    assert row[5] == pytest.approx(100 * (times[2] - times[0]) / times[1])
    assert row[6] == pytest.approx(100 * (times[1] - times[0]) / times[1])
    assert list(found["Spread of the repetitions"]["data"].values()) == [times]


def test_other_tables_show_the_median_repetition_once() -> None:
    found = sections(MEMBERS)
    rows = found["Traversal times and rates"]["rows"]
    assert [row[0] for row in rows] == ["bfs[search=serial]", "bfs[search=two_phase]"]
    assert rows[0][5] == found["Repeated measurements"]["rows"][0][2]
    assert len(found["Every strategy on every graph"]["rows"]) == 2


def test_without_repetitions_nothing_is_said_of_them() -> None:
    assert not [title for title in sections([MEMBERS[0], MEMBERS[3]]) if "epetition" in title]
