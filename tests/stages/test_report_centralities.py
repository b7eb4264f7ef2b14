"""What a report says of centralities."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Batches, Centrality
from tests.stages.test_report_answer import sections

CLOSE = Centrality(measure="closeness", value=numpy.array([0.25, 0.5, 0.0, 0.5]), vertex_count=4)
SOME = Centrality(
    measure="neighbourhood",
    value=numpy.array([7, 9]),
    vertex=numpy.array([3, 1]),
    vertex_count=4,
    hops=2,
)
BETWEEN = Centrality(
    measure="betweenness", value=numpy.random.default_rng(1).random(500) ** 4, vertex_count=500, sources=20
)
TIMES = Batches(
    measure="closeness",
    backend="cpu",
    form="64 together",
    batches=[
        {"sources": 64, "milliseconds": 128.0, "resumed": True},
        {"sources": 32, "milliseconds": 32.0, "resumed": False},
    ],
)


def by_title(inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["title"]: each for each in sections(inputs)}


def test_the_answer_names_the_measures() -> None:
    assert sections({"a": CLOSE})[0]["title"] == "Closeness of 4 vertices."
    several = sections({"a": CLOSE, "b": SOME, "c": BETWEEN})[0]["title"]
    assert several == "Closeness, neighbourhood within 2 hops and betweenness of 2 to 500 vertices."


def test_the_answer_names_the_most_central_vertices() -> None:
    facts = dict(sections({"a": CLOSE, "b": SOME})[0]["facts"])
    assert facts["closeness"] == [
        *("largest at ", {"vertex": 1}, " (0.5)", ", ", {"vertex": 3}, " (0.5)", ", "),
        *({"vertex": 0}, " (0.25)", "."),
    ]
    assert facts["neighbourhood within 2 hops"][1] == {"vertex": 1}
    assert "closeness" not in dict(sections({"a[order=rcm]": CLOSE, "a[order=degree]": CLOSE})[0]["facts"])


def test_top_vertices_are_those_with_the_largest_values() -> None:
    table = by_title({"a": CLOSE, "b": SOME})["Top vertices"]
    assert table["columns"] == ["rank", "a: vertex", "closeness", "b: vertex", "neighbourhood within 2 hops"]
    assert table["rows"] == [
        [1, {"vertex": 1}, 0.5, {"vertex": 1}, 9],
        [2, {"vertex": 3}, 0.5, {"vertex": 3}, 7],
        [3, {"vertex": 0}, 0.25, None, None],
        [4, {"vertex": 2}, 0.0, None, None],
    ]


def test_the_summary() -> None:
    rows = by_title({"a": CLOSE, "c": BETWEEN})["Centralities"]["rows"]
    assert rows[0] == ["a", "closeness", 4, 4, 0.0, 0.375, 0.3125, 0.5, {"vertex": 1}]
    assert rows[1][:4] == ["c", "betweenness", 500, 20]


@pytest.mark.parametrize(("one", "bars"), [(CLOSE, 2), (SOME, 2), (BETWEEN, 60)])
def test_a_distribution_counts_every_vertex(one: Centrality, bars: int) -> None:
    found = next(each for title, each in by_title({"a": one}).items() if title.startswith("Distribution of"))
    assert sum(found["data"]["vertices"]) == len(one.value)
    (line,) = found["chart"]["panels"][0]["lines"]
    assert len(line["x"]) == bars
    assert ("until" in line) == (one is not SOME)


def test_time_by_batch_and_what_was_resumed() -> None:
    found = by_title({"a": CLOSE, "t": TIMES})
    assert found["Batches of centralities"]["rows"] == [
        ["t", "closeness", "cpu", "64 together", 2, 96, 64, 0.16, 600.0]
    ]
    (line,) = found["Time by batch"]["chart"]["panels"][0]["lines"]
    assert (line["x"], line["y"]) == ([64, 96], [2.0, 1.0])
    assert found["Time by batch"]["data"]["t"] == {"sources": [64, 96], "milliseconds": [128.0, 32.0]}


def test_nothing_is_said_of_no_vertices() -> None:
    empty = Centrality(measure="closeness", value=numpy.zeros(0), vertex_count=0)
    none = Batches(measure="closeness", backend="cpu", form="none", batches=[])
    found = by_title({"a": empty, "t": none})
    assert found["Top vertices"]["rows"] == []
    assert "Time by batch" not in found
