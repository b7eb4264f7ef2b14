"""What a report says of centralities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Batches, Centrality
from tests.stages.sections.answer.test_answer import sections

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
        {"sources": 64, "began": 0.0, "milliseconds": 128.0, "worker": 0, "resumed": True},
        {"sources": 32, "began": 128.0, "milliseconds": 32.0, "worker": 0, "resumed": False},
    ],
)
DEALT = Batches(
    measure="betweenness",
    backend="cpu",
    form="parts of 8",
    batches=[
        {"sources": 8, "began": 0.0, "milliseconds": 900.0, "worker": 1, "resumed": True},
        {"sources": 16, "began": 1000.0, "milliseconds": 1000.0, "worker": 1, "resumed": False},
        {"sources": 16, "began": 1000.0, "milliseconds": 500.0, "worker": 0, "resumed": False},
        {"sources": 8, "began": 1500.0, "milliseconds": 250.0, "worker": 0, "resumed": False},
    ],
    workers=["a, process 3", "b, process 4"],
)


EDGES = Centrality(
    measure="edge_betweenness",
    value=numpy.array([0.5, 2.0, 1.0]),
    vertex=numpy.array([0, 0, 2]),
    target=numpy.array([1, 3, 3]),
    vertex_count=4,
    sources=4,
)
MEAN = Centrality(
    measure="average_path_length",
    value=numpy.array([1.5, 2.5]),
    vertex=numpy.array([1, 3]),
    vertex_count=4,
    estimate={"value": 2.0, "low": 1.0, "high": None, "confidence": 0.9},
)


def by_title(inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["title"]: each for each in sections(inputs)}


def test_the_answer_names_the_measures() -> None:
    assert sections({"a": CLOSE})[0]["title"] == "Closeness of 4 vertices."
    several = sections({"a": CLOSE, "b": SOME, "c": BETWEEN})[0]["title"]
    assert several == "Closeness, neighbourhood within 2 hops and betweenness of 2 to 500 vertices."


def test_a_measure_against_arcs_is_told_apart() -> None:
    against = replace(CLOSE, direction="in")
    assert sections({"a": against})[0]["title"] == "Closeness (direction in) of 4 vertices."
    rows = by_title({"a": CLOSE, "b": against})["Centralities"]["rows"]
    assert [row[1] for row in rows] == ["closeness", "closeness (direction in)"]


def test_the_answer_names_the_most_central_vertices() -> None:
    facts = dict(sections({"a": CLOSE, "b": SOME})[0]["facts"])
    assert facts["closeness"] == [
        *(
            "largest at ",
            {"vertex": 1, "run": "a"},
            " (0.5)",
            ", ",
            {"vertex": 3, "run": "a"},
            " (0.5)",
            ", ",
        ),
        *({"vertex": 0, "run": "a"}, " (0.25)", "."),
    ]
    assert facts["neighbourhood within 2 hops"][1] == {"vertex": 1, "run": "b"}
    ends = dict(sections({"a": EDGES})[0]["facts"])["edge betweenness"]
    assert ends[1:5] == [{"vertex": 0, "run": "a"}, " - ", {"vertex": 3, "run": "a"}, " (2)"]
    mean = dict(sections({"a": MEAN})[0]["facts"])["average path length"]
    assert mean == "2 (at least 1 with confidence 0.9)."
    assert "closeness" not in dict(sections({"a[order=rcm]": CLOSE, "a[order=degree]": CLOSE})[0]["facts"])


def test_top_vertices_are_those_with_the_largest_values() -> None:
    table = by_title({"a": CLOSE, "b": SOME})["Top vertices"]
    assert table["columns"] == ["rank", "a: vertex", "closeness", "b: vertex", "neighbourhood within 2 hops"]
    assert table["rows"] == [
        [1, {"vertex": 1, "run": "a"}, 0.5, {"vertex": 1, "run": "b"}, 9],
        [2, {"vertex": 3, "run": "a"}, 0.5, {"vertex": 3, "run": "b"}, 7],
        [3, {"vertex": 0, "run": "a"}, 0.25, None, None],
        [4, {"vertex": 2, "run": "a"}, 0.0, None, None],
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
        ["t", "closeness", "cpu", "64 together", 1, 2, 96, 64, 0.16, 600.0]
    ]
    assert "Workers of batches" not in found
    (line,) = found["Time by batch"]["chart"]["panels"][0]["lines"]
    assert (line["x"], line["y"]) == ([64, 96], [2.0, 1.0])
    assert found["Time by batch"]["data"]["t"] == {
        "sources": [64, 96],
        "began": [0.0, 128.0],
        "milliseconds": [128.0, 32.0],
        "worker": [0, 0],
    }


def test_batches_of_several_workers_count_the_time_that_passed() -> None:
    found = by_title({"a": CLOSE, "t": DEALT})
    (row,) = found["Batches of centralities"]["rows"]
    assert row[4:] == [2, 4, 48, 8, 2.0, 24.0]
    assert found["Workers of batches"]["rows"] == [
        ["t", 0, "a, process 3", 2, 24, 0.75, 0.75],
        ["t", 1, "b, process 4", 1, 16, 1.0, 1.0],
    ]
    assert found["Time by batch"]["data"]["t"]["worker"] == [1, 1, 0, 0]


def test_nothing_is_said_of_no_vertices() -> None:
    empty = Centrality(measure="closeness", value=numpy.zeros(0), vertex_count=0)
    none = Batches(measure="closeness", backend="cpu", form="none", batches=[])
    found = by_title({"a": empty, "t": none})
    assert found["Top vertices"]["rows"] == []
    assert "Time by batch" not in found


def test_edges_have_two_ends() -> None:
    found = by_title({"a": CLOSE, "e": EDGES})
    table = found["Top vertices"]
    assert table["columns"][3:] == ["e: source", "e: target", "edge betweenness"]
    assert [row[3:] for row in table["rows"]] == [
        [{"vertex": 0, "run": "e"}, {"vertex": 3, "run": "e"}, 2.0],
        [{"vertex": 2, "run": "e"}, {"vertex": 3, "run": "e"}, 1.0],
        [{"vertex": 0, "run": "e"}, {"vertex": 1, "run": "e"}, 0.5],
        [None, None, None],
    ]
    assert found["Centralities"]["rows"][1][-1] is None
    assert found["Distribution of edge betweenness, e"]["data"]["edges"] == [2, 1]
    assert sections({"e": EDGES})[0]["title"] == "Edge betweenness of 3 edges."


def test_estimates_have_their_errors_beside_them() -> None:
    sampled = replace(EDGES, by="weights", error=numpy.array([0.1, numpy.inf, 0.2]))
    table = by_title({"e": sampled})["Top vertices"]
    assert table["columns"][3:] == ["edge betweenness by weights", "e: standard error"]
    assert [row[3:] for row in table["rows"]] == [[2.0, None], [1.0, 0.2], [0.5, 0.1]]


def test_estimates_have_bounds() -> None:
    found = by_title({"m": MEAN})
    assert found["Estimates"]["rows"] == [["m", "average path length", 2, 2.0, 1.0, None, 0.9]]
    assert "Estimates" not in by_title({"a": CLOSE})


def test_vertices_that_reach_no_other_are_no_bar() -> None:
    far = Centrality(measure="eccentricity", value=numpy.array([-1, 3, 3, 4]), vertex_count=4)
    (line,) = by_title({"a": far})["Distribution of eccentricity, a"]["chart"]["panels"][0]["lines"]
    assert (line["x"], line["y"]) == ([3, 4], [2, 1])
    assert (
        by_title({"a": far})["Distribution of eccentricity, a"]["about"]
        == "1 vertex without a value is left out."
    )
    alike = replace(far, value=numpy.array([3, 3, 3, 3]))
    assert "Distribution of eccentricity, a" not in by_title({"a": alike})
