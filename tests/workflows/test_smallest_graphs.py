"""Reports of one vertex, of vertices without edges, and of zero levels: clear sentences, no empty picture."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.cli import main

EVERY_STAGE = """
workflow: smallest
about: Every stage that a report tells of, on the smallest graphs.
matrix:
  graph:
    vertex: {source: {empty: {vertices: 1}}}
    isolated: {source: {empty: {vertices: 5}}}
    edge: {source: {path: {vertices: 2}}}
stages:
  edges:   {stage: ingest, with: "${graph}"}
  graph:   {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: degree}
  packed:  {stage: compress, input: ordered, codec: varint}
  bfs:     {stage: traverse, input: packed, sources: [0]}
  none:    {stage: traverse, input: graph, sources: [0], max_depth: 0, statistics: true}
  plain:   {stage: traverse, input: graph, sources: [0], statistics: true}
  parts:   {stage: traverse, input: graph, algorithm: components}
  cut:     {stage: partition, input: graph, ranks: 2}
  ranked:  {stage: traverse, input: cut, sources: [0]}
  striped: {stage: partition, input: graph, ranks: 2, scheme: striped}
  several: {stage: traverse, input: striped, sources: [0], paper: merrill2012_striped}
  check:   {stage: verify, graph: graph, traversal: bfs}
  summary:
    stage: report
    over: matrix
    inputs: [edges, graph, ordered, packed, bfs, none, plain, parts, cut, ranked, striped, several, check]
"""

ONE = """
workflow: one
about: Searches from random sources, of which a graph without edges has none.
stages:
  edges:   {stage: ingest, source: {empty: {vertices: 5}}}
  graph:   {stage: symmetrize, input: edges}
  found:   {STAGE, input: graph, sources: {random: 2, seed: 1}}
  summary: {stage: report, inputs: [found, graph]}
"""


def report(text: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run a workflow and return the sections of its report by title; a warning is a failure."""
    file = folder / "small.yaml"
    file.write_text(text)
    words = ["--cache", str(folder / "cache"), "--cluster", "inline", "--backend", "cpu"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(SystemExit) as stop:
            main.main(["run", str(file), *words])
    assert not stop.value.code
    (made,) = (folder / "cache").glob("runs/*/report.json")
    text = made.read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    (body,) = json.loads(text)["reports"]
    return {section["title"]: section for section in body["sections"]}


def test_every_section_is_made_of_the_smallest_graphs(tmp_path: Path) -> None:
    sections = report(EVERY_STAGE, tmp_path)
    assert next(iter(sections)).endswith("verified.")
    for title in (
        "Searches over ranks",
        "Searches over stripes",
        "Connected components",
        "Levels of searches over ranks",
        "Frontiers of each graph",
        "Verification",
    ):
        assert title in sections
    assert all(section["rows"] for section in sections.values() if section["kind"] == "table")


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        ("stage: traverse, repeat: 3", "BFS: no search was made, as no vertex has an edge"),
        ("stage: traverse, statistics: true", "BFS: no search was made, as no vertex has an edge"),
        ("stage: probe, measure: gather", "No part of a search was measured, as no vertex has an edge"),
        ("stage: probe, measure: lookup", "No part of a search was measured, as no vertex has an edge"),
        ("stage: probe, measure: levels", "No part of a search was measured, as no vertex has an edge"),
        (
            "stage: probe, measure: gather_and_lookup, repeat: 2",
            "No part of a search was measured, as no vertex has an edge",
        ),
    ],
)
def test_without_a_source_the_answer_says_why(stage: str, sentence: str, tmp_path: Path) -> None:
    sections = report(ONE.replace("STAGE", stage), tmp_path)
    title, answer = next(iter(sections.items()))
    assert title.startswith(sentence)
    assert "repeated 0 times" not in json.dumps(answer)
    assert all(section["rows"] for section in sections.values() if section["kind"] == "table")
    assert all(section["data"] for section in sections.values() if section["kind"] == "figure")
