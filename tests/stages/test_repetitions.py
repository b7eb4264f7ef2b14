"""Repeated measurements in a report."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.stages.artifacts import Probe
from gravel.stages.sections.findings import Findings
from gravel.stages.sections.probes import probe_sections
from gravel.stages.sections.registry import make_sections
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


def probe(*milliseconds: float) -> Probe:
    parts = [{"part": "gather", "method": name, "schedule": "stealing"} for name in ("serial", "scan")]
    return Probe(
        measure="gather",
        backend="cpu",
        hardware="a test",
        block=256,
        repeats=5,
        floor_milliseconds=0.0,
        parts=parts,
        searches=[
            {
                "source": 1,
                "depth": 3,
                "vertices": 10,
                "arcs": 1000,
                "distinct": 9,
                "fresh": 9,
                "milliseconds": list(milliseconds),
                "passed": [None, None],
            }
        ],
        levels={"arcs": [1000], "milliseconds": [[time] for time in milliseconds]},
    )


def test_repeated_probes_show_every_time_of_each_part() -> None:
    times = [(1.0, 4.0), (2.0, 5.0), (4.0, 8.0)]
    members = [("p" if at == 0 else f"p[repeat={at + 1}]", probe(*each)) for at, each in enumerate(times)]
    found = {section["title"]: section for section in probe_sections(members)}
    rows = found["Repeated probes"]["rows"]
    assert rows[0] == ["p", "gather", "serial, stealing", 2.0, 1.0, 4.0, 150.0, "1  2  4"]
    assert rows[1][3:7] == [5.0, 4.0, 8.0, pytest.approx(80.0)]
    assert [row[5] for row in found["Parts of a search alone"]["rows"]] == [2.0, 5.0]
    assert "Repeated probes" not in {section["title"] for section in probe_sections(members[:1])}
