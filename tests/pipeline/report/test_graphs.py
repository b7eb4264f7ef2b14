"""A page tells graphs apart by what they are, not by their degrees; orders of one graph are one graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gravel.pipeline.cli import main

# Two cycles of three, and one of six: every vertex of both has two neighbours.
TRIANGLES = "0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n"
HEXAGON = "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n"

WORKFLOW = """\
workflow: twins
stages:
  edges1: {stage: ingest, file: triangles.txt}
  graph1: {stage: symmetrize, input: edges1}
  edges2: {stage: ingest, file: hexagon.txt}
  graph2: {stage: symmetrize, input: edges2}
  order1: {stage: reorder, input: graph1, method: random}
  one:    {stage: traverse, input: graph1, sources: [0]}
  again:  {stage: traverse, input: order1, sources: [0]}
  two:    {stage: traverse, input: graph2, sources: [0]}
  page:   {stage: report, inputs: [graph1, graph2, order1, one, again, two]}
"""


def sections(folder: Path) -> list[dict[str, Any]]:
    (folder / "triangles.txt").write_text(TRIANGLES)
    (folder / "hexagon.txt").write_text(HEXAGON)
    (folder / "twins.yaml").write_text(WORKFLOW)
    words = ["run", str(folder / "twins.yaml"), "--cluster", "inline", "--backend", "cpu"]
    done = CliRunner().invoke(main, [*words, "--cache", str(folder / "cache")])
    assert done.exit_code == 0, done.output + done.stderr
    (report,) = (folder / "cache" / "runs").glob("*/report.json")
    found: list[dict[str, Any]] = []

    def search(value: Any) -> None:
        if isinstance(value, dict):
            if "title" in value and "kind" in value:
                found.append(value)
            for each in value.values():
                search(each)
        elif isinstance(value, list):
            for each in value:
                search(each)

    search(json.loads(report.read_text()))
    return found


def test_graphs_of_equal_degrees_are_two_and_an_order_is_none_of_its_own(tmp_path: Path) -> None:
    found = sections(tmp_path)
    degrees = [each["title"] for each in found if each["title"].startswith("Degrees of")]
    assert degrees == ["Degrees of graph1", "Degrees of graph2"]
    (searched,) = (each["rows"] for each in found if each["title"] == "Graphs searched")
    assert len(searched) == 2, searched
