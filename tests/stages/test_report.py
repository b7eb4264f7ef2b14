"""The report stage: every kind of artifact gets its section, deterministic and small."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy
import pytest

from stages.artifacts import (
    Artifact,
    CompressedGraph,
    EdgeList,
    Graph,
    Measurement,
    Ordering,
    Partition,
    Traversal,
    Verification,
)
from stages.context import PlainContext
from stages.report import ReportParameters, report
from stages.sections.measurement import geometric_mean, harmonic_mean, rates
from tests.zoo import zoo


def measurement(searches: int = 5) -> Measurement:
    levels = {"vertices": [1, 30], "arcs": [4, 900], "pulled": [1]}
    records = [
        {
            "source": place,
            "milliseconds": 1.0 + place,
            "map_back_milliseconds": 0.1,
            "reached": 31,
            "arcs": 904,
            "edges": 452,
            "depth": 1,
            "levels": levels,
        }
        for place in range(searches)
    ]
    return Measurement(
        algorithm="bfs",
        strategy="top_down",
        reason="asked for",
        backend="cpu",
        hardware="a test",
        prepare_milliseconds=0.5,
        searches=records,
    )


def everything() -> list[Artifact]:
    one = next(graph for graph in zoo() if graph.name == "skewed_random")
    offsets, columns = one.csr()
    n, m = one.vertex_count, len(columns)
    common: dict[str, Any] = {"vertex_count": n, "arc_count": m, "symmetric": True}
    csr: dict[str, Any] = {"row_offsets": offsets, "column_indices": columns, "deduplicated": True}
    permutation = numpy.arange(n, dtype=numpy.uint32)
    return [
        EdgeList(source=one.source, target=one.target, vertex_count=n, undirected=False),
        Graph(**common, **csr),
        Ordering(**common, **csr, permutation=permutation, method="degree", statistics={"bandwidth": 7}),
        Partition(**common, arrays={}, delegates=permutation[:3], ranks=2, threshold=9),
        CompressedGraph(
            **common,
            byte_offsets=offsets,
            stream=numpy.zeros(5, numpy.uint8),
            codec="varint",
            deduplicated=True,
            statistics={"bits_per_arc": 9.5},
        ),
        measurement(),
        Traversal(algorithm="components", component=permutation // 2, vertex_count=n),
        Verification(algorithm="bfs", checks=[{"check": "tree", "passed": True, "searches": 5}]),
    ]


def make(inputs: list[Artifact], **parameters: Any) -> list[dict[str, Any]]:
    sections: list[dict[str, Any]] = report(
        PlainContext(), ReportParameters(**parameters), inputs=tuple(inputs)
    ).sections
    return sections


def test_every_kind_has_a_table_and_the_pictures_are_drawn():
    sections = make(everything())
    titles = [section["title"] for section in sections if section["kind"] == "table"]
    assert titles == [
        "Edges read",
        "Graphs",
        "Vertex orders",
        "Partitions",
        "Layouts",
        "Traversal times and rates",
        "Fastest, median and slowest search",
        "Connected components",
        "Verification",
    ]
    figures = [section for section in sections if section["kind"] == "figure"]
    assert len(figures) >= 4
    for figure in figures:
        assert figure["svg"].startswith("<svg role=")
        assert figure["svg"].endswith("</svg>")
        assert "currentColor" in figure["svg"]


def test_sections_are_plain_data_small_and_the_same_every_time():
    first, second = (json.dumps(make(everything())) for _ in range(2))
    assert first == second
    assert len(first) < 400_000


def test_labels_name_the_rows():
    sections = make([measurement(), measurement()], labels=("bfs[order=rcm]", "bfs[order=degree]"))
    table = next(section for section in sections if section["title"] == "Traversal times and rates")
    assert [row[0] for row in table["rows"]] == ["bfs[order=rcm]", "bfs[order=degree]"]
    assert any(section["title"] == "Times side by side" for section in sections)


def test_rates_and_means():
    records = [{"edges": 4_000_000, "arcs": 8_000_000, "milliseconds": 2.0}] * 2
    records += [{"edges": 0, "arcs": 0, "milliseconds": 1.0}]
    assert rates(records, "edges") == [2.0, 2.0]
    assert harmonic_mean([1.0, 3.0]) == pytest.approx(1.5)
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


def test_an_empty_graph_and_no_searches_are_reported_too():
    empty = Graph(
        row_offsets=numpy.zeros(1, numpy.int64),
        column_indices=numpy.zeros(0, numpy.uint32),
        vertex_count=0,
        arc_count=0,
        symmetric=True,
        deduplicated=True,
    )
    nothing = Traversal(algorithm="components", component=numpy.zeros(0, numpy.uint32), vertex_count=0)
    sections = make([empty, nothing, measurement(searches=0)])
    assert {section["title"] for section in sections} == {
        "Graphs",
        "Connected components",
        "Traversal times and rates",
    }


def test_searches_that_reach_nothing_are_drawn_without_a_word(recwarn):
    alone = measurement(searches=2)
    searches = [{**search, "reached": 1, "arcs": 0, "edges": 0} for search in alone.searches]
    make([replace(alone, searches=searches)])
    assert not recwarn.list
