"""What the answer says of graphs of files: what was found, with vertices, and the rate after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Centrality, Measurement, Traversal
from gravel.stages.sections.answer.found import distance_text
from tests.stages.measured import searched
from tests.stages.sections.answer.test_answer import sections


def told(inputs: dict[str, Artifact]) -> tuple[str, dict[str, str]]:
    """Return the title, with vertices in angle brackets, and the facts of a report on graphs of files."""
    first = sections(inputs, from_files=True)[0]
    pieces = [piece if isinstance(piece, str) else f"<{piece['vertex']}>" for piece in first["title"]]
    return "".join(pieces), dict(first["facts"])


def from_sources(*sources: int, algorithm: str = "bfs", **values: Any) -> Measurement:
    one = searched("serial", 2.0)
    searches = [{**one.searches[0], "source": source, **values} for source in sources]
    return replace(one, searches=searches, algorithm=algorithm)


def distances(rows: Any, sources: list[int], algorithm: str = "bfs") -> Traversal:
    array = numpy.asarray(rows)
    return Traversal(
        algorithm=algorithm, sources=numpy.array(sources), distance=array, vertex_count=array.shape[1]
    )


def test_one_search_says_what_it_reached_and_the_farthest_vertex_and_then_the_rate():
    inputs = {"bfs": from_sources(2, reached=31, depth=3)}
    title, facts = told(inputs)
    reached = "BFS from <2>: 31 of 31 vertices reached (100 %); the farthest at distance 3"
    assert title == f"{reached}, searches not verified."
    assert facts["time"].startswith("Median 2 ms, ")
    assert "GTEPS" in facts["time"]
    assert "compared" not in facts


def labelled(one: Measurement, labels: Traversal) -> list[dict[str, Any]]:
    from gravel.stages.context import PlainContext
    from gravel.stages.report import ReportParameters, report

    parameters = ReportParameters(labels=("bfs", "bfs"), from_files=True)
    return list(report(PlainContext(), parameters, inputs=(labels, one)).sections)


def text(pieces: list[Any]) -> str:
    return "".join(piece if isinstance(piece, str) else f"<{piece['vertex']}>" for piece in pieces)


@pytest.mark.parametrize(
    ("sources", "rows", "algorithm", "start"),
    [
        (
            [1],
            [[1, 0, 2, -1]],
            "bfs",
            "BFS from <1>: 3 of 31 vertices reached (9.68 %); the farthest is <2> at",
        ),
        (
            [1, 0],
            [[1, 0, 2, -1], [0, 1, 3, 3]],
            "bfs",
            "BFS from 2 sources: 3 of 31 vertices reached (9.68 %); the farthest is <2> at distance 3 from",
        ),
        (
            [1],
            [[0.2, 0.0, numpy.float32(0.1), numpy.inf]],
            "shortest_paths",
            "Shortest paths from <1>: 3 of 31 vertices reached (9.68 %); the farthest is <0> at distance 0.2",
        ),
    ],
)
def test_the_farthest_vertex_is_named(sources: list[int], rows: Any, algorithm: str, start: str):
    one = from_sources(*sources, algorithm=algorithm, reached=3)
    for search, row in zip(one.searches, rows, strict=True):
        search["depth"] = 0 if algorithm == "shortest_paths" else max(row)
    assert text(labelled(one, distances(rows, sources, algorithm))[0]["title"]).startswith(start)


def test_distances_have_the_digits_of_the_weights():
    assert distance_text(float(numpy.float32(0.1))) == "0.1"
    assert distance_text(float(numpy.float32(5.7)) + 1e-7) == "5.7"
    assert distance_text(3.0) == "3"
    assert distance_text(123456789.0) == "123,456,789"
    assert distance_text(1234) == "1,234"


def test_components_say_how_many_and_which_is_the_largest():
    parts = Traversal(algorithm="components", component=numpy.array([0, 1, 1, 1, 4]), vertex_count=5)
    one = replace(searched("afforest", 2.0), algorithm="components")
    title = text(labelled(one, parts)[0]["title"])
    assert (
        title == "3 components; the largest has 3 of 5 vertices (60 %), among them <1>, labels not verified."
    )
    whole = replace(parts, component=numpy.zeros(5, numpy.int64))
    assert text(labelled(one, whole)[0]["title"]) == "One component of 5 vertices, labels not verified."
    titles = [each["title"] for each in labelled(one, whole)]
    assert not any(title.startswith("Component sizes") for title in titles if isinstance(title, str))


def test_centralities_name_the_first_vertices():
    close = Centrality(measure="closeness", value=numpy.array([0.25, 0.5, 0.0, 0.5]), vertex_count=4)
    title, facts = told({"a": close})
    assert title == "Largest closeness of 4 vertices: <1> (0.5), <3> (0.5), <0> (0.25)."
    harmonic = replace(close, measure="harmonic", value=numpy.array([1.0, 2.0, 9.0, 2.0]))
    title, facts = told({"a": close, "b": harmonic})
    assert title == "Of 4 vertices, <1> has the largest closeness, <2> the largest harmonic."
    assert "closeness" in facts


def test_several_graphs_are_told_by_their_range():
    inputs: dict[str, Artifact] = {
        f"bfs[dataset={name}]": replace(
            from_sources(1, reached=reached), graph={**searched("serial", 1.0).graph, "digest": name}
        )
        for name, reached in (("a", 31), ("b", 3))
    }
    title, facts = told(inputs)
    assert title.startswith(
        "2 graphs with 31 vertices: BFS reached 9.68 to 100 % of the vertices from a source, "
    )
    assert facts["time"].startswith("Medians of 2 ms, ")


def test_what_was_generated_begins_with_the_rate():
    first = sections({"bfs": searched("serial", 2.0)})[0]
    assert "GTEPS" in first["title"]
    assert "time" not in dict(first["facts"])
